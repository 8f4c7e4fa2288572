"""The transcribed figures agree with each other and with what the paper says about them."""

import hashlib
from collections import Counter
from importlib import resources
from itertools import product

import pytest
from scipy.stats import ttest_ind_from_stats

from pangaea.functions.paper import FIGURES, Printed

RESULTS = [figure for figure in FIGURES if figure.table == "results"]
BASELINES = [figure for figure in RESULTS if figure.group.endswith("-baseline")]
HALF_DIGIT = 0.005
PRINTED = (0.0, 0.0, 0.0, 0.0)


def test_the_transcription_is_the_one_that_was_compared_with_the_papers_source() -> None:
    """All 196 means and deviations, entry by entry: compare them again where this changes."""
    text = resources.files("pangaea.functions").joinpath("paper.csv").read_bytes()
    digest = hashlib.sha256(text).hexdigest()
    assert digest == "a519cb0750b94e42255b06958f04ce0036a6eeba2aaea90f1533c7d9d0ecf7fe"


def result(name: str, network: str) -> Printed:
    (figure,) = (f for f in RESULTS if (f.name, f.network) == (name, network))
    return figure


def p_better(one: Printed, other: Printed, shift: tuple[float, ...] = PRINTED) -> float:
    """One-tailed Welch p that `one` beats `other`; `shift` moves mean, sd, mean, sd."""
    assert one.mean is not None
    assert one.sd is not None
    assert other.mean is not None
    assert other.sd is not None
    test = ttest_ind_from_stats(
        one.mean + shift[0],
        max(one.sd + shift[1], 0.0),
        one.n,
        other.mean + shift[2],
        max(other.sd + shift[3], 0.0),
        other.n,
        equal_var=False,
        alternative="greater",
    )
    return float(test.pvalue)


def p_range(one: Printed, other: Printed) -> tuple[float, float]:
    """The least and greatest p that the rounding of the printed figures leaves open."""
    corners = product((-HALF_DIGIT, HALF_DIGIT), repeat=4)
    values = [p_better(one, other, corner) for corner in corners]
    return min(values), max(values)


def not_beaten_by(best: str, network: str) -> set[str]:
    rivals = (figure for figure in BASELINES if figure.network == network)
    return {rival.name for rival in rivals if p_better(result(best, network), rival) > 0.05}


def test_each_table_has_as_many_rows_as_the_paper_prints_accuracies() -> None:
    assert Counter(figure.table for figure in FIGURES) == {
        "results": 90,
        "search_strategy": 11,
        "disable_parameters": 10,
        "parametric_baseline": 42,
        "scale_up": 12,
        "allcnnc": 4,
        "resnetv1_lcn": 19,
        "prelu_lcn": 9,
        "pau_specialized_setup": 2,
        "figure:allcnnc_training_curves": 4,
        "figure:mutation": 5,
        "figure:parameterization": 2,
        "text:related_work": 1,
        "text:searchspace": 2,
    }


def test_only_figures_and_text_print_functions_without_an_accuracy() -> None:
    for figure in FIGURES:
        in_a_table = ":" not in figure.table
        assert (figure.mean is not None) == in_a_table, figure
        assert (figure.n is not None) == in_a_table, figure
        assert (figure.sd is not None) == (in_a_table and figure.group != "random-sample"), figure
        assert (figure.stars is not None) == (figure.table == "results"), figure


def test_a_name_stands_for_one_function_and_a_function_has_one_name() -> None:
    pairs = {(figure.name, figure.function) for figure in FIGURES}
    assert len(pairs) == len({name for name, _ in pairs}) == len({text for _, text in pairs})


def test_a_function_has_a_scope_exactly_when_it_has_parameters() -> None:
    for figure in FIGURES:
        parametric = any(word in figure.function for word in ("alpha", "beta", "gamma"))
        learnable = figure.function in {"prelu", "apl", "pau", "splash"}
        assert (figure.scope is not None) == (parametric or learnable), figure


def test_the_asterisks_follow_from_the_printed_means_and_deviations() -> None:
    disagreeing = {}
    for figure in RESULTS:
        assert figure.network is not None
        p = p_better(figure, result("relu", figure.network))
        stars = sum(p <= level for level in (0.05, 0.01, 0.001))
        if figure.stars != stars:
            disagreeing[figure.name, figure.network] = (figure.stars, stars, p)
    assert disagreeing == {}


@pytest.mark.parametrize(
    ("network", "best", "rival", "quoted"),
    [
        ("resnet-v1-56", "resnet-v1-1", "apl", 0.19),
        ("resnet-v2-56", "resnet-v2-1", "softplus", 0.25),
        ("resnet-v2-56", "resnet-v2-1", "pswish", 0.09),
    ],
)
def test_the_p_values_quoted_in_the_prose_come_out_within_rounding(
    network: str, best: str, rival: str, quoted: float
) -> None:
    low, high = p_range(result(best, network), result(rival, network))
    assert low - HALF_DIGIT <= quoted <= high + HALF_DIGIT


def test_the_best_specialized_functions_beat_every_baseline_but_those_the_prose_excepts() -> None:
    assert not_beaten_by("wrn-1", "wrn-10-4") == set()
    assert not_beaten_by("resnet-v1-1", "resnet-v1-56") == {"apl"}
    assert not_beaten_by("resnet-v2-1", "resnet-v2-56") == {"softplus", "pswish"}


def test_the_second_wrn_function_beats_apl_only_if_rounding_is_granted() -> None:
    """The prose says p <= 0.05 against all baselines; 73.16±0.41 to 72.88±0.32 gives 0.053."""
    assert not_beaten_by("wrn-2", "wrn-10-4") == {"apl"}
    second, apl = result("wrn-2", "wrn-10-4"), result("apl", "wrn-10-4")
    assert p_better(second, apl) == pytest.approx(0.053, abs=0.0005)
    assert p_range(second, apl)[0] <= 0.05


def test_per_layer_prelu_beats_the_function_called_best_for_resnet_v1_56() -> None:
    """The prose calls 71.01 the best there; the table of PReLU variants prints 71.40."""
    (prelu,) = (
        figure
        for figure in FIGURES
        if figure.table == "prelu_lcn"
        and (figure.scope, figure.network) == ("layer", "resnet-v1-56")
    )
    best = result("resnet-v1-1", "resnet-v1-56")
    assert (prelu.mean, best.mean) == (71.40, 71.01)


def test_a_repeated_accuracy_is_the_same_wherever_the_paper_prints_it() -> None:
    printed: dict[tuple[object, ...], list[tuple[float, float | None]]] = {}
    for figure in FIGURES:
        if figure.mean is not None:
            key = (figure.name, figure.network, figure.dataset, figure.scope, figure.n)
            printed.setdefault(key, []).append((figure.mean, figure.sd))
    assert {key: values for key, values in printed.items() if len(set(values)) > 1} == {}
    assert sum(len(values) - 1 for values in printed.values()) == 22


def test_the_failed_pau_runs_and_the_counted_ones_make_ten() -> None:
    pau = [figure for figure in FIGURES if figure.failed is not None]
    assert [(figure.network, figure.n, figure.failed) for figure in pau] == [
        ("wrn-10-4", 7, 3),
        ("resnet-v2-56", 3, 7),
    ]


def test_the_all_cnn_c_error_falls_by_37_29_percent() -> None:
    mean = {figure.name: figure.mean for figure in FIGURES if figure.table == "allcnnc"}
    relu, best = mean["relu"], mean["allcnnc-1"]
    assert relu is not None
    assert best is not None
    assert round(100 * (best - relu) / (100 - relu), 2) == 37.29

"""The headline says what was found, and no more than the study holds."""

from pathlib import Path
from statistics import fmean, stdev

import pytest

from pangaea.report.records import Still, opened
from pangaea.report.statistics import welch
from pangaea.report.summary import command, headline, judged, probability, reproduce
from pangaea.study.study import RELU
from tests.study_maker import Maker


def sentence(path: Path) -> str:
    with opened(path) as study:
        return str(headline(study)["sentence"])


def test_a_finished_study_is_judged_on_test_data_against_relu(study: Still) -> None:
    about = headline(study)
    own, relu = study.best(1)[0]["test"], study.accuracies("test")[RELU]
    gain = fmean(own) - fmean(relu)
    p = welch(own, relu)
    assert p is not None
    assert about["state"] == "finished"
    assert about["sentence"] == (
        f"{fmean(own):.2f} ± {stdev(own):.2f} % on test data: {gain:.2f} points above ReLU's "
        f"{fmean(relu):.2f} ± {stdev(relu):.2f} % (n = 3 and 3, p = {probability(p)})."
    )
    assert {"compute", "wall clock", "cost of the function", "failed"} <= set(about["facts"])


def test_the_function_of_the_headline_is_chosen_without_a_look_at_test_data(study: Still) -> None:
    first = study.best(1)[0]
    means = {row["function"]: row["mean"] for row in judged(study)}
    assert headline(study)["function"] == next(
        row["readable"] for row in judged(study) if row["function"] == first["function"]
    )
    reranked = {text: fmean(runs) for text, runs in study.accuracies("rerank").items()}
    assert reranked[first["function"]] == max(reranked.values())
    assert len(means) == 4


def test_a_function_that_is_no_better_is_said_to_be_below(tmp_path: Path) -> None:
    with Maker(tmp_path / "low.study", candidates=30) as maker:
        maker.baseline()
        maker.search()
        best = maker.study.best(1)[0]["function"]
        with maker.study.transaction():
            for seed in range(3):
                maker.run("test", None, RELU, seed, 90.0)
                maker.run("test", None, best, seed, 50.0)
    assert "points below ReLU's" in sentence(tmp_path / "low.study")


def test_a_running_study_says_how_far_it_is_and_that_nothing_is_tested(
    paths: dict[str, Path],
) -> None:
    with opened(paths["running"]) as study:
        about = headline(study)
    assert about["state"] == "20 of 60 candidates"
    assert "on validation data in one run of the search recipe" in about["sentence"]
    assert about["sentence"].endswith("It has not been tested yet.")


def test_an_empty_study_says_so(paths: dict[str, Path]) -> None:
    assert sentence(paths["empty"]) == "No candidate has its result yet."


def test_a_study_of_failures_says_why(paths: dict[str, Path]) -> None:
    with opened(paths["failed"]) as study:
        why = ", ".join(f"{count} × {reason}" for reason, count in study.failures().items())
    said = sentence(paths["failed"])
    assert said == f"None of the 5 candidates could be trained: {why}."


def test_functions_that_cannot_be_read_are_not_judged(paths: dict[str, Path]) -> None:
    assert "are not written as this version of pangaea writes them" in sentence(paths["hostile"])


def test_the_states_after_the_search_are_told(tmp_path: Path) -> None:
    with Maker(tmp_path / "on.study", candidates=30, runs=2) as maker:
        maker.baseline()
        maker.search()
        functions = [row["function"] for row in maker.study.best(10)]

        def state() -> str:
            with opened(tmp_path / "on.study") as study:
                return str(headline(study)["state"])

        assert state() == f"rerank: 0 of {2 * len(functions)} runs"
        with maker.study.transaction():
            for text in functions:
                for seed in range(2):
                    maker.run("rerank", None, text, seed, 70.0)
        assert state() == "test: 0 of 8 runs"
        with maker.study.transaction():
            for text in (RELU, *(row["function"] for row in maker.study.best(3))):
                for seed in range(2):
                    maker.run("test", None, text, seed, 70.0)
        assert state() == "finished"


@pytest.mark.parametrize(
    ("p", "shown"),
    [(0.47, "0.47"), (0.012, "0.012 *"), (1.6e-8, "1.6·10⁻⁸ ***"), (0.0, "0 ***"), (1.0, "1")],
)
def test_p_is_written_with_its_stars(p: float, shown: str) -> None:
    assert probability(p) == shown


def test_the_command_has_every_setting_that_was_given(tmp_path: Path) -> None:
    with Maker(tmp_path / "a.study", task="it's", rerank=False, timeout=9.5, seed=3) as maker:
        words = command(maker.study)
    assert words.startswith("pangaea search --task 'it'\"'\"'s' --strategy evolution")
    assert " --seed 3 --timeout 9.5 --no-rerank --runs 3" in words
    assert "--scope" not in words


def test_versions_and_recipes_are_there_to_reproduce_it(study: Still) -> None:
    how = reproduce(study)
    assert how["versions"]["pangaea"] == study.versions["pangaea"]
    assert how["recipes"]["full"]["epochs"] == 10
    assert how["settings"]["population"] == 12

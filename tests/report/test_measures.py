"""Welch's test against scipy and textbook numbers, the paper's asterisks, and durations."""

import math
import warnings
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from pangaea.report import measures
from pangaea.report.measures import duration, probability, spread, stars, time_unit
from pangaea.tasks.goal import Goal, maximize, minimize

ACCURACY = maximize("accuracy", unit="%", failure=10.0, digits=2)
LOSS = minimize("loss", digits=3)


def welch(
    better: Sequence[float | None], than: Sequence[float | None], goal: Goal = ACCURACY
) -> float | None:
    return measures.welch(goal, better, than)


HIGH, LOW = [71.0, 72.0, 73.5, 70.5], [69.0, 70.0, 68.5]


def by_hand(better: list[float], than: list[float]) -> float:
    """Welch's t and the degrees of freedom of Welch and Satterthwaite."""

    def spread(values: list[float]) -> tuple[float, float]:
        mean = math.fsum(values) / len(values)
        return mean, math.fsum((v - mean) ** 2 for v in values) / (len(values) - 1) / len(values)

    (m1, v1), (m2, v2) = spread(better), spread(than)
    freedom = (v1 + v2) ** 2 / (v1**2 / (len(better) - 1) + v2**2 / (len(than) - 1))
    return float(stats.t.sf((m1 - m2) / math.sqrt(v1 + v2), freedom))


def test_p_is_that_of_a_one_tailed_welch_test() -> None:
    p = welch(HIGH, LOW)
    assert p == pytest.approx(by_hand(HIGH, LOW), rel=1e-9)
    assert p == pytest.approx(
        stats.ttest_ind(HIGH, LOW, equal_var=False, alternative="greater").pvalue
    )
    two_tailed = stats.ttest_ind(HIGH, LOW, equal_var=False).pvalue
    assert p == pytest.approx(two_tailed / 2)
    pooled = stats.ttest_ind(HIGH, LOW, equal_var=True, alternative="greater").pvalue
    assert p != pytest.approx(pooled, rel=1e-3)


@pytest.mark.parametrize("size", [1e160, 1e300, 1e-200, 1e-300])
def test_scores_that_are_hardly_numbers_have_no_p_or_a_finite_one(size: float) -> None:
    p = welch([score * size for score in HIGH], [score * size for score in LOW])
    assert p is None or math.isfinite(p)


def test_the_other_way_round_p_is_the_rest() -> None:
    p, q = welch(HIGH, LOW), welch(LOW, HIGH)
    assert p is not None
    assert q is not None
    assert p < 0.05 < q
    assert p + q == pytest.approx(1)


SAMPLES = st.lists(st.integers(0, 1000).map(lambda i: i / 10), min_size=2, max_size=12).filter(
    lambda values: len(set(values)) > 1
)


@given(better=SAMPLES, than=SAMPLES)
def test_p_agrees_with_the_formula(better: list[float], than: list[float]) -> None:
    assert welch(better, than) == pytest.approx(by_hand(better, than), rel=1e-6, abs=1e-12)


def test_a_sample_against_itself_is_undecided() -> None:
    assert welch(HIGH, HIGH) == pytest.approx(0.5)


@pytest.mark.parametrize(("better", "than"), [([], []), ([70.0], LOW), (HIGH, [70.0]), (HIGH, [])])
def test_a_single_run_tells_nothing(better: list[float], than: list[float]) -> None:
    assert welch(better, than) is None


def test_two_constants_are_decided_without_a_test() -> None:
    assert welch([70.0, 70.0], [70.0, 70.0, 70.0]) is None
    assert welch([71.0, 71.0], [70.0, 70.0]) == 0
    assert welch([69.0, 69.0], [70.0, 70.0]) == 1


def test_runs_that_all_failed_are_compared_without_a_warning() -> None:
    chance = [10.0] * 4
    assert welch(chance, HIGH) == pytest.approx(1, abs=1e-4)
    assert welch(HIGH, chance) == pytest.approx(0, abs=1e-4)


def test_runs_that_all_failed_are_worse_than_any_other() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert welch([10.0] * 4, HIGH) == pytest.approx(1, abs=1e-4)
        assert welch(HIGH, [10.0] * 4) == pytest.approx(0, abs=1e-4)


@pytest.mark.parametrize(
    ("p", "shown"),
    [
        (None, ""),
        (1.0, ""),
        (0.0501, ""),
        (0.05, "*"),
        (0.0101, "*"),
        (0.01, "**"),
        (0.00101, "**"),
        (0.001, "***"),
        (0.0, "***"),
        (math.nan, ""),
    ],
)
def test_stars_are_those_of_the_paper(p: float | None, shown: str) -> None:
    assert stars(p) == shown


def test_of_a_minimised_goal_smaller_is_better() -> None:
    assert welch(LOW, HIGH, LOSS) == pytest.approx(welch(HIGH, LOW))
    assert welch([69.0, 69.0], [70.0, 70.0], LOSS) == 0


def test_a_failed_run_counts_as_what_the_goal_says() -> None:
    assert welch([71.0, None, 72.0], LOW) == welch([71.0, 10.0, 72.0], LOW)
    assert welch([1.0, None, 2.0], [3.0, 4.0], LOSS) is None
    assert spread(ACCURACY, [70.0, None]) == "40.00 ± 42.43"
    assert spread(LOSS, [1.0, None]) == "∞"
    assert spread(LOSS, []) == ""


@pytest.mark.parametrize(
    ("p", "shown"),
    [
        (None, ""),
        (0.47, "0.47"),
        (0.012, "0.012 *"),
        (1.6e-8, "1.6·10⁻⁸ ***"),
        (0.0, "0 ***"),
        (1.0, "1"),
    ],
)
def test_p_is_written_with_its_stars(p: float | None, shown: str) -> None:
    assert probability(p) == shown


@pytest.mark.parametrize(
    ("seconds", "shown"), [(0, "0 s"), (119, "119 s"), (600, "10 min"), (7200, "2.0 h")]
)
def test_a_duration_is_told_in_the_unit_that_suits_it(seconds: float, shown: str) -> None:
    assert duration(seconds) == shown
    assert time_unit(seconds)[1] <= max(1, seconds / 2)

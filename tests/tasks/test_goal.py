"""Goals: what they call themselves, and which ones there cannot be."""

import math
from typing import Any

import pytest

from pangaea.errors import PangaeaError
from pangaea.tasks.goal import Goal, maximize, minimize


@pytest.mark.parametrize(
    ("goal", "part", "called", "label"),
    [
        (maximize("accuracy", unit="%"), "", "accuracy", "accuracy (%)"),
        (maximize("accuracy", unit="%"), "test", "test accuracy", "test accuracy (%)"),
        (minimize("validation loss"), "", "validation loss", "validation loss"),
        (minimize("validation loss"), "validation", "validation loss", "validation loss"),
        (minimize("validation loss"), "test", "test loss", "test loss"),
    ],
)
def test_a_goal_is_called_by_its_part_of_the_data_once(
    goal: Goal, part: str, called: str, label: str
) -> None:
    assert (goal.called(part), goal.label(part)) == (called, label)


@pytest.mark.parametrize(
    "wrong",
    [
        {"digits": -1},
        {"digits": 13},
        {"digits": 2.0},
        {"digits": True},
        {"digits": "2f}<img"},
        {"unit": None},
        {"maximised": "yes"},
    ],
)
def test_how_a_goal_is_printed_is_checked(wrong: dict[str, Any]) -> None:
    with pytest.raises(PangaeaError, match="a goal"):
        Goal(**{"name": "loss"} | wrong)


@pytest.mark.parametrize(
    ("score", "shown"),
    [
        (0.0, "0.0000"),
        (0.0123, "0.0123"),
        (0.01, "0.0100"),
        (0.0099, "9.90e-3"),
        (0.00042, "4.20e-4"),
        (-0.00042, "-4.20e-4"),
        (4.2e-31, "4.20e-31"),
        (123_456.789, "123456.7890"),
        (1e30, "1.00e+30"),
        (math.inf, "∞"),
    ],
)
def test_scores_that_digits_do_not_tell_apart_are_shown_by_powers_of_ten(
    score: float, shown: str
) -> None:
    assert minimize("loss").bare(score) == shown


def test_what_stands_beside_a_score_is_shown_as_it_is() -> None:
    loss, accuracy = minimize("loss"), maximize("accuracy", unit="%", digits=2)
    assert loss.shown_mean(4.2e-4, 1e-5) == "4.20e-4 ± 1.00e-5"
    assert loss.shown_mean(0.42, 1e-5) == "0.4200 ± 1e-5"
    assert loss.shown_gain(4.2e-4, 5.2e-4) == "+1.00e-4"
    assert loss.shown_gain(0.4205, 0.42) == "−0.0005"
    assert loss.shown_distance(0.4205, 0.42) == "0.0005"
    assert accuracy.shown_mean(72.5, 0.0004) == "72.50 ± 4e-4"
    assert accuracy.shown_gain(math.inf, 70.0) == "+∞"


def test_digits_that_somebody_asks_for_tell_smaller_scores_apart() -> None:
    loss = minimize("loss", digits=6)
    assert (loss.bare(4.2e-4), loss.bare(4.2e-6)) == ("0.000420", "4.20e-6")

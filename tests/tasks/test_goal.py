"""Goals: what they call themselves, and which ones there cannot be."""

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

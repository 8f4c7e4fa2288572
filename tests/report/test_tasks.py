"""The table of tasks, in any width."""

import io
from typing import Any

import pytest
from rich.console import Console

from pangaea.report.terminal.tasks import footer, task_table
from pangaea.tasks.overview import HERE

ROW: dict[str, Any] = {
    "task": "resnet-v1-110/cifar100",
    "unit": "epochs",
    "parameters": 1_736_564,
    "search_budget": 100,
    "full_budget": 200,
    "search_seconds": 90_000.0,
    "full_seconds": 180_000.0,
    "seconds_from": HERE,
    "data_here": False,
}


def shown(rows: list[dict[str, Any]], width: int) -> list[str]:
    console = Console(file=io.StringIO(), width=width)
    console.print(task_table(rows, width), highlight=False)
    return console.file.getvalue().splitlines()  # type: ignore[attr-defined, no-any-return]


@pytest.mark.parametrize("width", [60, 80, 120])
def test_every_width_shows_what_a_run_takes_and_whether_data_is_here(width: int) -> None:
    head, away, here = shown([ROW, ROW | {"data_here": True}], width)
    assert head.split()[-3:] == ["budgets", "takes", "data"]
    units = ["epochs"] if width >= 80 else []
    assert away.split()[-5 - len(units) :] == ["200", *units, "25", "h,", "2.1", "d"]
    assert here.split()[-1] == "here"
    assert ("1,736,564" in away) == (width >= 80)


def test_nothing_is_cut_off_in_sixty_columns() -> None:
    minutes = {"search_seconds": 2000.0, "full_seconds": 5500.0, "seconds_from": "afar"}
    _, row, here = shown([ROW | minutes, ROW | minutes | {"data_here": True}], 60)
    assert row.split() == ["resnet-v1-110/cifar100", *["100,", "200", "~33", "min,", "1.5", "h"]]
    assert here.split()[-1] == "here"


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(4.44, "4.4 s"), (60, "60 s"), (90, "1.5 min"), (1e6, "12 d"), (0, "0.0 s")],
)
def test_durations_are_short(seconds: float, text: str) -> None:
    row = ROW | {"search_seconds": seconds}
    assert f"  {text}, 2.1 d" in shown([row], 100)[1]


def test_what_was_not_measured_here_is_marked_and_explained() -> None:
    there = ROW | {"seconds_from": "a big machine, times 1.4 as runs here have shown"}
    assert shown([there], 60)[1].split()[-4:] == ["~25", "h,", "2.1", "d"]
    assert footer([ROW]).startswith("\nBudgets (epochs) and what one run takes")
    assert "~: not measured here yet, but on a big machine, times 1.4 as" in footer([ROW, there])
    assert "~" not in footer([ROW])


def test_a_task_that_knows_less_has_a_row_too() -> None:
    unknown = dict.fromkeys(("parameters", "search_seconds", "full_seconds", "data_here"))
    row = ROW | unknown | {"task": "mine", "unit": "steps"}
    assert shown([row], 80)[1].split() == ["mine", "100,", "200", "steps"]

"""How large an experiment is made: as in the paper, for one machine, or to see that it works."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, NamedTuple

from pangaea.errors import UnknownNameError
from pangaea.paper.contents import Cell, Search
from pangaea.paper.lines import settled
from pangaea.study.settings import known
from pangaea.study.stages import BEST, PAPER
from pangaea.study.study import Wanted
from pangaea.tasks.finding import task as find_task
from pangaea.tasks.task import Task

Kind = tuple[str, str | None, str, int]
"""What runs of a cell have in common: function, scope, task and budget."""


@cache
def task_of(name: str) -> Task:
    """A task by its name; the paper's cells ask for the same few hundreds of times."""
    return find_task(name)


class Ended(NamedTuple):
    """The seeds of the runs of a kind that have ended."""

    void: tuple[int, ...] = ()  # through no fault of the function: they count for nothing
    valid: tuple[int, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Scale:
    """What is changed of the paper's budgets, runs, data and searches."""

    name: str
    about: str
    budget: Callable[[int], int]
    most_runs: int | None = None
    variant: str | None = None  # of the cells' tasks; None: as they are
    search: Mapping[str, Any] | None = None  # settings instead of the paper's

    def task(self, name: str) -> str:
        return name if self.variant is None else f"{name}/{self.variant}"

    def kind(self, cell: Cell) -> Kind:
        task = self.task(cell.task)
        budget = self.budget(cell.budget or task_of(task).budgets["full"])
        return *settled(cell.function, cell.scope), task, budget

    def runs(self, cell: Cell) -> int:
        return cell.runs if self.most_runs is None else min(cell.runs, self.most_runs)

    def settings(self, search: Search) -> dict[str, Any]:
        """Of a search: those that its strategy has."""
        task = self.task(search.task)
        given = {**search.settings, "task": task}
        if self.search is not None:
            budgets = task_of(task).budgets
            runs = min(self.search["runs"], given.get("runs", math.inf))
            given["budget"] = self.budget(given.get("budget", budgets["search"]))
            again = {"rounds": ",".join([f"{BEST}@{self.budget(budgets['full'])}"] * 2)}
            given |= again | {**self.search} | {"runs": runs}
        names = known(given["strategy"])
        return {name: value for name, value in given.items() if name in names}


def _coarse(full: int) -> int:
    from pangaea.tasks.variants import COARSE_EPOCHS  # a report does not wait for torch

    return min(COARSE_EPOCHS, full)


SCALES = {
    scale.name: scale
    for scale in (
        Scale(name="paper", about="the paper's budgets, runs and data", budget=lambda full: full),
        Scale(
            name="lab",
            about="a quarter of the budget and up to three runs, on all of the data; searches of "
            "100 candidates, tested with the full recipe",
            budget=lambda full: max(1, full // 4),
            most_runs=3,
            search={"candidates": 100, "population": 16, "sample": 4, "runs": 3},
        ),
        Scale(
            name="coarse",
            about="15 epochs on 16 × 16 pixels, up to two runs: functions compared without a GPU",
            budget=_coarse,
            most_runs=2,
            variant="coarse",
            # A test would train for the full budget, on all pixels.
            search={"candidates": 100, "population": 16, "sample": 4, "runs": 0},
        ),
        Scale(
            name="smoke",
            about="two epochs and one run on eight real images, to see that it works",
            budget=lambda full: 2,
            most_runs=1,
            variant="few",
            # A test would train for the full budget.
            search={"candidates": 4, "population": 2, "sample": 2, "rerank": False, "runs": 0},
        ),
    )
}


def scale(name: str) -> Scale:
    if name not in SCALES:
        raise UnknownNameError("scale", name, SCALES)
    return SCALES[name]


def wanted(
    groups: Sequence[Sequence[Cell]],
    scale: Scale,
    runs: int | None,
    ended: Mapping[Kind, Ended],
) -> list[Wanted]:
    """Every run to have in the end, in the order in which they are to be made.

    A group's cells take turns. No seed of a run that has ended is drawn again, and those that came
    to nothing are made up for.
    """
    asked: dict[tuple[Kind, int], Wanted] = {}
    for group in groups:
        kinds = {}
        for cell in group:
            kind = scale.kind(cell)
            kinds[kind] = (runs or scale.runs(cell)) + len(ended.get(kind, Ended()).void)
        seeds = {kind: _seeds(kind, most, ended) for kind, most in kinds.items()}
        for turn in range(max(kinds.values(), default=0)):
            for kind, most in kinds.items():
                if turn < most:
                    asked.setdefault((kind, turn), _run(kind, seeds[kind][turn]))
    return [*asked.values()]


def _seeds(kind: Kind, count: int, ended: Mapping[Kind, Ended]) -> list[int]:
    from pangaea.tasks.evaluate import own_seeds  # a report does not wait for torch

    function, scope, task, _ = kind
    used = [seed for seeds in ended.get(kind, Ended()) for seed in seeds]
    drawn = own_seeds(0, f"paper/{task}/{scope}/{function}", count + len(used))
    return [*used, *(seed for seed in drawn if seed not in used)][:count]


def _run(kind: Kind, seed: int) -> Wanted:
    function, scope, task, budget = kind
    return Wanted(
        stage=PAPER.name,
        candidate=None,
        function=function,
        task=task,
        scope=scope,
        budget=budget,
        seed=seed,
        part=PAPER.part,
    )

"""How an experiment stands: what was measured here beside what the paper prints."""

import math
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from typing import Any, NamedTuple

from pangaea.paper.contents import Cell, Experiment, experiments
from pangaea.paper.lines import settled
from pangaea.paper.scales import SCALES, Kind, Scale, task_of
from pangaea.tasks.goal import Goal
from pangaea.tasks.task import Task
from pangaea.workers.judge import OUTSIDE

Scores = tuple[float | None, ...]
"""Of several runs; None for one that failed."""


_DATA = {"/coarse": "a quarter of the pixels", "/few": "few samples"}


class Standing(NamedTuple):
    """A cell with the runs there are of it."""

    cell: Cell
    task: Task
    scores: Scores = ()  # without failures where the experiment leaves them out
    failures: int = 0
    reference: Scores = ()  # the baseline's, trained alike
    recipe: str = ""  # what differs from the paper's: `50 epochs`; nothing if nothing does
    kind: Kind | None = None  # of its runs

    @property
    def goal(self) -> Goal:
        return self.task.goal

    @property
    def runs(self) -> int:
        """How many there are, those that failed among them."""
        left_out = self.failures if self.task.drops_failures else 0
        return len(self.scores) + left_out

    @property
    def task_trained(self) -> str:
        """The cell's task, or what of its data there are runs on."""
        return self.cell.task if self.kind is None else self.kind[2]

    @property
    def baseline(self) -> bool:
        """Is it what the others are compared with?"""
        return settled(self.cell.function, None) == settled(self.task.baseline, None)

    @property
    def difference(self) -> float | None:
        """By how much the mean is above the paper's, if it was trained as the paper says."""
        mean, printed = self.goal.mean(self.scores), self.cell.printed
        if self.recipe or mean is None or printed is None or printed.mean is None:
            return None
        return mean - printed.mean

    @property
    def error(self) -> float | None:
        """The standard error of the difference; one run scatters as the paper's do."""
        printed = self.cell.printed
        if printed is None or printed.sd is None or not printed.n:
            return None
        sd = printed.sd if len(self.scores) == 1 else self.goal.sd(self.scores)
        if sd is None:
            return None
        return math.sqrt(sd**2 / len(self.scores) + printed.sd**2 / printed.n)

    @property
    def apart(self) -> bool:
        """Is it further from the paper's than two standard errors?"""
        if self.difference is None or self.error is None:
            return False
        return abs(self.difference) > 2 * self.error


def standings(
    experiment: Experiment, runs: Iterable[Mapping[str, Any]], scale: Scale | None = None
) -> list[Standing]:
    """Every cell, those without a run too; without a scale, with the largest that there is."""
    by_kind = grouped(runs)
    return [_standing(cell, by_kind, scale) for cell in experiment.cells]


def found_here(experiment: Experiment, runs: Iterable[Mapping[str, Any]]) -> list[Standing]:
    """Functions that no table of the paper has, judged on the tasks of this one.

    Those of a search that belongs to an experiment stand there alone, tested with the full recipe
    at every scale.
    """
    runs = [*runs]
    by_kind, known = grouped(runs), _known()
    tasks = {cell.task for cell in experiment.cells}
    belongs = {search.name for search in experiment.searches}
    cells = {
        Cell(f"found by {search}" if search else "found here", "", *kind[:3], 0)
        for kind, search in _origins(runs).items()
        if kind[:2] not in known and kind[2] in tasks and kind[3] == _full(kind[2])
        if _search_of(search) in (None, *belongs)
    }
    return [_standing(cell, by_kind, None) for cell in sorted(cells, key=str)]


def _origins(runs: Iterable[Mapping[str, Any]]) -> dict[Kind, str | None]:
    """The files of the searches that runs were taken from, as far as they were."""
    return {(r["function"], r["scope"], r["task"], r["budget"]): r.get("search") for r in runs}


def _search_of(file: str | None) -> str | None:
    """The name of the search of the paper that a file is of, if it is of one."""
    names = (search.name for row in experiments().values() for search in row.searches)
    ends = {f"-{scale}-{name}": name for name in names for scale in SCALES}
    return next((name for end, name in ends.items() if file and file.endswith(end)), None)


def grouped(runs: Iterable[Mapping[str, Any]]) -> dict[Kind, list[float | None]]:
    """Scores by what runs have in common; those that came to nothing are left out."""
    scores: dict[Kind, list[float | None]] = {}
    for run in runs:
        if run["failure"] not in OUTSIDE:
            kind = run["function"], run["scope"], run["task"], run["budget"]
            scores.setdefault(kind, []).append(run["score"])
    return scores


def _standing(
    cell: Cell, by_kind: Mapping[Kind, Sequence[float | None]], scale: Scale | None
) -> Standing:
    on = task_of(cell.task)
    kind = _largest(cell, by_kind) if scale is None else scale.kind(cell)
    if kind is None or kind not in by_kind:
        return Standing(cell, on)
    *_, task, budget = kind
    reference = by_kind.get((*settled(on.baseline, None), task, budget), ())
    return Standing(
        cell,
        on,
        _counted(by_kind[kind], on),
        list(by_kind[kind]).count(None),
        _counted(reference, on),
        _recipe(cell, on, task, budget),
        kind,
    )


def _counted(scores: Sequence[float | None], task: Task) -> Scores:
    return tuple(s for s in scores if s is not None or not task.drops_failures)


def _largest(cell: Cell, by_kind: Iterable[Kind]) -> Kind | None:
    """Whole images before a quarter of the pixels before a few samples, then the largest budget."""
    function, scope = settled(cell.function, cell.scope)
    tasks = [f"{cell.task}/few", f"{cell.task}/coarse", cell.task]
    kinds = [k for k in by_kind if k[:2] == (function, scope) and k[2] in tasks]
    return max(kinds, key=lambda kind: (tasks.index(kind[2]), kind[3]), default=None)


def _recipe(cell: Cell, on: Task, task: str, budget: int) -> str:
    full = cell.budget or on.budgets["full"]
    parts = [] if budget == full else [f"{budget} {on.unit}"]
    variant = task.removeprefix(cell.task)
    return ", ".join([*parts, *([_DATA[variant]] if variant else [])])


def _full(task: str) -> int:
    return task_of(task).budgets["full"]


@cache
def _known() -> frozenset[tuple[str, str | None]]:
    """The functions of the paper's tables."""
    return frozenset(
        settled(cell.function, cell.scope) for row in experiments().values() for cell in row.cells
    )

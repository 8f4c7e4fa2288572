"""Experiments: every table and figure of the paper, as the runs and searches that it takes."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any, NamedTuple

from pangaea.errors import UnknownNameError
from pangaea.functions.paper import FIGURES, Printed


class Cell(NamedTuple):
    """One number of the paper: a function on a task, with what the paper prints of it."""

    group: str
    name: str
    function: str
    scope: str | None
    task: str
    runs: int  # as many as the paper's
    printed: Printed | None = None
    budget: int | None = None  # instead of the task's full one


class Search(NamedTuple):
    """One search of the paper, with its settings."""

    name: str
    task: str
    settings: Mapping[str, Any]


@dataclass(frozen=True, kw_only=True)
class Experiment:
    """A table or a figure."""

    name: str
    kind: str  # table, figure or selection
    caption: str  # what the paper shows with it, in a sentence
    cells: Sequence[Cell] = ()
    searches: Sequence[Search] = ()
    stages: Sequence[Sequence[Cell]] = field(default=())  # which cells come first

    def ordered(self) -> list[Sequence[Cell]]:
        """The cells in the order in which they are run: group after group, each in turn."""
        if self.stages:
            return [*self.stages]
        from pangaea.paper.telling import first

        return first(self.cells)


def printed(table: str, **more: Any) -> tuple[Cell, ...]:
    """The cells of one of the paper's tables, as the catalog has them."""
    return tuple(
        Cell(
            group=row.group,
            name=row.name,
            function=row.function,
            scope=row.scope,
            task=f"{row.network}/{row.dataset}",
            runs=(row.n or 0) + (row.failed or 0),
            printed=row,
            **more,
        )
        for row in FIGURES
        if row.table == table and row.network is not None
    )


@cache
def experiments() -> Mapping[str, Experiment]:
    """All of them by their names, in the paper's order."""
    from pangaea.paper import choices, figures, tables, telling

    rows = (*tables.TABLES, *figures.FIGURES, *telling.SELECTIONS, *choices.CHOICES)
    return {row.name: row for row in rows}


def experiment(name: str) -> Experiment:
    """By its name; `-` and `_` are alike."""
    known = experiments()
    plain = {other.replace("-", "_"): other for other in known}
    try:
        return known[plain[name.replace("-", "_")]]
    except KeyError:
        raise UnknownNameError("experiment of the paper", name, known) from None

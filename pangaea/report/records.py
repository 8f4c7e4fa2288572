"""What figures, tables and headlines ask of a study."""

import math
from collections.abc import Callable, Sequence
from functools import lru_cache
from pathlib import Path
from statistics import fmean
from typing import Any, NamedTuple

from pangaea.errors import PangaeaError, ParseError
from pangaea.evolution.ranking import top
from pangaea.evolution.strategies import Evaluated
from pangaea.functions.parser import parse
from pangaea.study import file
from pangaea.study.study import RELU, RERANKED, Study
from pangaea.study.study import TESTED as TESTED

Row = dict[str, Any]
STAGES = ("baseline", "search", "rerank", "test")


class Still(Study):
    """A study as a page shows it: each question is put to the file once.

    Its driver may record more meanwhile; a page counts what was there when it was opened.
    """

    def __init__(self, *opened: Any) -> None:
        super().__init__(*opened)
        ((self.last,),) = self._rows("select coalesce(max(position), 0) from runs")
        self._answers: dict[Any, list[Any]] = {}

    def __enter__(self) -> "Still":
        return self

    @property
    def tag(self) -> str:
        """Another one as soon as anything has been recorded: which study, and its last run."""
        return f"{self.created}/{self.last}"

    def once(self, key: Any, ask: Callable[[], list[Any]]) -> list[Any]:
        if key not in self._answers:
            self._answers[key] = ask()
        return self._answers[key]

    def table(self) -> list[Row]:
        return self.once("table", super().table)

    def history(self) -> list[Evaluated]:
        """Of the candidates in the table, so that every one of the best is found there."""
        return [Evaluated(r["number"], r["function"], r["fitness"]) for r in finished(self)]

    def _top(self, count: int) -> list[Evaluated]:
        return top(self.history(), count)

    def runs(self, stage: str) -> list[Row]:
        ask = super().runs
        return self.once(stage, lambda: ask(stage))

    def best(self, count: int = TESTED) -> list[Row]:
        ask = super().best
        enough = max(count, RERANKED)  # so many are ranked in any case
        return self.once(enough, lambda: ask(enough))[:count]


def opened(path: Path | str) -> Still:
    """A study to look at; it may be running."""
    return Still(Path(path), file.read(Path(path)), None)


@lru_cache(maxsize=1 << 16)
def formula(text: str) -> str:
    """The function as people read it; a text that is none stays what it is."""
    try:
        return parse(text).readable()
    except ParseError:
        return text


@lru_cache(maxsize=1 << 16)
def latex(text: str) -> str:
    try:
        return parse(text).latex()
    except ParseError:
        return ""


def best(study: Study, count: int) -> list[Row]:
    """The best functions; none of a file whose functions this version cannot read."""
    try:
        return study.best(count)
    except ParseError:
        return []


def candidate(study: Study, number: int | None) -> Row | None:
    """The candidate of a number; the best one if none is given, and None if there is none."""
    if number is None:
        first = best(study, 1)
        number = first[0]["number"] if first else None
    if number is None:
        return None
    for row in study.table():
        if row["number"] == number:
            return row
    raise PangaeaError(f"{study.path} has no candidate {number}")


def finished(study: Study) -> list[Row]:
    """The candidates that have their result, in the order in which they got it."""

    def ask() -> list[Row]:
        rows = [row for row in study.table() if row["position"] is not None]
        if not all(math.isfinite(row["fitness"] + row["seconds"]) for row in rows):
            raise PangaeaError(
                f"{study.path} holds numbers that are not finite: it is damaged, or pangaea did "
                "not write it"
            )
        return sorted(rows, key=lambda row: row["position"])

    return study.once("finished", ask) if isinstance(study, Still) else ask()


def every_run(study: Study) -> list[Row]:
    """Of all stages."""
    return [run for stage in STAGES for run in study.runs(stage)]


class Step(NamedTuple):
    """A candidate that was better than all before it."""

    after: int  # how many had their result by then
    row: Row
    gain: float


def steps(rows: Sequence[Row]) -> list[Step]:
    found, best_yet = [], 0.0
    for after, row in enumerate(rows, 1):
        if row["fitness"] > best_yet:
            found.append(Step(after, row, row["fitness"] - best_yet))
            best_yet = row["fitness"]
    return found


def relu_seconds(study: Study) -> float | None:
    """How long a candidate with ReLU would take; a worker's first run also loads the data."""
    return min(_seconds(study, "baseline", RELU), default=None)


def _seconds(study: Study, stage: str, function: str) -> list[float]:
    return [
        run["seconds"]
        for run in study.runs(stage)
        if run["function"] == function and run["failure"] is None
    ]


def cost(study: Study, row: Row) -> float | None:
    """How many times as long as with ReLU training takes, in the same stage."""
    own, relu = (_seconds(study, "test", text) for text in (row["function"], RELU))
    if own and relu:
        return fmean(own) / fmean(relu)
    alone = relu_seconds(study)
    return row["seconds"] / alone if alone else None


def names(studies: Sequence[Study]) -> list[str]:
    """A short name for each study, no two alike."""
    paths = [study.path for study in studies]
    for depth in range(1, 1 + max((len(p.parts) for p in paths), default=0)):
        found = [str(Path(*p.parts[-depth:]).with_suffix("")) for p in paths]
        if len(set(found)) == len(found):
            return found
    return [f"{path} ({i})" for i, path in enumerate(paths, 1)]

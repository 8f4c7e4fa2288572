"""Runs as one table: the open one of the published searches, or all that some studies hold.

With it a surrogate or a strategy is tried without a GPU: what a function scores is looked up.
"""

import csv
import gzip
import io
import math
import zlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, fields
from functools import cached_property, lru_cache
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np

from pangaea.errors import PangaeaError, ParseError, UnknownNameError
from pangaea.files import save
from pangaea.functions.cost import relative
from pangaea.functions.equivalence import fingerprint
from pangaea.study.study import Study

_DIGITS = 14  # of a fingerprint: two of a million functions share them in one of 500 such tables
_SQLITE, _GZIP = b"SQLite format 3", b"\x1f\x8b"
_UNREADABLE = (OSError, EOFError, ValueError, KeyError, ArithmeticError, csv.Error, zlib.error)


@dataclass(frozen=True, eq=False, repr=False)
class Runs:
    """Runs as columns, which are NumPy arrays; those of a study in the order in which they ended.

    Some of them: `runs[runs.score > 70]`, or by value with `where`.
    """

    task: np.ndarray
    """What the function was trained on."""
    study: np.ndarray
    """The study's file, without its end."""
    stage: np.ndarray
    """Why it was trained: baseline, search, promotion, rerank, test, evaluation."""
    candidate: np.ndarray
    """Its number in the study; 0 for a function that is no candidate."""
    function: np.ndarray
    """Its text, as a study keeps it."""
    mark: np.ndarray
    """Equivalent functions have the same: how their fingerprint begins."""
    budget: np.ndarray
    """How long it was trained, in the task's unit, such as epochs; the schedule is compressed."""
    seed: np.ndarray
    """Of everything that the run drew."""
    part: np.ndarray
    """The data that the score is of: validation or test."""
    score: np.ndarray
    """In the terms of the task's goal; nan for a run that failed."""
    failure: np.ndarray
    """Why it failed; empty if it did not."""
    seconds: np.ndarray
    """What it took, beside whatever else ran there."""
    loss: np.ndarray
    """The loss on training data at the end; nan where nobody kept it."""
    training: np.ndarray
    """The score on training data at the end; nan where nobody kept it."""

    @classmethod
    def of(cls, rows: Iterable[Mapping[str, Any]]) -> "Runs":
        """From rows of plain values; None is what is not known."""
        every = list(rows)
        return cls(**{name: _column(name, [row[name] for row in every]) for name in COLUMNS})

    @property
    def columns(self) -> dict[str, np.ndarray]:
        """By name; `pandas.DataFrame(runs.columns)` works."""
        return {name: getattr(self, name) for name in COLUMNS}

    @cached_property
    def cost(self) -> np.ndarray:
        """What each function costs alone, in times of the usual baseline; nan for none."""
        costs = {text: _cost(text) for text in dict.fromkeys(self.function.tolist())}
        return np.array([costs[text] for text in self.function.tolist()], float)

    def __len__(self) -> int:
        return len(self.function)

    def __repr__(self) -> str:
        functions, tasks = len(set(self.mark)), sorted(set(self.task))
        return f"Runs({len(self):,} of {functions:,} functions on {', '.join(tasks) or 'no task'})"

    def __getitem__(self, which: Any) -> "Runs":
        """Some of them: a slice, a mask or a list of places, as NumPy takes them."""
        places = np.arange(len(self))[which]
        return Runs(
            **{name: column[np.atleast_1d(places)] for name, column in self.columns.items()}
        )

    def where(self, **values: Any) -> "Runs":
        """Those that have this value in a column, or one of several: `where(budget=[20, 40])`."""
        mask = np.ones(len(self), bool)
        for name, value in values.items():
            if name not in COLUMNS:
                raise UnknownNameError("column", name, COLUMNS)
            wanted = {*(value if isinstance(value, list | tuple | set | np.ndarray) else [value])}
            column = getattr(self, name)
            mask &= np.fromiter((one in wanted for one in column.tolist()), bool, len(self))
        return self[mask]

    def pooled(self) -> dict[str, "Runs"]:
        """Those of equivalent functions together, by the text that came first."""
        places: dict[str, list[int]] = {}
        for place, mark in enumerate(self.mark):
            places.setdefault(mark, []).append(place)
        return {str(self.function[group[0]]): self[group] for group in places.values()}

    def save(self, path: Path | str) -> None:
        """As CSV, compressed if the name ends with .gz; `bench(path)` reads it."""
        out = io.StringIO()
        writer = csv.writer(out, lineterminator="\n")
        writer.writerow(COLUMNS)
        cells = [[_cell(n, v) for v in column.tolist()] for n, column in self.columns.items()]
        writer.writerows(zip(*cells, strict=True))
        content = out.getvalue().encode()
        # Without the time: the same runs make the same file.
        packed = gzip.compress(content, mtime=0) if str(path).endswith(".gz") else content
        save(Path(path), packed)


COLUMNS = tuple(field.name for field in fields(Runs))
_WHOLE = ("candidate", "budget", "seed")
_REAL = ("score", "seconds", "loss", "training")


def _cost(text: str) -> float:
    try:
        return relative(text)
    except PangaeaError:
        return math.nan


def _column(name: str, values: list[Any]) -> np.ndarray:
    """The values as an array; what is missing is 0, nan or empty."""
    if name in _WHOLE:
        return np.array([int(v or 0) for v in values], np.int64)
    if name in _REAL:
        return np.array([math.nan if v in (None, "") else float(v) for v in values], np.float64)
    return np.array(["" if v is None else str(v) for v in values], object)


def _cell(name: str, value: Any) -> Any:
    if name in _REAL:
        digits = 6 if name == "score" else 4  # each is a tenth of the table's size
        return "" if math.isnan(value) else f"{value:.{digits}g}"
    return "" if name == "candidate" and not value else value


def bench(*sources: Path | str | Study) -> Runs:
    """All runs of some studies or of saved tables; without any, the open table of this package.

    That holds whole searches of several strategies on the default task, and CIFAR-100 runs.
    """
    if not sources:
        content = resources.files("pangaea.study").joinpath("runs.csv.gz").read_bytes()
        return _table(content, "the open table")
    parts = [_read(source).columns for source in sources]
    return Runs(**{name: np.concatenate([part[name] for part in parts]) for name in COLUMNS})


def _read(source: Path | str | Study) -> Runs:
    if isinstance(source, Study):
        return Runs.of(_rows(source))
    path = Path(source)
    try:
        content = path.read_bytes()
    except OSError as error:
        raise PangaeaError(f"{path} cannot be read: {error.strerror}") from None
    if not content.startswith(_SQLITE):
        return _table(content, str(path))
    with Study.open(path) as study:
        return Runs.of(_rows(study))


def _table(content: bytes, name: str) -> Runs:
    try:
        text = (gzip.decompress(content) if content.startswith(_GZIP) else content).decode()
        head, *rows = csv.reader(io.StringIO(text, newline=""), strict=True)
        return Runs.of(dict(zip(head, row, strict=True)) for row in rows)
    except _UNREADABLE as error:
        raise PangaeaError(
            f"{name} is neither a study nor a table of runs: one has the columns "
            f"{', '.join(COLUMNS)} ({type(error).__name__}: {error})"
        ) from None


def _rows(study: Study) -> Iterator[dict[str, Any]]:
    name = study.path.name.removesuffix(".study")
    for run in study.runs():
        curves = study.curves(run["run"])
        ends = {what: _end(curves.get(what)) for what in ("loss", "training")}
        yield run | {"study": name, "mark": mark(run["function"])} | ends


def _end(curve: Any) -> float | None:
    """Its last value, if it is one."""
    last = curve[-1] if isinstance(curve, list) and curve else None
    return last if isinstance(last, int | float) else None


@lru_cache(65_536)
def mark(function: str) -> str:
    """What equivalent functions have in common."""
    try:
        return fingerprint(function)[:_DIGITS]
    except ParseError:  # of a study that another version wrote: the same only as itself
        return function

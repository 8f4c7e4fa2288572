"""A study: one search with its settings, every candidate, run and result, in one file."""

import json
import sqlite3
import time
import weakref
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from pangaea.evolution.ranking import top
from pangaea.evolution.trials import Trial
from pangaea.study import candidates, file, schema
from pangaea.study.about import about as read_about
from pangaea.study.about import plain, versions
from pangaea.study.lock import Lock
from pangaea.study.saving import lost, overwritten
from pangaea.study.settings import Settings
from pangaea.study.stages import BASELINE, RERANK, SEARCH, TEST, TESTED
from pangaea.study.standing import standing
from pangaea.tasks.goal import Goal
from pangaea.workers.curves import Curves

if TYPE_CHECKING:
    from pangaea.activation.module import Activation

_RESULT = (
    *("score", "failure", "detail", "seconds", "measured", "peak_memory"),
    *("device", "worker", "started", "finished"),
)
_INSERT_RESULT = (
    f"insert into results (position, run, {', '.join(_RESULT)}) values (?, ?{', ?' * len(_RESULT)})"
)
_ENDED = (
    "select r.*, position, score, failure, detail, seconds, measured, peak_memory, device, worker,"
    " started, finished from results join runs r using (run)"
)


class Wanted(NamedTuple):
    """A run to ask for."""

    stage: str
    candidate: int | None
    function: str
    task: str
    scope: str | None
    budget: int
    seed: int
    part: str  # of the data


class Run(NamedTuple):
    """A run that was asked for, with its number in the study."""

    number: int
    wanted: Wanted


class Study:
    """Reads a study; a driver, which holds the lock, also writes it."""

    def __init__(self, path: Path, connection: sqlite3.Connection, lock: Lock | None) -> None:
        self.path = path
        self._connection = connection
        self._lock = lock
        if lock is None:  # who only looks need not close it: Python 3.13 on would warn of that
            weakref.finalize(self, file.let_go, connection)
        self._trials: tuple[int | None, list[Trial]] | None = None  # as of which position
        try:
            about = read_about(dict(self._rows("select name, value from about")), path)
        except BaseException:
            self.close()
            raise
        self.settings, self.task, self.goal = about.settings, about.task, about.goal
        self.goals = about.goals
        self.versions, self.created = about.versions, about.created
        self.baseline = str(self.task["baseline"])

    @classmethod
    def create(cls, path: Path | str, settings: Settings, task: dict[str, Any]) -> "Study":
        """A new study, and the right to write it; `task` is what a task says about itself."""
        about = {
            "settings": json.dumps(settings.as_dict()),
            "task": json.dumps(task),
            "versions": json.dumps(versions()),
            "created": str(time.time()),
        }
        return cls(*file.create(Path(path), about))

    @classmethod
    def resume(cls, path: Path | str) -> "Study":
        """An existing study, and the right to write it."""
        return cls(*file.write(Path(path)))

    @classmethod
    def open(cls, path: Path | str, *, whole: bool = True) -> "Study":
        """An existing study, to look at; with `whole=False` at little more than its settings."""
        return cls(Path(path), file.read(Path(path), whole=whole), None)

    def close(self) -> None:
        if self._lock is None:
            self._connection.close()
        else:
            file.close(self._connection)
            self._lock.release()

    def __enter__(self) -> "Study":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # What a driver writes.

    def check_place(self) -> None:
        """Raise if the file is no longer at its path; what was recorded is then saved beside."""
        if self._lock is not None and not self._lock.written.in_place():
            raise lost(self._connection, self.path)

    def check_content(self) -> None:
        """Raise if somebody wrote over the file; what the log still has is then saved beside."""
        if self._lock is not None and self._lock.written.overwritten():
            raise overwritten(self._connection, self._lock.written)

    def transaction(self) -> AbstractContextManager[None]:
        """What is recorded inside is on the disk, all of it, when it ends."""
        return file.transaction(self._connection, self.path)

    def change(self, settings: Settings) -> None:
        """Go on with other settings, which those who look at the study see, too.

        A task that stands elsewhere now does so for the runs that were asked for, as well.
        """
        with self.transaction():
            self.note("settings", settings.as_dict())
            if settings.task != self.settings.task:
                places = settings.task, self.settings.task
                self._connection.execute("update runs set task = ? where task = ?", places)
        self.settings = settings

    def know(self, goals: Mapping[str, Goal]) -> None:
        """Record what is measured on tasks beside the one of the settings."""
        self.goals |= goals
        with self.transaction():
            self.note("goals", {name: goal.as_dict() for name, goal in self.goals.items()})

    def add(self, number: int, function: str, parent: int | None, mutation: str) -> None:
        """Record a candidate."""
        self._connection.execute(
            "insert into candidates values (?, ?, ?, ?, ?)",
            (number, function, parent, mutation, time.time()),
        )

    def ask(self, wanted: Wanted) -> Run:
        """Record a run before it is submitted."""
        number = self._connection.execute(
            "insert into runs (stage, candidate, function, task, scope, budget, seed, part, asked)"
            " values (?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (*wanted, time.time()),
        ).lastrowid
        assert number is not None
        return Run(number, wanted)

    def record(self, run: int, result: dict[str, Any], instead: bool = False) -> None:
        """Record what came of a run; a second result for it is refused, unless it comes instead."""
        position = None  # the next one
        if instead:
            position = self.last + 1  # which no result has had
            self._connection.execute("delete from curves where run = ?", [run])
            self._connection.execute("delete from results where run = ?", [run])
        measured = result.get("values")
        row = result | {"measured": json.dumps(measured) if measured else None}
        values = (position, run, *(row.get(name) for name in _RESULT))
        self._connection.execute(_INSERT_RESULT, values)
        curves = result.get("curves")
        text = curves.text if isinstance(curves, Curves) else json.dumps(curves) if curves else ""
        if 0 < len(text) < schema.LARGEST:  # larger ones nobody could read
            self._connection.execute("insert into curves values (?, ?)", (run, text))

    def note(self, name: str, value: Any) -> None:
        """Keep plain data about the study as a whole."""
        row = (name, json.dumps(value))
        self._connection.execute("insert or replace into about values (?, ?)", row)

    # What there is to read.

    def noted(self, name: str, default: Any = None) -> Any:
        """What was kept under a name."""
        rows = self._rows("select value from about where name = ?", name)
        try:
            return json.loads(rows[0][0]) if rows else default
        except schema.NONSENSE as error:
            raise schema.damaged(self.path, f"its {name}: {schema.brief(error)}") from None

    def _rows(self, query: str, *values: object) -> list[Any]:
        with file.sentences(self.path):
            return self._connection.execute(query, values).fetchall()

    def _dicts(self, query: str, *values: object) -> list[dict[str, Any]]:
        with file.sentences(self.path):
            cursor = self._connection.execute(query, values)
            names = [column[0] for column in cursor.description]
            return [dict(zip(names, row, strict=True)) for row in cursor]

    @contextmanager
    def moment(self) -> Iterator[None]:
        """What is read inside is of one moment, whatever the driver records meanwhile."""
        if self._connection.in_transaction:
            yield
            return
        with file.sentences(self.path):
            self._connection.execute("begin")
        try:
            yield
        finally:
            self._connection.execute("rollback")

    @property
    def last(self) -> int:
        """The position of the last result, 0 before the first."""
        ((position,),) = self._rows("select coalesce(max(position), 0) from results")
        return int(position)

    def trials(self) -> list[Trial]:
        """The candidates that have a result, in the order in which their first ones came."""
        ((last,),) = self._rows("select max(position) from results")
        if self._trials is None or self._trials[0] != last:
            with file.sentences(self.path):
                self._trials = last, candidates.trials(self._connection, self.goal)
        return list(self._trials[1])

    def asked(self, stages: Sequence[str]) -> int:
        """How many runs of these stages there are, with and without a result."""
        places = ", ".join("?" * len(stages))
        ((count,),) = self._rows(f"select count(*) from runs where stage in ({places})", *stages)
        return int(count)

    def repeats(self, candidate: int, budget: int) -> int:
        """How many runs of a candidate were asked for with a budget."""
        query = "select count(*) from runs where candidate = ? and budget = ?"
        ((count,),) = self._rows(f"{query} and {candidates.PROPOSED_RUNS}", candidate, budget)
        return int(count)

    def pending(self, stages: Sequence[str]) -> list[Run]:
        """The runs of these stages that wait for their result."""
        places = ", ".join("?" * len(stages))
        rows = self._rows(
            "select run, stage, candidate, function, task, scope, budget, seed, part from runs"
            f" where stage in ({places}) and run not in (select run from results) order by run",
            *stages,
        )
        return [Run(row[0], Wanted(*row[1:])) for row in rows]

    def proposed(self) -> int:
        """How many candidates there are, with and without a result."""
        ((count,),) = self._rows("select count(*) from candidates")
        return int(count)

    def parents_pending(self) -> dict[int, int | None]:
        """The parents of the candidates that wait for their first result."""
        rows = self._rows(
            "select number, parent from candidates where number not in"
            " (select candidate from results join runs using (run)"
            f" where {candidates.PROPOSED_RUNS})"
        )
        return dict(rows)

    def table(self) -> list[dict[str, Any]]:
        """A row for each candidate, plain values; `pandas.DataFrame(study.table())` works.

        `score` is the mean at the largest budget that gave one; a candidate that waits for its
        first result, or whose runs all failed, has none. The rest is of the last run.
        """
        return candidates.one_row_each(self._dicts(candidates.TABLE))

    def runs(self, stage: str | None = None) -> list[dict[str, Any]]:
        """The runs that have ended, of one stage or of all, in the order in which they did."""
        if stage is None:
            rows = self._dicts(f"{_ENDED} order by position")
        else:
            # An index finds the few runs of the stages that are not the search.
            few = "" if stage == SEARCH.name else f" and stage <> '{SEARCH.name}'"
            rows = self._dicts(f"{_ENDED} where stage = ?{few} order by position", stage)
        for row in rows:
            measured = row.pop("measured")
            row["values"] = self._values(measured, row["run"]) if measured else {}
        return rows

    def _values(self, text: str, run: int) -> dict[str, float]:
        """What else was measured in a run, by name."""
        values = self._plain(text, "measured", run)
        if any(type(v) not in (int, float) or not abs(v) < schema.HUGE for v in values.values()):
            raise schema.damaged(self.path, f"what run {run} measured are not numbers by name")
        return values

    def _plain(self, text: str, what: str, run: int) -> dict[str, Any]:
        try:
            return plain(text, schema.LARGEST)
        except schema.NONSENSE as error:
            raise schema.damaged(
                self.path, f"the {what} of run {run}: {schema.brief(error)}"
            ) from None

    def curves(self, run: int) -> dict[str, Any]:
        """A run's loss and scores by epoch, and its parameters' means by epoch and layer."""
        rows = self._rows("select curves from curves where run = ?", run)
        return self._plain(rows[0][0], "curves", run) if rows else {}

    def scores(self, stage: str, budget: int | None = None) -> dict[str, list[float | None]]:
        """By function, of runs with one budget or with any; None for a run that failed."""
        scores: dict[str, list[float | None]] = {}
        for run in self.runs(stage):
            if budget in (None, run["budget"]):
                scores.setdefault(run["function"], []).append(run["score"])
        return scores

    def validations(self) -> dict[str, list[float | None]]:
        """By function, on validation data in every run of the full budget."""
        scores = self.scores(RERANK.name, self.task["budgets"]["full"])
        for run in self.runs(TEST.name):
            if run["failure"] is not None or "validation" in run["values"]:
                scores.setdefault(run["function"], []).append(run["values"].get("validation"))
        return scores

    @property
    def baseline_score(self) -> float | None:
        """The baseline's mean on validation data with the search's budget."""
        scores = [run["score"] for run in self.runs(BASELINE.name) if run["score"] is not None]
        return self.goal.mean(scores)

    def activation(
        self, number: int | None = None, *, layer: int | None = None, **options: Any
    ) -> "Activation":
        """A candidate, or the best one, as a module that starts where training left it.

        Parameters start at their means over the layers of the longest run, or at those of one
        `layer`, counted from 1: each channel's own, if the function was trained again or tested
        and no options ask for something else. Options are those of `Activation`.
        """
        from pangaea.study import trained

        return trained.activation(self, number, layer, options)

    def __repr__(self) -> str:
        return f"Study({str(self.path)!r}: {self.settings.task}, {self.settings.extent})"

    def failures(self, where: str = candidates.PROPOSED_RUNS) -> dict[str, int]:
        """How many of the search's runs, or of others, failed, by reason."""
        rows = self._rows(
            f"select failure, count(*) from results join runs using (run) where {where}"
            " and failure is not null group by failure order by count(*) desc, failure"
        )
        return dict(rows)

    def failed(self, stages: Sequence[str], failures: Collection[str]) -> set[int]:
        """The runs of these stages that failed for these reasons."""
        rows = (run for stage in stages for run in self.runs(stage))
        return {run["run"] for run in rows if run["failure"] in failures}

    def best(self, count: int = TESTED) -> list[dict[str, Any]]:
        """The best functions, no two equivalent, in their final order."""
        with schema.functions_of(self.path):
            return standing(self, top(self.trials(), max(count, self.settings.contenders)))[:count]


def open_study(path: Path | str) -> Study:
    """A study, to look at: it may be running, finished or in a read-only folder."""
    return Study.open(path)

"""A study: one search with its settings, every candidate and every result, in one file."""

import json
import platform
import sqlite3
import statistics
import time
from contextlib import AbstractContextManager, closing
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, NamedTuple

from pangaea.errors import PangaeaError
from pangaea.evolution.ranking import distinct
from pangaea.evolution.strategies import Evaluated, Proposal
from pangaea.study import file
from pangaea.study.settings import Settings

RERANKED = 10  # the paper's top ten are trained again,
RERANK_RUNS = 2  # twice each with the full recipe,
TESTED = 3  # and the best three are tested
RELU = "relu(x)"

_RUN = (
    *("stage", "candidate", "function", "seed", "accuracy", "failure", "detail"),
    *("seconds", "peak_memory", "device", "worker", "started", "finished"),
)
_CURVES = ("loss", "training", "validation", "parameters")


class Candidate(NamedTuple):
    """A function proposed by the search."""

    number: int
    function: str
    parent: int | None
    mutation: str
    seed: int


class Study:
    """Reads a study; a driver, which holds the lock, also writes it."""

    def __init__(self, path: Path, connection: sqlite3.Connection, lock: file.Lock | None) -> None:
        self.path = path
        self._connection = connection
        self._lock = lock
        try:
            about = dict(self._rows("select name, value from about"))
            self.settings = Settings(**json.loads(about["settings"]))
            self.versions: dict[str, str] = json.loads(about["versions"])
            self.recipes: dict[str, Any] = json.loads(about["recipes"])  # by name: search and full
            self.chance = 100 / int(about["classes"])
            self.created = float(about["created"])
        except PangaeaError:
            self.close()
            raise
        except (KeyError, TypeError, ValueError) as error:
            self.close()
            raise PangaeaError(f"{path} is damaged: {error}") from None

    @classmethod
    def create(
        cls, path: Path | str, settings: Settings, recipes: dict[str, Any], classes: int
    ) -> "Study":
        """A new study, and the right to write it."""
        about = {
            "settings": json.dumps(settings.as_dict()),
            "versions": json.dumps(versions()),
            "recipes": json.dumps(recipes),
            "classes": str(classes),
            "created": str(time.time()),
        }
        return cls(*file.create(Path(path), about))

    @classmethod
    def resume(cls, path: Path | str) -> "Study":
        """An existing study, and the right to write it."""
        return cls(*file.write(Path(path)))

    @classmethod
    def open(cls, path: Path | str) -> "Study":
        """An existing study, to look at."""
        return cls(Path(path), file.read(Path(path)), None)

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

    def transaction(self) -> AbstractContextManager[None]:
        """What is recorded inside is on the disk, all of it, when it ends."""
        return file.transaction(self._connection, self.path)

    def add(self, number: int, proposal: Proposal, seed: int) -> Candidate:
        """Record a candidate."""
        made = Candidate(number, str(proposal.function), proposal.parent, proposal.mutation, seed)
        self._connection.execute(
            "insert into candidates values (?, ?, ?, ?, ?, ?)", (*made, time.time())
        )
        return made

    def record(self, stage: str, candidate: int | None, result: dict[str, Any]) -> None:
        """Record what a training run gave."""
        row = result | {"stage": stage, "candidate": candidate}
        places = ", ".join(f":{name}" for name in _RUN)
        position = self._connection.execute(
            f"insert into runs ({', '.join(_RUN)}) values ({places})",
            {name: row.get(name) for name in _RUN},
        ).lastrowid
        curves = {name: result[name] for name in _CURVES if result.get(name)}
        self._connection.execute("insert into curves values (?, ?)", (position, json.dumps(curves)))

    # What there is to read.

    def _rows(self, query: str, *values: object) -> list[Any]:
        with file.sentences(self.path):
            return self._connection.execute(query, values).fetchall()

    def _dicts(self, query: str, *values: object) -> list[dict[str, Any]]:
        with file.sentences(self.path):
            cursor = self._connection.execute(query, values)
            names = [column[0] for column in cursor.description]
            return [dict(zip(names, row, strict=True)) for row in cursor]

    def history(self) -> list[Evaluated]:
        """The candidates that have their result, in the order in which they were evaluated."""
        rows = self._rows(
            "select candidate, function, coalesce(accuracy, 0.0) from runs"
            " where candidate is not null order by position"
        )
        return [Evaluated(*row) for row in rows]

    def pending(self) -> list[Candidate]:
        """The candidates that wait for their result."""
        rows = self._rows(
            "select number, function, parent, mutation, seed from candidates where number not in"
            " (select candidate from runs where candidate is not null) order by number"
        )
        return [Candidate(*row) for row in rows]

    def proposed(self) -> int:
        """How many candidates there are, with and without a result."""
        ((count,),) = self._rows("select count(*) from candidates")
        return int(count)

    def table(self) -> list[dict[str, Any]]:
        """A row for each candidate, plain values; `pandas.DataFrame(study.table())` works.

        A candidate that waits for its result has the fitness None, one that failed has 0.
        """
        return self._dicts(
            "select number, c.function, parent, mutation, c.seed, proposed, position,"
            " iif(position is null, null, coalesce(accuracy, 0.0)) as fitness, failure, detail,"
            " seconds, peak_memory, device, worker, started, finished"
            " from candidates c left join runs r on r.candidate = c.number order by number"
        )

    def runs(self, stage: str) -> list[dict[str, Any]]:
        """The runs of a stage, in the order in which they ended: baseline, search, rerank, test."""
        # Only the search has candidates; an index finds the few runs of the other stages.
        which = "not null" if stage == "search" else "null"
        return self._dicts(
            f"select * from runs where candidate is {which} and stage = ? order by position", stage
        )

    def curves(self, position: int) -> dict[str, Any]:
        """A run's loss and accuracies by epoch, and its parameters' means by epoch and layer."""
        rows = self._rows("select curves from curves where run = ?", position)
        return dict(json.loads(rows[0][0])) if rows else {}

    def accuracies(self, stage: str) -> dict[str, list[float]]:
        """By function; a failed run counts as chance."""
        found: dict[str, list[float]] = {}
        for run in self.runs(stage):
            value = self.chance if run["accuracy"] is None else run["accuracy"]
            found.setdefault(run["function"], []).append(value)
        return found

    def validations(self) -> dict[str, list[float]]:
        """By function, on validation data in every run of the full recipe; a failure is chance."""
        found = self.accuracies("rerank")
        for run in self.runs("test"):
            curve = self.curves(run["position"]).get("validation")
            if run["accuracy"] is None:
                found.setdefault(run["function"], []).append(self.chance)
            elif curve:
                found.setdefault(run["function"], []).append(curve[max(curve, key=int)])
        return found

    @property
    def relu(self) -> float | None:
        """ReLU's validation accuracy with the search recipe."""
        runs = [r["accuracy"] for r in self.runs("baseline") if r["accuracy"] is not None]
        return statistics.fmean(runs) if runs else None

    def failures(self) -> dict[str, int]:
        """How many candidates failed, by reason."""
        rows = self._rows(
            "select failure, count(*) from runs where candidate is not null and failure is not null"
            " group by failure order by count(*) desc, failure"
        )
        return dict(rows)

    def best(self, count: int = TESTED) -> list[dict[str, Any]]:
        """The best functions, no two equivalent: reranked ones by their mean, then by fitness.

        Those that were tested come in the order of their mean validation accuracy in all runs of
        the full recipe, of which there are more than reranking had.
        """
        rerank, test, relu = self.accuracies("rerank"), self.accuracies("test"), self.relu
        full = self.validations()
        rows = []
        for candidate in self._top(max(count, RERANKED)):
            again = rerank.get(candidate.text)
            ((position, seconds),) = self._rows(
                "select position, seconds from runs where candidate = ?", candidate.number
            )
            rows.append(
                {
                    "number": candidate.number,
                    "function": candidate.text,
                    "fitness": candidate.fitness,
                    "gain": None if relu is None else candidate.fitness - relu,
                    "reranked": statistics.fmean(again) if again else None,
                    "validation": statistics.fmean(full[candidate.text]) if again else None,
                    "test": test.get(candidate.text),
                    "seconds": seconds,
                    "position": position,
                }
            )
        rows.sort(key=lambda r: (-(r["reranked"] or 0.0), -r["fitness"], r["number"]))
        first = rows[:TESTED]
        if self.settings.runs and all(len(r["test"] or ()) >= self.settings.runs for r in first):
            first.sort(key=lambda r: -(r["validation"] or 0.0))
        return [*first, *rows[TESTED:]][:count]

    def _top(self, count: int) -> list[Evaluated]:
        """As `ranking.top` of the history, of which SQLite need not tell all."""
        ranked = (
            "select candidate, function, accuracy from runs where candidate is not null"
            " and accuracy > 0 order by accuracy desc, candidate"
        )
        with file.sentences(self.path), closing(self._connection.execute(ranked)) as rows:
            return distinct((Evaluated(*row) for row in rows), count)


def open_study(path: Path | str) -> Study:
    """A study, to look at: it may be running, finished or in a read-only folder."""
    return Study.open(path)


def versions() -> dict[str, str]:
    """Of everything that a result may depend on."""
    found = {"python": platform.python_version(), "platform": platform.platform()}
    for package in ("pangaea", "torch", "numpy", "dask", "distributed", "mnist1d", "triton"):
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found | {"sqlite": sqlite3.sqlite_version}

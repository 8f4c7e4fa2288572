"""The candidates of a study: as trials, which a strategy sees, and as a table."""

import gc
import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from pangaea.evolution.trials import Measured, Trial, mean_score
from pangaea.study.stages import PROPOSED, RERANK, TEST
from pangaea.tasks.goal import Goal

PROPOSED_RUNS = f"stage in ({', '.join(map(repr, PROPOSED))})"
LATER_RUNS = f"stage in ({RERANK.name!r}, {TEST.name!r})"
TABLE = (
    "select number, c.function, parent, mutation, proposed, budget, seed, run, position,"
    " score, failure, detail, seconds, peak_memory, device, worker, started, finished"
    f" from candidates c left join runs r on r.candidate = number and {PROPOSED_RUNS}"
    " left join results using (run) order by number, position"
)


def trials(connection: sqlite3.Connection, goal: Goal) -> list[Trial]:
    """Those that have a result, in the order in which their first ones came."""
    oriented = "score" if goal.oriented(1.0) > 0 else "-score"
    query = (
        f"select number, c.function, parent, budget, {oriented}, seconds, failure"
        " from results join runs using (run) join candidates c on number = candidate"
        f" where {PROPOSED_RUNS} order by position"
    )
    with _no_garbage():
        rows = connection.execute(query).fetchall()
        new = tuple.__new__  # their own way takes half as long again
        single = [
            new(
                Trial,
                (number, text, parent, (new(Measured, (budget, score)),), score, cost, why, 0),
            )
            for number, text, parent, budget, score, cost, why in rows
        ]
        several = len({trial.number for trial in single}) < len(single)
        return _together(single) if several else single


def _together(single: Iterable[Trial]) -> list[Trial]:
    """One trial for each candidate, out of trials of one run each."""
    whole: dict[int, Trial] = {}
    for trial in single:
        number = trial.number
        if number in whole:
            whole[number] = whole[number].after(trial.runs[0], trial.cost, trial.failure)
        else:
            whole[number] = trial
    return list(whole.values())


@contextmanager
def _no_garbage() -> Iterator[None]:
    """Nothing made inside is garbage: looking for some takes a third of opening a large study."""
    was = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if not gc.get_freeze_count():  # to the oldest objects, or all of it is looked through now
            gc.freeze()
            gc.unfreeze()
        if was:
            gc.enable()


def one_row_each(rows: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """A row for each candidate, out of the rows of `TABLE`, one for each of its runs."""
    table: dict[int, dict[str, Any]] = {}
    several: dict[int, list[dict[str, Any]]] = {}
    for row in rows:
        number = row["number"]
        if number in table:
            several.setdefault(number, [table[number]]).append(row)
        table[number] = row
        row["runs"] = int(row["position"] is not None)
    for number, runs in several.items():
        table[number] = _one_row(runs)
    return list(table.values())


def _one_row(runs: list[dict[str, Any]]) -> dict[str, Any]:
    """Of a candidate with several runs; those without a result come first in SQL."""
    ended = [run for run in runs if run["position"] is not None]
    measured = tuple(Measured(run["budget"], run["score"]) for run in ended)
    score = mean_score(measured)
    last = (ended or runs)[-1]
    why = {name: last[name] if score is None else None for name in ("failure", "detail")}
    first = {"position": ended[0]["position"]} if ended else {}
    seconds = {"seconds": sum(run["seconds"] for run in ended)} if ended else {}
    return last | first | seconds | why | {"score": score, "runs": len(ended)}

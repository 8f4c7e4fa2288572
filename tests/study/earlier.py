"""The checked-in study of schema 2: `python -m tests.study.earlier` makes it anew.

It holds every stage, several runs of a candidate, a failure, a run that waits, curves and what else
was measured. Files of earlier schemas are never made again: no code writes them any more.
"""

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any
from unittest.mock import patch

from pangaea.study import study as study_module
from pangaea.study.settings import flat
from pangaea.study.study import Study
from pangaea.tasks.finding import task
from tests.study.making import wanted

FOLDER = Path(__file__).parent / "data"
SETTINGS = {
    "task": "mnist1d",
    "strategy": "evolution",
    "candidates": 9,
    "population": 3,
    "sample": 2,
    "seed": 1,
    "timeout": 60.0,
    "runs": 2,
}
CANDIDATES = {
    1: ("tanh(x)", None, "initial", 60.5),
    2: ("alpha*swish(beta*x)", None, "initial", 71.25),
    3: ("exp(x)", None, "initial", None),
    4: ("alpha*softsign(x)", 2, "change", 64.0),
    5: ("asinh(swish(x))", 2, "insert", 68.0),
    6: ("softplus(x)", 5, "remove", None),
}


class _Clock:
    """Seconds that pass by being looked at."""

    def __init__(self) -> None:
        self._now = 1_700_000_000.0

    def time(self) -> float:
        self._now += 1
        return self._now


def make(path: Path) -> None:
    """The study, as its driver leaves it when it is killed in the middle of the search."""
    clock = _Clock()
    with patch.object(study_module, "time", clock), patch.object(study_module, "versions", dict):
        _fill(path, clock)
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("vacuum")


def _fill(path: Path, clock: "_Clock") -> None:
    seeds = iter(range(101, 200))

    def ran(study: Study, stage: str, text: str, more: dict[str, Any], **result: Any) -> None:
        run = study.ask(wanted(stage, text, seed=next(seeds), **{"budget": 20} | more))
        when = {"started": clock.time(), "finished": clock.time(), "seconds": 1.0}
        study.record(run.number, when | {"device": "cpu", "worker": "host/1"} | result)

    with Study.create(path, flat(SETTINGS), task("mnist1d").about()) as study:
        with study.transaction():
            for score in (65.0, 66.0, 64.0):
                ran(study, "baseline", "relu(x)", {}, score=score)
        for number, (text, parent, mutation, score) in CANDIDATES.items():
            with study.transaction():
                study.add(number, text, parent, mutation)
                more = {"candidate": number}
                if score is not None:
                    curves = {"loss": [2.0, 1.0], "parameters": {"alpha": [[1.0, 1.1], [0.9, 1.2]]}}
                    ran(study, "search", text, more, score=score, curves=curves)
                elif number == 3:
                    why = {"failure": "diverged", "detail": "the loss was inf after 3 steps"}
                    ran(study, "search", text, more, **why)
                else:
                    study.ask(wanted("search", text, budget=20, seed=next(seeds), **more))
        with study.transaction():
            best = {"candidate": 2, "budget": 40}
            ran(study, "promotion", CANDIDATES[2][0], best, score=75.5)
            ran(study, "promotion", CANDIDATES[2][0], best, score=74.5)
            tested = {"budget": 40}
            ran(study, "rerank", CANDIDATES[5][0], tested, score=70.0)
            values = {"validation": 76.0}
            ran(study, "test", CANDIDATES[2][0], tested, score=77.0, values=values)
            ran(study, "general", "relu(x)", {"task": "wrn-10-4/cifar100"}, score=33.0)


if __name__ == "__main__":
    file = FOLDER / "v2.sqlite"
    file.unlink(missing_ok=True)
    make(file)

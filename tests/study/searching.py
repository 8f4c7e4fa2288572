"""A whole search in this process, for tests of what it does."""

from itertools import count
from typing import Any

from pangaea.study.runner import Stop, Watch
from pangaea.study.search import Search
from pangaea.study.study import Study
from pangaea.workers.engine import InProcess
from pangaea.workers.judge import Job, Judge, Result
from tests.study.engines import runner
from tests.study.judges import instant

SMALL = {"candidates": 30, "population": 5, "sample": 3, "rerank": False, "runs": 0}


def run(
    study: Study,
    judge: Judge = instant,
    engine: type[InProcess] = InProcess,
    watch: Watch | None = None,
    stop: Stop | None = None,
) -> list[dict[str, Any]]:
    Search(study, runner(study, judge, engine, watch, stop)).run()
    return study.table()


def stopping(judge: Judge, most: int) -> Judge:
    """Ctrl-C after so many runs."""
    left = count(most, -1)

    def judging(job: Job) -> Result:
        if next(left) <= 0:
            raise KeyboardInterrupt
        return judge(job)

    return judging

"""The driver of a search in a process of its own, for tests that stop it.

`python -m tests.cluster.drive STUDY` searches, or goes on with a study. The environment says how:
CLUSTER, WORKERS, CANDIDATES, and JUDGE_SECONDS if candidates are only to take their time; without
it, MNIST-1D is trained for one epoch. Each result is a line: the candidate, and its job.
"""

import os
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from pangaea.study.driver import resume, search
from pangaea.study.study import Study
from pangaea.workers import batch
from pangaea.workers.judge import Job, Result, judge, stamped

REPOSITORY = Path(__file__).parents[2]
_PATIENCE_SECONDS = 300


class Driver:
    """Starts a driver, and hears what it says. `before` stands before its command."""

    def __init__(
        self, study: Path, environment: Mapping[str, str], before: Sequence[str] = ()
    ) -> None:
        self.process = subprocess.Popen(
            [*before, sys.executable, "-m", "tests.cluster.drive", str(study)],
            env=environment,
            cwd=REPOSITORY,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def hear(self, results: int) -> list[str]:
        """The jobs that the next results come from."""
        assert self.process.stdout is not None
        lines = [self.process.stdout.readline() for _ in range(results)]
        assert all(lines), self.end()
        return [line.rstrip().split("\t")[1] for line in lines]

    def end(self) -> tuple[int, str]:
        """How it ends, and what it says of errors."""
        _, errors = self.process.communicate(timeout=_PATIENCE_SECONDS)
        return self.process.returncode, errors

    def kill(self) -> None:
        self.process.kill()
        self.process.communicate()


def jobs_of_all(study: Path, candidates: int) -> list[str]:
    """Each candidate has a result, one; returns the jobs that they come from, in that order."""
    with Study.open(study) as opened:
        rows, runs = opened.table(), opened.runs("search")
    assert [row["number"] for row in rows] == list(range(1, candidates + 1))
    assert sorted(run["candidate"] for run in runs) == [row["number"] for row in rows]
    assert {run["failure"] for run in runs} <= {None, "diverged", "exploded"}
    return [run["worker"] for run in runs]


def seconds_until(done: Callable[[], bool]) -> float:
    started = time.monotonic()
    while not done():
        assert time.monotonic() < started + _PATIENCE_SECONDS, "it takes too long"
        time.sleep(0.1)
    return time.monotonic() - started


def _asleep(seconds: float, job: Job) -> Result:
    started = time.time()
    time.sleep(seconds if job.stage == "search" else 0)
    return stamped({"score": 50 + job.seed % 40}, started, _this_job())


def _trained(job: Job) -> Result:
    return judge(job) | {"worker": _this_job()}


def _this_job() -> str:
    scratch = os.environ.get("_CONDOR_SCRATCH_DIR", "no job")
    return os.environ.get("SLURM_JOB_ID") or Path(scratch).name


def _say(row: dict[str, Any]) -> None:
    if row["stage"] == "search":
        print(row["number"], row["worker"], sep="\t", flush=True)


def _main(study: Path) -> None:
    batch._LOOK_SECONDS = 0.5
    said = os.environ
    seconds = said.get("JUDGE_SECONDS")
    how: dict[str, Any] = {
        "cluster": said["CLUSTER"],
        "workers": int(said["WORKERS"]),
        "callback": _say,
        "judge": _trained if seconds is None else partial(_asleep, float(seconds)),
    }
    if study.exists():
        resume(study, **how)
        return
    small = {"population": 4, "sample": 2, "budget": 1, "rerank": False, "runs": 0}
    search("mnist1d", study=study, candidates=int(said["CANDIDATES"]), **small, **how)


if __name__ == "__main__":
    _main(Path(sys.argv[1]))

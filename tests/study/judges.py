"""Judges that take no time, or misbehave; worker processes import them by name."""

import ctypes
import os
import signal
import time
from functools import partial
from pathlib import Path
from typing import Any

from pangaea.study.stages import PROPOSED
from pangaea.testing.judges import here, instant
from pangaea.workers.judge import Job, Judge, Result, failed, stamped
from pangaea.workers.judge import judge as real

ENVIRONMENT = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "CUDA_VISIBLE_DEVICES")


def napping(seconds: float, job: Job) -> Result:
    time.sleep(seconds)
    return instant(job)


def failing(reason: str, job: Job) -> Result:
    """No function can be trained, not even the baseline."""
    return stamped(failed(reason, "so it goes"), time.time(), here())


def failing_candidates(reason: str, job: Job) -> Result:
    """The baseline can be trained, and nothing else."""
    return failing(reason, job) if job.stage in PROPOSED else instant(job)


def failing_sometimes(job: Job) -> Result:
    """Every fifth run of a candidate fails, by its seed."""
    return failing("diverged", job) if job.stage in PROPOSED and job.seed % 5 == 0 else instant(job)


def napping_and_failing(seconds: float, job: Job) -> Result:
    time.sleep(seconds)
    return failing_sometimes(job)


def failing_while(file: Path, reason: str, job: Job) -> Result:
    """Nothing can be trained as long as there is the file."""
    return failing(reason, job) if file.exists() else instant(job)


def deadly(file: Path, times: int, job: Job) -> Result:
    """The first attempts take their worker with them; each is a letter in the file."""
    with file.open("a") as attempts:
        attempts.write("x")
    if len(file.read_text()) <= times:
        os.kill(os.getpid(), signal.SIGKILL)
    return instant(job)


def sleeping(job: Job) -> Result:
    """Candidates take forever, in a thread that lets the others work."""
    if job.stage in PROPOSED:
        time.sleep(1000)
    return instant(job)


def holding(job: Job) -> Result:
    """Candidates take forever, in C code that holds the interpreter."""
    if job.stage in PROPOSED:
        ctypes.PyDLL(None).sleep(1000)
    return instant(job)


def once_then(file: Path, then: Judge, otherwise: Judge, job: Job) -> Result:
    """The first job of all is judged in one way, the others in another."""
    try:
        file.touch(exist_ok=False)
    except FileExistsError:
        return otherwise(job)
    return then(job)


def dying_once(folder: str, stage: str, share: float, job: Job) -> Result:
    """Real training with many checkpoints; the first run of a stage is killed midway.

    Every attempt at a run of the stage notes in the folder with what share of it done it began.
    """
    if job.stage != stage:
        return real(job)
    from pangaea.training import train

    train.CHECKPOINT_SECONDS = 0.2
    first = Path(folder) / "killed"
    beginnings = Path(folder) / f"run-{job.run}"
    start = train._Running.start

    def noting(running: Any) -> Any:
        run = start(running)
        with beginnings.open("a") as file:
            file.write(f"{run.share}\n")
        return run

    advance = train.Training.advance

    def dying(run: Any) -> None:
        advance(run)
        if run.share > share and not first.exists():
            first.touch()
            os.kill(os.getpid(), signal.SIGKILL)

    train._Running.start, train.Training.advance = noting, dying  # type: ignore[method-assign]
    try:
        return real(job)
    finally:
        train._Running.start, train.Training.advance = start, advance  # type: ignore[method-assign]


diverging = partial(failing_candidates, "diverged")

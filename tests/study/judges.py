"""Judges that take no time, or misbehave; worker processes import them by name."""

import ctypes
import os
import random
import signal
import socket
import time
from functools import partial
from pathlib import Path

from pangaea.workers.judge import Job, Judge, Result, failed, stamped

ENVIRONMENT = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "CUDA_VISIBLE_DEVICES")


def here() -> str:
    return f"{socket.gethostname()}/{os.getpid()}"


def instant(job: Job) -> list[Result]:
    """The same accuracy for the same function and seed, at once."""
    started = time.time()
    results = [
        {
            "function": job.function,
            "seed": seed,
            "accuracy": random.Random(f"{job.function}/{seed}").uniform(10, 90),
        }
        for seed in job.seeds
    ]
    return stamped(results, started, here())


def napping(seconds: float, job: Job) -> list[Result]:
    time.sleep(seconds)
    return instant(job)


def long_winded(job: Job) -> list[Result]:
    return [result | {"loss": [1 / 3] * 5000} for result in instant(job)]


def raising(job: Job) -> list[Result]:
    raise RuntimeError("this judge has a bad day")


def failing(reason: str, job: Job) -> list[Result]:
    """No function can be trained, not even ReLU."""
    return stamped(failed(job, reason, "so it goes"), time.time(), here())


def failing_candidates(reason: str, job: Job) -> list[Result]:
    """ReLU can be trained, and nothing else."""
    return failing(reason, job) if job.stage == "search" else instant(job)


def failing_while(file: Path, reason: str, job: Job) -> list[Result]:
    """Nothing can be trained as long as there is the file."""
    return failing(reason, job) if file.exists() else instant(job)


def deadly(file: Path, times: int, job: Job) -> list[Result]:
    """The first attempts take their worker with them; each is a letter in the file."""
    with file.open("a") as attempts:
        attempts.write("x")
    if len(file.read_text()) <= times:
        os.kill(os.getpid(), signal.SIGKILL)
    return instant(job)


def sleeping(job: Job) -> list[Result]:
    """Candidates take forever, in a thread that lets the others work."""
    if job.stage == "search":
        time.sleep(1000)
    return instant(job)


def holding(job: Job) -> list[Result]:
    """Candidates take forever, in C code that holds the interpreter."""
    if job.stage == "search":
        ctypes.PyDLL(None).sleep(1000)
    return instant(job)


def telling(job: Job) -> list[Result]:
    """The environment, in place of a reason."""
    said = ",".join(os.environ.get(name, "unset") for name in ENVIRONMENT)
    return [result | {"detail": said} for result in instant(job)]


def once_then(file: Path, then: Judge, otherwise: Judge, job: Job) -> list[Result]:
    """The first job of all is judged in one way, the others in another."""
    try:
        file.touch(exist_ok=False)
    except FileExistsError:
        return otherwise(job)
    return then(job)


diverging = partial(failing_candidates, "diverged")

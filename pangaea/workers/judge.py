"""What a worker does: a job in, its results out, both plain data."""

import math
import os
import socket
import threading
import time
import traceback
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple


class Job(NamedTuple):
    """A function to train with some seeds, for one stage of a study."""

    stage: str  # baseline, search, rerank or test
    candidate: int | None
    function: str
    seeds: tuple[int, ...]
    task: str
    recipe: str
    epochs: int | None
    scope: str | None
    data: str  # validation or test
    limit: float | None  # seconds


Result = dict[str, Any]
Judge = Callable[[Job], list[Result]]

# Threads of one process share torch's random state, so jobs take turns whatever the worker thinks.
_TURN = threading.Lock()
# What CUDA says once its context is lost for good; only a new process helps.
_BROKEN = ("CUDA error", "CUDNN_STATUS", "cuDNN error", "CUBLAS_STATUS")


class _OverTimeError(Exception):
    pass


def judge(job: Job) -> list[Result]:
    """Train; whatever happens is a result for each seed."""
    with _TURN:
        started = time.time()
        deadline = math.inf if job.limit is None else time.monotonic() + job.limit
        try:
            results = _train(job, deadline)
        except _OverTimeError:
            results = failed(job, "time limit", f"not done after {job.limit:.0f} s")
        except Exception as error:
            reason = "CUDA error" if _context_lost(error) else "exception"
            results = failed(job, reason, _last_lines(error))
        return stamped(results, started, f"{socket.gethostname()}/{os.getpid()}")


def _train(job: Job, deadline: float) -> list[Result]:
    from pangaea.training.train import train_seeds

    def watch(_: float) -> None:
        if time.monotonic() > deadline:
            raise _OverTimeError

    results = train_seeds(
        job.task,
        job.function,
        job.recipe,
        job.seeds,
        scope=job.scope,  # type: ignore[arg-type]
        epochs=job.epochs,
        data=job.data,
        progress=watch,
    )
    return [result.as_dict() for result in results]


def failed(job: Job, reason: str, detail: str) -> list[Result]:
    """A result for each seed that says why there is none."""
    return [
        {"function": job.function, "seed": seed, "failure": reason, "detail": detail}
        for seed in job.seeds
    ]


def stamped(results: Sequence[Result], started: float, worker: str | None) -> list[Result]:
    """With when and where; the runs of a job share its time."""
    finished = time.time()
    each = (finished - started) / max(1, len(results))
    when = {"started": started, "finished": finished, "worker": worker}
    return [{"seconds": each} | result | when for result in results]


def _context_lost(error: Exception) -> bool:
    text = str(error)
    return "out of memory" not in text and any(sign in text for sign in _BROKEN)


def _last_lines(error: Exception) -> str:
    """The error and the place it comes from: enough to look into it, small enough to keep."""
    place = traceback.extract_tb(error.__traceback__)[-1]
    return f"{type(error).__name__}: {error} ({place.name}, line {place.lineno})"[:2000]

"""What a worker does: a job in, its result out, both plain data."""

import math
import os
import socket
import threading
import time
import traceback
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, NamedTuple, TypeGuard

from pangaea.errors import PangaeaError, UserCodeError
from pangaea.tasks.task import Task
from pangaea.training.how import How


class Job(NamedTuple):
    """A run to be done."""

    run: int  # its number in the study
    stage: str
    task: str
    function: str
    scope: str | None
    budget: int
    seed: int
    part: str  # of the data: validation or test
    limit: float | None  # seconds
    how: How
    checkpoints: str  # a folder for this run alone


Result = dict[str, Any]
"""`score`, or `failure` and `detail`; `values` that were measured beside it, `curves`, `seconds`,
`peak_memory`, `device`, `worker`, `started`, `finished`."""

Judge = Callable[[Job], Result]

# Threads of one process share torch's random state, so jobs take turns whatever the worker thinks.
_TURN = threading.Lock()
# What CUDA says once its context is lost for good; only a new process helps.
_BROKEN = ("CUDA error", "CUDNN_STATUS", "cuDNN error", "CUBLAS_STATUS")
# Failures that need not be the function's fault.
OUTSIDE = ("exception", "worker killed", "CUDA error", "out of memory", "time limit")
_TEXTS = ("detail", "device", "worker")
_LONGEST = 2000  # letters
_CURVES = ("loss", "training", "validation", "test", "parameters", "counts")


class _OverTimeError(BaseException):
    """Passes through a user's `except Exception`."""


def judge(job: Job, given: Mapping[str, Task] | None = None) -> Result:
    """Train; whatever happens is a result. Tasks that cannot be found by their name are given."""
    with _TURN:
        started = time.time()
        deadline = math.inf if job.limit is None else time.monotonic() + job.limit
        try:
            result = _train(job, given or {}, deadline)
        except _OverTimeError:
            result = failed("time limit", f"not done after {job.limit:.0f} s")
        except Exception as error:
            reason = "CUDA error" if _context_lost(error) else "exception"
            result = failed(reason, _brief(error))
            if isinstance(error, UserCodeError):
                result |= {"told": str(error)}
        return stamped(result, started, f"{socket.gethostname()}/{os.getpid()}")


def _train(job: Job, given: Mapping[str, Task], deadline: float) -> Result:
    from pangaea.tasks import overview
    from pangaea.tasks.finding import task

    def tell(_: float) -> None:
        if time.monotonic() > deadline:
            raise _OverTimeError

    on = given.get(job.task) or task(job.task)
    how = replace(job.how, checkpoints=job.checkpoints, passing=True)
    result = on.train(job.function, job.scope, job.budget, job.seed, job.part, tell, how)
    if job.task == on.name and job.task not in given:
        overview.remember(on, result)
    trained = result.as_dict()
    kept = ("score", "failure", "detail", "values", "seconds", "peak_memory", "device")
    curves = {name: trained[name] for name in _CURVES if trained.get(name)}
    if result.model is not None:
        from pangaea.activation.values import layers

        curves |= {"trained": rows} if (rows := layers(result.model)) else {}
    return {name: trained[name] for name in kept} | {"curves": curves}


def failed(reason: str, detail: str) -> Result:
    """A result that says why there is no score."""
    return {"failure": reason, "detail": detail}


def sound(result: object) -> Result:
    """A result with a score that is a finite number, or with a reason why it has none."""
    if not isinstance(result, dict):
        return failed("no score", f"the result is a {type(result).__name__}, not a dict")
    result = _tidied(result)
    if result.get("values"):
        values = {str(k): v for k, v in result["values"].items() if _finite(v)}
        result = result | {"values": values}
    score = result.get("score")
    if result.get("failure") is not None:
        return result | {"score": None, "failure": _text(result["failure"])}
    if _finite(score):
        return result | {"score": float(score)}
    if isinstance(score, bool) or not isinstance(score, int | float):
        why = f"the score is {str(score)[:60]!r}, not a number"
    else:
        huge = isinstance(score, int) or math.isfinite(score)
        why = "the score is too large a number" if huge else f"the score is {score}"
    return result | {"score": None} | failed("no score", why)


def _tidied(result: Result) -> Result:
    """Without what no study could keep beside the score."""
    kept = {name: v for name, v in result.items() if name not in _KEPT or _KEPT[name](v)}
    texts = {name: _text(kept[name]) for name in _TEXTS if kept.get(name) is not None}
    return kept | texts


def _text(value: object) -> str:
    """As it can be kept: not too long, and without half characters."""
    return str(value)[:_LONGEST].encode("utf-8", "replace").decode()


def _finite(value: object) -> TypeGuard[int | float]:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    return abs(value) < 1e300  # what is beyond has overflowed


def _moment(value: object) -> bool:
    return _finite(value) and 0 <= value < 253_402_300_800  # until the year 10,000


_KEPT: dict[str, Callable[[object], bool]] = {
    "seconds": _finite,
    "started": _moment,
    "finished": _moment,
    "peak_memory": lambda value: type(value) is int and 0 <= value < 1 << 62,
    "curves": lambda value: isinstance(value, dict),
}


def stamped(result: Result, started: float, worker: str | None) -> Result:
    """With when and where."""
    finished = time.time()
    when = {"started": started, "finished": finished, "worker": worker}
    return {"seconds": finished - started} | result | when


def _context_lost(error: Exception) -> bool:
    text = str(error)
    return "out of memory" not in text and any(sign in text for sign in _BROKEN)


def _brief(error: Exception) -> str:
    """The error and the place it comes from: enough to look into it, small enough to keep."""
    if isinstance(error, PangaeaError):
        return (error.brief if isinstance(error, UserCodeError) else str(error))[:_LONGEST]
    place = traceback.extract_tb(error.__traceback__)[-1]
    return f"{type(error).__name__}: {error} ({place.name}, line {place.lineno})"[:_LONGEST]

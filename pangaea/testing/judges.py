"""Judges that take no time, or misbehave; worker processes import them by name."""

import os
import random
import socket
import time
from typing import Any

from pangaea.workers.judge import Job, Result, failed, stamped

_HUGE = 10**5000  # more digits than Python prints
# What a judge may return by mistake, and the reason that its failure has.
NONSENSE: dict[str, tuple[Any, str]] = {
    "nothing": (None, "no score: the result is a NoneType, not a dict"),
    "a text": ("a good function", "no score: the result is a str, not a dict"),
    "a list": ([1.0], "no score: the result is a list, not a dict"),
    "an empty dict": ({}, "no score: the score is 'None', not a number"),
    "no score": ({"score": None}, "no score: the score is 'None', not a number"),
    "not a number": ({"score": float("nan")}, "no score: the score is nan"),
    "infinity": ({"score": float("-inf")}, "no score: the score is -inf"),
    "a text for a score": ({"score": "76.5"}, "no score: the score is '76.5', not a number"),
    "a list for a score": ({"score": [76.5]}, "no score: the score is '[76.5]', not a number"),
    "a truth for a score": ({"score": True}, "no score: the score is 'True', not a number"),
    "a huge number": ({"score": _HUGE}, "no score: the score is too large a number"),
    "a list of huge numbers": ({"score": [_HUGE]}, "exception: ValueError"),
    "a float near the end": ({"score": 1e305}, "no score: the score is too large a number"),
    "a strange failure": ({"failure": {"why": 3}}, "{'why': 3}"),
    "an object": (
        {"score": 1.0, "curves": {"loss": object()}},
        "exception: TypeError: Object of type object is not JSON serializable",
    ),
    "values that are none": ({"score": 1.0, "values": 3}, "exception: AttributeError"),
}


def here() -> str:
    return f"{socket.gethostname()}/{os.getpid()}"


def instant(job: Job) -> Result:
    """The same score for the same function and seed, at once."""
    started = time.time()
    score = random.Random(f"{job.function}/{job.seed}").uniform(10, 90)
    return stamped({"score": score}, started, here())


def long_winded(job: Job) -> Result:
    return instant(job) | {"curves": {"loss": [1 / 3] * 5000}}


def raising(job: Job) -> Result:
    raise RuntimeError("this judge has a bad day")


def overflowing(job: Job) -> Result:
    """A run that diverged, as a task tells of it."""
    curves = {"parameters": {"alpha": [[1.0], [float("nan")]]}, "loss": [2.0, float("inf")]}
    values = {"validation": 3.0, "margin": float("-inf")}
    why = failed("diverged", "the loss was inf")
    return stamped(why | {"curves": curves, "values": values}, time.time(), here())


def nonsense(name: str, job: Job) -> Any:
    return NONSENSE[name][0]

"""What a function costs: a pass forwards and back, measured alone on this machine's processor."""

import time
from functools import lru_cache

import torch

from pangaea.activation.module import Activation

_SHAPE = (64, 32, 32)  # 65,536 numbers: some ten times as long as the call itself
_REPEATS = 7


def relative(function: str, baseline: str) -> float:
    """How many times as much as the baseline it costs."""
    return _known(function) / _known(baseline)


def seconds(function: str) -> float:
    """The least of several passes; time that neighbours take does not count."""
    act = Activation(function, shape=_SHAPE[1])
    x = torch.linspace(-3, 3, 65_536).view(_SHAPE).requires_grad_()
    gradient = torch.ones(_SHAPE)

    def once() -> float:
        started = time.thread_time()
        y = act(x)
        if y.requires_grad:  # a constant has no slope
            y.backward(gradient)
        return time.thread_time() - started

    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        return min(once() for _ in range(_REPEATS))
    finally:
        torch.set_num_threads(threads)


_known = lru_cache(maxsize=4096)(seconds)

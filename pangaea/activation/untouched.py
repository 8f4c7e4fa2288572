"""What a pass through a model may change beside its parameters, and how it is put back."""

import pickle
import random
from collections import deque
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch
from torch import nn
from torch.nn.parameter import is_lazy

from pangaea.activation.observation import Probe


class Drawn:
    """Where the generators of Python, NumPy and torch (on the CPU) stand."""

    def __init__(self) -> None:
        self._python, self._numpy = random.getstate(), np.random.get_state(legacy=False)
        self._torch = torch.get_rng_state()

    def put_back(self) -> bool:
        """Let them stand there again; has one of them been used since?"""
        used = (
            random.getstate() != self._python
            or pickle.dumps(np.random.get_state(legacy=False)) != pickle.dumps(self._numpy)
            or not torch.equal(torch.get_rng_state(), self._torch)
        )
        random.setstate(self._python)
        np.random.set_state(self._numpy)
        torch.set_rng_state(self._torch)
        return used


class Collections:
    """What lists, dicts, sets and deques hold that modules have as attributes."""

    def __init__(self, modules: Iterable[nn.Module]) -> None:
        self._held = [
            (name, value, _held(value))
            for module in modules
            for name, value in vars(module).items()
            if isinstance(value, list | dict | set | deque) and name not in _OWN
        ]

    def put_back(self) -> set[str]:
        """Let them hold the same again; the names of those that have changed."""
        changed = set()
        for name, value, before in self._held:
            now = _held(value)
            if len(now) == len(before) and all(a is b for a, b in zip(now, before, strict=True)):
                continue
            changed.add(name)
            value.clear()
            if isinstance(value, dict):
                value |= dict(zip(before[::2], before[1::2], strict=True))
            else:
                (value.update if isinstance(value, set) else value.extend)(before)
        return changed


_OWN = {*vars(nn.Module())}  # the module's parts


def _held(value: Any) -> list[Any]:
    """A dict's keys and values in turns."""
    return (
        [part for pair in value.items() for part in pair] if isinstance(value, dict) else [*value]
    )


@contextmanager
def untouched(model: nn.Module) -> Iterator[None]:
    """Modes, buffers, collections and random numbers are afterwards what they were before."""
    modes = [(module, module.training) for module in model.modules()]
    buffers = [
        (module, name, buffer, buffer.detach().clone())
        for module in model.modules()
        for name, buffer in module._buffers.items()
        if buffer is not None and not is_lazy(buffer)
    ]
    theirs = (module for module in model.modules() if not isinstance(module, Probe))
    collections, drawn = Collections(theirs), Drawn()
    fast = torch.backends.mha.get_fastpath_enabled()
    # Torch's fast path for encoder layers rounds otherwise than its layers do.
    torch.backends.mha.set_fastpath_enabled(False)
    devices = {p.device.index for p in model.parameters() if p.device.type == "cuda"}
    try:
        with torch.random.fork_rng([*devices]):
            yield
    finally:
        torch.backends.mha.set_fastpath_enabled(fast)
        drawn.put_back()
        collections.put_back()
        for module, training in modes:
            module.training = training
        with torch.no_grad():
            for module, name, buffer, value in buffers:
                module._buffers[name] = buffer.copy_(value)

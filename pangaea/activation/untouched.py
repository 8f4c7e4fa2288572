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


class Attributes:
    """What modules have beside their parts, and what lists, dicts, sets and deques among it hold.

    A module that makes parts of itself in its first pass keeps them, and what it knows of them.
    """

    def __init__(self, modules: Iterable[nn.Module]) -> None:
        self._before = [(module, _parts(module), _attributes(module)) for module in modules]
        self._held = [
            {name: _held(value) for name, value in before.items() if isinstance(value, _HOLDERS)}
            for _, _, before in self._before
        ]

    def put_back(self) -> set[str]:
        """Let all be the same again; the names of what has changed."""
        changed: set[str] = set()
        for (module, parts, before), held in zip(self._before, self._held, strict=True):
            if new_parts := _parts(module) ^ parts:
                changed |= new_parts
                continue
            now = _attributes(module)
            changed |= {n for n in {*before, *now} if now.get(n, _NONE) is not before.get(n, _NONE)}
            for name in {*now} - {*before}:
                del vars(module)[name]
            vars(module).update(before)
            changed |= {n for n, contents in held.items() if _filled(before[n], contents)}
        return changed


_OWN = {*vars(nn.Module())} - {"training"}  # the module's parts, and what watches it
_HOLDERS = (list, dict, set, deque)
_NONE = object()


def _parts(module: nn.Module) -> set[str]:
    # TorchScript's are no dicts, and can be walked through by their items alone.
    parts = (module._modules, module._parameters, module._buffers)
    return {name for each in parts for name, _ in each.items()}


def _attributes(module: nn.Module) -> dict[str, Any]:
    return {name: value for name, value in vars(module).items() if name not in _OWN}


def _unmade(module: nn.Module) -> bool:
    """Waits it for an input to know its shape? What it learns then, it keeps."""
    tensors = (*module._parameters.values(), *module._buffers.values())
    return any(is_lazy(tensor) for tensor in tensors if tensor is not None)


def _held(holder: Any) -> list[Any]:
    """A dict's keys and values in turns."""
    if isinstance(holder, dict):
        return [part for pair in holder.items() for part in pair]
    return [*holder]


def _filled(holder: Any, contents: list[Any]) -> bool:
    """Let it hold these; did it hold others?"""
    now = _held(holder)
    if len(now) == len(contents) and all(a is b for a, b in zip(now, contents, strict=True)):
        return False
    holder.clear()
    if isinstance(holder, dict):
        holder |= dict(zip(contents[::2], contents[1::2], strict=True))
    else:
        (holder.update if isinstance(holder, set) else holder.extend)(contents)
    return True


@contextmanager
def untouched(model: nn.Module) -> Iterator[None]:
    """Modes, buffers, attributes and random numbers are afterwards what they were before."""
    modes = [(module, module.training) for module in model.modules()]
    buffers = [
        (module, name, buffer, buffer.detach().clone())
        for module in model.modules()
        for name, buffer in module._buffers.items()
        if buffer is not None and not is_lazy(buffer)
    ]
    theirs = (m for m in model.modules() if not isinstance(m, Probe) and not _unmade(m))
    attributes, drawn = Attributes(theirs), Drawn()
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
        attributes.put_back()
        for module, training in modes:
            module.training = training
        with torch.no_grad():
            for module, name, buffer, value in buffers:
                module._buffers[name] = buffer.copy_(value)

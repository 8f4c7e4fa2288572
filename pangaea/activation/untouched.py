"""What a pass through a model may change beside its parameters, and how it is put back."""

import pickle
import random
from collections import deque
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
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

    A model that makes parts of itself in its first pass keeps them, and what it knows of them.
    """

    def __init__(self, modules: Iterable[nn.Module]) -> None:
        self._modes = [(module, module.training) for module in modules]
        theirs = [m for m, _ in self._modes if not isinstance(m, Probe) and not _unmade(m)]
        self._parts = [(module, _parts(module)) for module in theirs]
        # TorchScript's buffers are in no dict.
        places = [p for m in theirs for p in (vars(m), m._buffers) if isinstance(p, dict)]
        self._attributes = [(place, _attributes(place)) for place in places]
        self._held, tensors = _content(
            pair for m in theirs for pair in _attributes(vars(m)).items()
        )
        self._tensors = [(*each, each[1]._version, each[1].detach().clone()) for each in tensors]

    def put_back(self) -> set[str]:
        """Let all be the same again; the names of what has changed."""
        changed = {"training" for module, mode in self._modes if module.training != mode}
        for module, mode in self._modes:
            module.training = mode
        if parts := {name for module, names in self._parts for name in _parts(module) ^ names}:
            return changed | parts
        for place, before in self._attributes:
            now = _attributes(place)
            changed |= {n for n in {*before, *now} if now.get(n, _NONE) is not before.get(n, _NONE)}
            for name in {*now} - {*before}:
                del place[name]
            place.update(before)
        changed |= {name for name, holder, before in self._held if _filled(holder, before)}
        with torch.no_grad():
            for name, tensor, version, value in self._tensors:
                if tensor._version != version:
                    tensor.copy_(value)
                    changed.add(name)
        return changed


_PARTS = ("_modules", "_parameters")
_OWN = (*_PARTS, "_buffers")
_HOLDERS = (list, dict, set, deque)
_NONE = object()


def _parts(module: nn.Module) -> set[str]:
    # TorchScript's are no dicts, and can be walked through by their items alone.
    return {name for kind in _PARTS for name, _ in getattr(module, kind).items()}


def _attributes(place: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in place.items() if name not in _OWN}


def _content(
    named: Iterable[tuple[str, Any]],
) -> tuple[list[tuple[str, Any, list[Any]]], list[tuple[str, Tensor]]]:
    """What these hold, however deep: holders with what is in them, and tensors."""
    left, seen = [*named], set[int]()
    held, tensors = [], []
    while left:
        name, value = left.pop()
        if id(value) in seen:
            continue
        seen.add(id(value))
        if isinstance(value, (tuple, *_HOLDERS)):
            contents = _contents(value)
            if not isinstance(value, tuple):
                held.append((name, value, contents))
            left += [(name, part) for part in contents]
        elif isinstance(value, Tensor) and not value.is_inference() and not is_lazy(value):
            tensors.append((name, value))
    return held, tensors


def _unmade(module: nn.Module) -> bool:
    """Waits it for an input to know its shape? What it learns then, it keeps."""
    tensors = (*module._parameters.values(), *module._buffers.values())
    return any(is_lazy(tensor) for tensor in tensors if tensor is not None)


def _contents(holder: Any) -> list[Any]:
    """A dict's keys and values in turns."""
    if isinstance(holder, dict):
        return [part for pair in holder.items() for part in pair]
    return [*holder]


def _filled(holder: Any, contents: list[Any]) -> bool:
    """Let it hold these; did it hold others?"""
    now = _contents(holder)
    if len(now) == len(contents) and all(a is b for a, b in zip(now, contents, strict=True)):
        return False
    holder.clear()
    if isinstance(holder, dict):
        holder.update(dict(zip(contents[::2], contents[1::2], strict=True)))
    else:
        (holder.update if isinstance(holder, set) else holder.extend)(contents)
    return True


@contextmanager
def untouched(model: nn.Module) -> Iterator[None]:
    """Modes, buffers, attributes and random numbers are afterwards what they were before."""
    buffers = [
        (buffer, buffer.detach().clone()) for buffer in model.buffers() if not is_lazy(buffer)
    ]
    attributes, drawn = Attributes(model.modules()), Drawn()
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
        with torch.no_grad():
            for buffer, value in buffers:
                buffer.copy_(value)

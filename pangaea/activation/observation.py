"""One pass through a model, watched: where activations are called, and what goes in and out."""

import random
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import fields, is_dataclass
from itertools import count
from typing import Any, NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.nn.modules.module import (
    register_module_forward_hook,
    register_module_forward_pre_hook,
)
from torch.nn.parameter import is_lazy
from torch.overrides import TorchFunctionMode

from pangaea.activation.recognition import FUNCTIONS, is_activation
from pangaea.errors import PangaeaError

_CONVOLUTIONS = (F.conv1d, F.conv2d, F.conv3d)
_TRANSPOSED = (F.conv_transpose1d, F.conv_transpose2d, F.conv_transpose3d)
_NORMS = (F.batch_norm, F.group_norm, F.instance_norm)
_PRODUCTS = (torch.matmul, torch.addmm, torch.mm, torch.bmm, Tensor.matmul, Tensor.__matmul__)
_LAST = (F.linear, F.bilinear, F.layer_norm, F.rms_norm, F.embedding, *_PRODUCTS)
# Layers, by the dimension that their channels are in.
_LAYERS: dict[Callable[..., Any], int] = {
    **dict.fromkeys((*_CONVOLUTIONS, *_TRANSPOSED, *_NORMS), 1),
    **dict.fromkeys(_LAST, -1),
}
_MOVES = {
    getattr(home, name)
    for home in (torch, Tensor)
    for name in ("permute", "transpose", "movedim", "moveaxis", "swapaxes", "swapdims", "t")
} | {getattr(getattr(Tensor, name), "__get__") for name in ("T", "mT")}  # noqa: B009
_MULTIPLY = {torch.mul, torch.multiply, torch.addcmul, torch.lerp, torch.einsum} | {
    getattr(Tensor, name)
    for name in ("mul", "mul_", "multiply", "__mul__", "__rmul__", "__imul__", "lerp", "addcmul")
}


# Of calls, so that no two passes share one.
_NUMBERS = count(1)


class Channels(NamedTuple):
    """The dimension of a tensor's channels, and whether a layer has just made the tensor."""

    dim: int
    fresh: bool


class Call(NamedTuple):
    """One call of an activation: its input, and the call of the module that it happened in."""

    shape: tuple[int, ...]
    dtype: torch.dtype
    device: torch.device
    channels: Channels | None
    owner: nn.Module | None
    within: int
    keeps_shape: bool


class Probe(nn.Module):
    """Stands in for an activation during a pass: computes the same, and notes what it saw.

    It never works in place, so a model that relies on that gives itself away.
    """

    def __init__(self, before: nn.Module | Callable[..., Any], squashing: bool) -> None:
        super().__init__()
        self.before, self.squashing = before, squashing
        self.observation: Observation | None = None
        self.calls: list[Call] = []
        self.multiplied = self.is_output = False

    def forward(self, x: Any) -> Any:
        if not isinstance(x, Tensor):
            return self.before(x)
        y = self.before(x.clone())
        if self.observation is not None:
            self.observation.note(self, x, y)
        return y


class Observation(TorchFunctionMode):
    """Watches a pass: who runs, who calls activations as functions, where channels are."""

    def __init__(self, probes: list[Probe]) -> None:
        super().__init__()
        self.probes = probes
        self.functional: dict[nn.Module, set[str]] = {}
        self.arguments: dict[nn.Module, list[tuple[tuple[Any, ...], dict[str, Any]]]] = {}
        self._running: list[tuple[nn.Module, int]] = []
        self._channels: dict[int, Channels] = {}
        self._origins: dict[int, set[Probe]] = {}
        self._alive: list[Tensor] = []  # so that no id is used twice

    def __enter__(self) -> "Observation":
        self._handles = [
            register_module_forward_pre_hook(self._begin),
            register_module_forward_hook(self._end, with_kwargs=True, always_call=True),
        ]
        for probe in self.probes:
            probe.observation = self
        super().__enter__()  # type: ignore[no-untyped-call]
        return self

    def __exit__(self, *details: Any) -> None:
        super().__exit__(*details)  # type: ignore[no-untyped-call]
        for handle in self._handles:
            handle.remove()
        for probe in self.probes:
            probe.observation = None

    def _begin(self, module: nn.Module, *_: Any) -> None:
        self._running.append((module, next(_NUMBERS)))

    def _end(self, module: nn.Module, args: Any, kwargs: Any, *_: Any) -> None:
        self._running.pop()
        self.arguments.setdefault(module, []).append((args, kwargs))

    def note(self, probe: Probe, x: Tensor, y: Any) -> None:
        # The probe itself runs innermost; what called it is the one before.
        owner, within = self._running[-2] if len(self._running) > 1 else (None, 0)
        channels = self._channels.get(id(x))
        keeps = isinstance(y, Tensor) and y.shape == x.shape
        call = Call(tuple(x.shape), x.dtype, x.device, channels, owner, within, keeps)
        probe.calls.append(call)
        if isinstance(y, Tensor):
            self._alive.append(y)
            self._origins[id(y)] = {probe}
            if channels is not None:
                self._channels[id(y)] = channels

    def finish(self, outputs: Any) -> None:
        for tensor in tensors(outputs):
            for probe in self._origins.get(id(tensor), ()):
                probe.is_output = True

    def __torch_function__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        kwargs = kwargs or {}
        result = func(*args, **kwargs)
        given = [*tensors((args, kwargs))]
        if (func in FUNCTIONS or func in _MULTIPLY) and not any(map(_hides, self._running)):
            if func in FUNCTIONS and self._running:
                owner = self._running[-1][0]
                self.functional.setdefault(owner, set()).add(func.__name__)
            elif len(given) > 1:
                self._multiply(given)
        for tensor in tensors(result):
            self._alive.append(tensor)
            self._follow(func, given, tensor)
        return result

    def _multiply(self, given: list[Tensor]) -> None:
        """Note who is a factor: of a sigmoid and something else the sigmoid is the gate."""
        factors = {probe for tensor in given for probe in self._origins.get(id(tensor), ())}
        gates = {probe for probe in factors if probe.squashing}
        for probe in gates or factors:
            probe.multiplied = True

    def _follow(self, func: Any, given: list[Tensor], result: Tensor) -> None:
        """What is known of the arguments, as far as it holds for the result."""
        if func in _LAYERS:
            self._channels[id(result)] = Channels(_LAYERS[func], True)
            return
        alone = len(given) == 1
        if alone and (origins := self._origins.get(id(given[0]))):
            self._origins[id(result)] = origins
        if func in _MOVES:
            return
        for tensor in given:
            known = self._channels.get(id(tensor))
            if known is None:
                continue
            same = tensor.shape == result.shape or (alone and tensor.dim() == result.dim())
            last = alone and known.dim == -1 and tensor.shape[-1:] == result.shape[-1:]
            if same or last:
                self._channels[id(result)] = Channels(known.dim, known.fresh and alone)
                return


def _hides(running: tuple[nn.Module, int]) -> bool:
    return isinstance(running[0], Probe) or is_activation(running[0])


def tensors(value: Any) -> Iterator[Tensor]:
    """Every tensor in a nest of tuples, lists, mappings and dataclasses."""
    if isinstance(value, Tensor):
        yield value
    elif isinstance(value, Mapping):
        for part in value.values():
            yield from tensors(part)
    elif isinstance(value, tuple | list | set):
        for part in value:
            yield from tensors(part)
    elif is_dataclass(value) and not isinstance(value, type):
        for field in fields(value):
            yield from tensors(getattr(value, field.name, None))


class Example:
    """What a model is called with once: a tensor, a tuple of arguments or a dict of named ones."""

    def __init__(self, model: nn.Module, example: Any) -> None:
        self.model = model
        self.args: tuple[Any, ...] = ()
        self.kwargs: dict[str, Any] = {}
        if isinstance(example, Mapping):
            self.kwargs = dict(example)
        elif isinstance(example, tuple | list):
            self.args = tuple(example)
        else:
            self.args = (example,)

    def outputs(self, training: bool, observation: Observation | None = None) -> list[Tensor]:
        """Every tensor that the model returns, the model left as it was."""
        args, kwargs = _copied(self.args), _copied(self.kwargs)
        with untouched(self.model):
            self.model.train(training)
            if observation is None:
                outputs = self.model(*args, **kwargs)
            else:
                with observation:
                    outputs = self.model(*args, **kwargs)
                observation.finish(outputs)
            return [tensor.detach().clone() for tensor in tensors(outputs)]

    def references(self) -> dict[bool, list[Tensor]]:
        """The outputs in evaluation and in training, as far as the model can do both."""
        results: dict[bool, list[Tensor]] = {}
        failure = None
        for training in (False, True):
            try:
                results[training] = self.outputs(training)
            except Exception as error:
                failure = error
        if not results:
            reason = " ".join(str(failure).split()) or "no reason given"
            raise PangaeaError(
                f"the model cannot be called with the example: {type(failure).__name__}: {reason}"
            ) from failure
        return results


def _copied(value: Any) -> Any:
    if isinstance(value, Tensor):
        return value.detach().clone().requires_grad_(value.requires_grad)
    if isinstance(value, tuple | list) and not hasattr(value, "_fields"):
        return type(value)(map(_copied, value))
    if type(value) is dict:
        return {name: _copied(part) for name, part in value.items()}
    return value


@contextmanager
def untouched(model: nn.Module) -> Iterator[None]:
    """Modes, buffers and random numbers are afterwards what they were before."""
    modes = [(module, module.training) for module in model.modules()]
    buffers = [
        (module, name, buffer, buffer.detach().clone())
        for module in model.modules()
        for name, buffer in module._buffers.items()
        if buffer is not None and not is_lazy(buffer)
    ]
    state = random.getstate()
    fast = torch.backends.mha.get_fastpath_enabled()
    # Torch's fast path for encoder layers rounds otherwise than its layers do.
    torch.backends.mha.set_fastpath_enabled(False)
    devices = {p.device.index for p in model.parameters() if p.device.type == "cuda"}
    try:
        with torch.random.fork_rng([*devices]):
            yield
    finally:
        torch.backends.mha.set_fastpath_enabled(fast)
        random.setstate(state)
        for module, training in modes:
            module.training = training
        with torch.no_grad():
            for module, name, buffer, value in buffers:
                module._buffers[name] = buffer.copy_(value)


def equal(before: list[Tensor], after: list[Tensor]) -> bool:
    """Bit for bit, a NaN being a NaN."""
    return len(before) == len(after) and all(
        a.shape == b.shape and a.dtype == b.dtype and bool(((a == b) | ((a != a) & (b != b))).all())
        for a, b in zip(before, after, strict=True)
    )

"""One pass through a model, watched: where activations are called, and what goes in and out."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import fields, is_dataclass
from itertools import count
from typing import Any, NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.distributions import Distribution
from torch.nn.modules.module import (
    _global_forward_hooks_with_kwargs as _WITH_KWARGS,
)
from torch.nn.modules.module import (
    register_module_forward_hook,
    register_module_forward_pre_hook,
)
from torch.overrides import TorchFunctionMode

from pangaea.activation.recognition import FUNCTIONS, is_activation

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


_JOINED = {getattr(torch, f"{name}stack") for name in ("", "h", "v", "d", "column_", "row_")} | {
    torch.cat,
    torch.concat,
    torch.concatenate,
}
# What they are given is meant as it is: a probability, a prediction.
_LOSSES = {
    getattr(F, name)
    for name in (
        *("binary_cross_entropy", "cross_entropy", "nll_loss", "kl_div", "mse_loss", "l1_loss"),
        *("smooth_l1_loss", "huber_loss", "poisson_nll_loss", "gaussian_nll_loss"),
    )
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

    It never works in place, so a model that relies on that gives itself away. `more` is whether
    it was given more than one value, or that by name.
    """

    def __init__(self, before: nn.Module | Callable[..., Any], squashing: bool) -> None:
        super().__init__()
        self.before, self.squashing = before, squashing
        self.observation: Observation | None = None
        self.forget()

    def forget(self) -> None:
        self.calls: list[Call] = []
        self.multiplied = self.is_output = self.more = False

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        if kwargs or len(args) != 1:
            self.more = True
            return self.before(*args, **kwargs)
        (x,) = args
        if not isinstance(x, Tensor):
            return self.before(x)
        y = self.before(_laid_out_alike(x))
        if self.observation is not None:
            self.observation.note(self, x, y)
        return y


def _laid_out_alike(x: Tensor) -> Tensor:
    """A copy with the same strides: with others, torch's kernels may round values otherwise."""
    try:
        return torch.empty_strided(x.shape, x.stride(), dtype=x.dtype, device=x.device).copy_(x)
    except RuntimeError:  # values that share memory, or a tensor without strides
        return x.clone()


class Observation(TorchFunctionMode):
    """Watches a pass: who runs, who calls activations as functions, where channels are.

    An activation that is no part of the model, as in `nn.ReLU()(x)`, is a function of its caller.
    """

    def __init__(self, model: nn.Module, probes: list[Probe]) -> None:
        super().__init__()
        self.probes = probes
        self._parts = {*model.modules()}
        self.functional: dict[nn.Module, set[str]] = {}
        self.halving: list[nn.Module] = []
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
            _WITH_KWARGS.pop(handle.id, None)  # torch forgets this one of its own
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
        for probe in self._from(tensors(outputs)):
            probe.is_output = True

    def _from(self, given: Iterable[Tensor]) -> set[Probe]:
        """Whose results these are, as they are or moved about."""
        return {probe for tensor in given for probe in self._origins.get(id(tensor), ())}

    def __torch_function__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        kwargs = kwargs or {}
        result = func(*args, **kwargs)
        given = [*tensors((args, kwargs))]
        if (func in FUNCTIONS or func in _MULTIPLY) and not any(map(self._hides, self._running)):
            if func in FUNCTIONS and self._running:
                owner = next(m for m, _ in reversed(self._running) if m in self._parts)
                self.functional.setdefault(owner, set()).add(func.__name__)
            elif len(given) > 1:
                self._multiply(given)
        if func in _LOSSES:
            for probe in self._from(given):
                probe.is_output = True
        if func is F.glu and self._running and not isinstance(self._running[-1][0], nn.GLU):
            self.halving.append(self._running[-1][0])
        for tensor in tensors(result):
            self._alive.append(tensor)
            self._follow(func, args, kwargs, given, tensor)
        return result

    def _hides(self, running: tuple[nn.Module, int]) -> bool:
        return running[0] in self._parts and (
            isinstance(running[0], Probe) or is_activation(running[0])
        )

    def _multiply(self, given: list[Tensor]) -> None:
        """Note who is a factor: of a sigmoid and something else the sigmoid is the gate."""
        factors = self._from(given)
        gates = {probe for probe in factors if probe.squashing}
        for probe in gates or factors:
            probe.multiplied = True

    def _follow(
        self, func: Any, args: tuple[Any, ...], kwargs: Any, given: list[Tensor], result: Tensor
    ) -> None:
        """What is known of the arguments, as far as it holds for the result."""
        if func in _LAYERS:
            self._channels[id(result)] = Channels(_LAYERS[func], True)
            return
        alone = len(given) == 1
        if alone or func in _JOINED:
            self._origins[id(result)] = self._from(given)
        for tensor in given:
            known = self._channels.get(id(tensor))
            if known is None:
                continue
            if func in _MOVES:
                dim = _moved(func, args, kwargs, known.dim)
            else:
                dim = known.dim if _keeps(known.dim, tensor, result, alone) else None
            if dim is not None:
                self._channels[id(result)] = Channels(dim, known.fresh and alone)
                return


def _keeps(dim: int, before: Tensor, after: Tensor, alone: bool) -> bool:
    """Are channels still in this dimension, as far as shapes tell?"""
    if before.shape == after.shape or (alone and before.dim() == after.dim()):
        return True
    if dim == -1:
        return alone and before.shape[-1:] == after.shape[-1:]
    return alone and dim == 1 and before.shape[:2] == after.shape[:2]


def _moved(func: Any, args: tuple[Any, ...], kwargs: Any, dim: int) -> int | None:
    """Where a dimension is after a transposition: tried on a tensor whose sizes tell."""

    def marked(value: Any) -> Any:
        if isinstance(value, Tensor):
            return torch.empty([*range(value.dim())], device="meta")
        return value

    moved = func(*map(marked, args), **{name: marked(value) for name, value in kwargs.items()})
    place = moved.shape.index(dim % moved.dim())
    if place == moved.dim() - 1:
        return -1
    return place or None  # no activation has its channels in the batch's place


def tensors(value: Any) -> Iterator[Tensor]:
    """Every tensor in a nest of tuples, lists, mappings, dataclasses and distributions."""
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
    elif isinstance(value, Distribution):
        yield from tensors(vars(value))

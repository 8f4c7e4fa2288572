"""A function as a `torch.nn.Module`, its parameters learnt per layer, channel or neuron."""

from collections.abc import Mapping
from typing import Any, Literal, get_args

import torch
from torch import Tensor, nn
from torch.nn.parameter import UninitializedParameter

from pangaea.activation import fused
from pangaea.activation.learnable import LEARNABLE, Learnable
from pangaea.activation.program import HALF, run
from pangaea.errors import PangaeaError, UnknownNameError
from pangaea.functions.catalog import parse
from pangaea.functions.expression import Function
from pangaea.functions.program import program

Scope = Literal["layer", "channel", "neuron"]
SCOPES: tuple[str, ...] = get_args(Scope)
_EXACT = ("x", "zero", "one", "identity", "negative", "abs", "relu", "max", "min")

Spec = Function | Learnable | str


def resolve(spec: Spec) -> Function | Learnable:
    """A function from itself, its text, a catalog name or a learnable baseline's name."""
    if isinstance(spec, Function | Learnable):
        return spec
    if not isinstance(spec, str):
        raise PangaeaError(f"a function is a Function or a text, got {type(spec).__name__}")
    if (name := spec.strip().lower()) in LEARNABLE:
        return LEARNABLE[name]
    return parse(spec)


class Activation(nn.Module):
    """`function` with its own parameters, one set per layer, channel or neuron.

    Parameters are attributes named as in the function (`alpha`, `beta`, `gamma`), of shape () per
    layer, (C,) per channel and the feature shape (the input's without the batch) per neuron.
    Without a `shape` they are made on the first input. float16 and bfloat16 inputs are computed in
    float32 and rounded once. On CUDA a function runs as one kernel, and as one for its gradients.
    """

    def __init__(
        self,
        function: Spec,
        scope: Scope | None = None,
        shape: int | tuple[int, ...] | None = None,
        channel_dim: int = 1,
    ) -> None:
        super().__init__()
        self.function = resolve(function)
        if isinstance(self.function, Learnable):
            initial: Mapping[str, float] = self.function.initial
            default = self.function.scope
        else:
            initial = dict.fromkeys(self.function.parameters, 1.0)
            default = "channel"
        self.scope = default if scope is None else scope
        if self.scope not in SCOPES:
            raise UnknownNameError("scope", str(scope), SCOPES)
        if isinstance(channel_dim, bool) or not isinstance(channel_dim, int) or channel_dim == 0:
            raise PangaeaError(
                f"channel_dim counts the input's dimensions after the batch: 1, 2, … or −1, −2, …; "
                f"got {channel_dim!r}"
            )
        self.channel_dim = channel_dim
        self._initial = dict(initial)
        for name in self._initial:
            setattr(self, name, UninitializedParameter())
        self._steps = program(self.function) if isinstance(self.function, Function) else ()
        self._built = False
        # Functions such as ReLU round nothing, so they need no wider arithmetic.
        self._exact = (
            isinstance(self.function, Function)
            and not initial
            and all(node.operator in _EXACT for _, node in self.function.expression.walk())
        )
        # Torch's own kernels do a single operator of these as well as ours.
        alone = self._exact and len(self._steps) == 1
        self._text = "" if alone or isinstance(self.function, Learnable) else str(self.function)
        if shape is not None:
            self._build(self._parameter_shape(_checked(shape)))
        elif self.scope == "layer" or not initial:
            self._build(())

    @property
    def parameter_names(self) -> tuple[str, ...]:
        return tuple(self._initial)

    def _parameter_shape(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        if self.scope == "layer" or not self._initial:
            return ()
        if self.scope == "neuron":
            return shape
        place = self.channel_dim - 1 if self.channel_dim > 0 else self.channel_dim
        if not -len(shape) <= place < len(shape):
            raise PangaeaError(
                f"channel_dim is {self.channel_dim}, but the feature shape {shape} "
                f"(without the batch) has {len(shape)} dimensions"
            )
        return (shape[place],)

    def _build(
        self, shape: tuple[int, ...], device: Any = None, dtype: torch.dtype | None = None
    ) -> None:
        for name, value in self._initial.items():
            parameter = getattr(self, name)
            parameter.materialize(shape, device=device, dtype=dtype)
            with torch.no_grad():
                parameter.fill_(value)
        self._built = True

    def _load_from_state_dict(self, state_dict: Mapping[str, Any], prefix: str, *args: Any) -> None:
        first = state_dict.get(prefix + next(iter(self._initial), ""))
        if not self._built and isinstance(first, Tensor):
            self._build(tuple(first.shape))
        super()._load_from_state_dict(state_dict, prefix, *args)

    def forward(self, x: Tensor) -> Tensor:
        if not self._built:
            # A half-precision input must not make half-precision parameters.
            wide = x.dtype if x.dtype in (torch.float32, torch.float64) else None
            self._build(self._parameter_shape(_checked(tuple(x.shape[1:]))), x.device, wide)
        parameters = [getattr(self, name) for name in self._initial]
        shape = self._aligned(parameters[0], x) if parameters else ()
        if self._text and fused.applies(x, parameters, shape):
            return fused.run(self._text, x, parameters, shape)
        wide_x = x.float() if x.dtype in HALF and not self._exact else x
        if isinstance(self.function, Learnable):
            y = self.function.value(wide_x, *(p.view(shape) for p in parameters))
        else:
            y = run(self._steps, wide_x, parameters, shape)
        return y.to(x.dtype)

    def _aligned(self, parameter: Tensor, x: Tensor) -> tuple[int, ...]:
        """The shape in which parameters broadcast against the input."""
        if parameter.ndim == 0 or self.scope == "neuron":
            return tuple(parameter.shape)
        after = x.ndim - 1 - self.channel_dim % x.ndim
        return (parameter.shape[0], *(1,) * after)

    def extra_repr(self) -> str:
        text = str(self.function)
        if self._initial:
            text += f", scope={self.scope}"
            if self.channel_dim != 1:
                text += f", channel_dim={self.channel_dim}"
        return text


def _checked(shape: int | tuple[int, ...]) -> tuple[int, ...]:
    sizes = (shape,) if isinstance(shape, int) else tuple(shape)
    if not sizes or not all(isinstance(size, int) and size > 0 for size in sizes):
        raise PangaeaError(f"a feature shape is the input's shape without the batch, got {shape!r}")
    return sizes


_NORMS = (nn.modules.batchnorm._NormBase, nn.LayerNorm, nn.GroupNorm, nn.RMSNorm)


def parameter_groups(model: nn.Module, weight_decay: float = 5e-4) -> list[dict[str, Any]]:
    """Groups for an optimizer: weights decayed; activation parameters, biases and norms not."""
    bare: set[int] = set()
    for module in model.modules():
        own = dict(module.named_parameters(recurse=False))
        whole = isinstance(module, (Activation, nn.PReLU, *_NORMS))
        bare.update(id(p) for name, p in own.items() if whole or name.endswith("bias"))
    decayed = [p for p in model.parameters() if id(p) not in bare]
    undecayed = [p for p in model.parameters() if id(p) in bare]
    return [
        {"params": decayed, "weight_decay": weight_decay},
        {"params": undecayed, "weight_decay": 0.0},
    ]

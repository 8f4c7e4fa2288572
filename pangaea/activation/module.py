"""A function as a `torch.nn.Module`, its parameters learnt per layer, channel or neuron."""

import math
import warnings
from collections.abc import Mapping
from typing import Any, Literal, get_args

import torch
from torch import Tensor, nn
from torch.nn.parameter import UninitializedParameter

from pangaea.activation import fused, state, vectorized
from pangaea.activation.program import HALF, floating, run, tracing
from pangaea.errors import PangaeaError, UnknownNameError
from pangaea.functions.catalog import resolve
from pangaea.functions.expression import Function
from pangaea.functions.learnable import Learnable, initial, steps_of, usual_scope
from pangaea.functions.operators import EXACT

Scope = Literal["layer", "channel", "neuron"]
SCOPES: tuple[str, ...] = get_args(Scope)

FunctionLike = Function | Learnable | str


class _Later(UninitializedParameter):
    """A parameter without a shape yet; `.bfloat16()` counts as `.half()` does."""

    _allowed_methods = (
        *UninitializedParameter._allowed_methods,  # type: ignore[attr-defined]
        torch.Tensor.bfloat16,
    )


class Activation(nn.Module):
    """`function` with its own parameters, one set per layer, channel or neuron.

    Parameters are attributes named as in the function (`alpha`, `beta`, `gamma`), of shape () per
    layer, (C,) per channel and the feature shape (the input's without the batch) per neuron.
    Without a `shape` they are made on the first input. They start at one (a learnable baseline's at
    its own values) unless `init` says otherwise: `init={"alpha": 0.9}`. Channels are in dimension 1
    unless `channel_dim` says otherwise. float16 and bfloat16 inputs are computed in float32 and
    rounded once. On CUDA a function runs as one kernel, and as one for its gradients; on the CPU,
    where there is a C compiler, in one go through memory.
    """

    # For a short training on CUDA they take longer to compile than they save.
    kernels = True

    def __init__(
        self,
        function: FunctionLike,
        scope: Scope | None = None,
        shape: int | tuple[int, ...] | None = None,
        channel_dim: int | None = None,
        init: Mapping[str, float] | None = None,
    ) -> None:
        super().__init__()
        self.function = resolve(function)
        starts = initial(self.function)
        self.scope = usual_scope(self.function) if scope is None else scope
        if self.scope not in SCOPES:
            raise UnknownNameError("scope", str(scope), SCOPES)
        self._guessed = channel_dim is None
        self.channel_dim = 1 if channel_dim is None else _checked_dim(channel_dim)
        self._initial = {**starts, **_checked_values(init or {}, starts, self.function)}
        for name in self._initial:
            setattr(self, name, _Later())
        self._steps = steps_of(self.function)
        self._built = False
        # Functions such as ReLU round nothing, so they need no wider arithmetic.
        self._exact = (
            isinstance(self.function, Function)
            and not starts
            and all(n.operator in EXACT for _, n in self.function.expression.walk() if n.inputs)
        )
        # Torch's own kernels do a single operator of these as well as ours.
        alone = self._exact and len(self._steps) == 1
        self._text = "" if alone else str(self.function)
        if shape is not None:
            self._build(self._parameter_shape(_checked(shape)))
        elif self.scope == "layer" or not starts:
            self._build(())

    @property
    def parameter_names(self) -> tuple[str, ...]:
        return tuple(self._initial)

    @property
    def initial(self) -> Mapping[str, float]:
        """Where the parameters start."""
        return self._initial

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

    @torch._disable_dynamo  # type: ignore[attr-defined]
    def _build_for(self, x: Tensor) -> None:
        if x.ndim < 2:
            raise PangaeaError(
                f"parameters per {self.scope} are made from an input with a batch and features, "
                f"got one of shape {tuple(x.shape)}; give the Activation a shape, or scope='layer'"
            )
        if x.ndim == 3 and self._guessed and self.scope == "channel":
            warnings.warn(
                f"an input of shape {tuple(x.shape)} may be (N, C, L) or (N, T, C): its "
                f"{x.shape[1]} entries in dimension 1 are taken for channels; "
                "say so with channel_dim=1, or take the last dimension with channel_dim=-1",
                stacklevel=4,
            )
        shape = self._parameter_shape(_checked(x.shape[1:]))
        with torch.inference_mode(False):  # what is made in it could not be trained
            self._build(shape, x.device, self._dtype(x.dtype))

    def _dtype(self, seen: torch.dtype) -> torch.dtype:
        """What `.double()` or `.half()` asked for; else what comes, if it is not half-precision."""
        asked: torch.dtype = getattr(self, next(iter(self._initial))).dtype
        wide = seen in (torch.float32, torch.float64)
        return seen if wide and asked == torch.get_default_dtype() else asked

    def get_extra_state(self) -> Tensor:
        """The function's text: a state of another one must not be taken for its own."""
        dim = 1
        if self._initial and self.scope == "channel":
            dim = self.channel_dim
        elif self._built and any(parameter.ndim == 1 for parameter in self.parameters()):
            dim = -1  # neurons in a row are the entries of the last dimension
        return state.written(str(self.function), dim)

    def set_extra_state(self, _: Any) -> None:
        """Nothing to set: the text is compared where a state is loaded."""

    def _save_to_state_dict(
        self, destination: dict[str, Any], prefix: str, keep_vars: bool
    ) -> None:
        if not self._built:
            raise PangaeaError(
                f"Activation({self.extra_repr()}) has no state before its parameters have a shape: "
                "give it one (shape=…), or pass an input through the model first"
            )
        super()._save_to_state_dict(destination, prefix, keep_vars)
        if not self._initial:  # as nn.ReLU, what has no parameters has no state
            destination.pop(prefix + state.KEY)

    def _load_from_state_dict(
        self,
        state_dict: Mapping[str, Any],
        prefix: str,
        local_metadata: Any,
        strict: bool,
        missing_keys: list[str],
        unexpected_keys: list[str],
        error_msgs: list[str],
    ) -> None:
        values = [state_dict.get(prefix + name) for name in self._initial]
        first = next((value for value in values if isinstance(value, Tensor)), None)
        if not self._built and first is not None:
            if first.ndim != 1 if self.scope == "channel" else first.ndim == 0:
                error_msgs.append(
                    f"{prefix[:-1] or 'the state'} has parameters of shape {tuple(first.shape)}, "
                    f"not one per {self.scope}: it was made with another scope."
                )
                return
            self._build(tuple(first.shape), dtype=self._dtype(first.dtype))
        written = state_dict.get(prefix + state.KEY)
        if written is not None and (text := state.read(written)[0]) != str(self.function):
            # Torch tells no module whether `strict` was asked for.
            error_msgs.append(
                f"{prefix[:-1] or 'the state'} is of the function {state.shown(text)}, "
                f"not {state.shown(str(self.function))}; without the key {prefix}{state.KEY} "
                "its parameters are taken all the same."
            )
        super()._load_from_state_dict(
            state_dict,
            prefix,
            local_metadata,
            strict,
            missing_keys,
            unexpected_keys,
            error_msgs,
        )
        if prefix + state.KEY in missing_keys:
            # States written before the text belonged to them are as good.
            missing_keys.remove(prefix + state.KEY)

    def forward(self, x: Tensor) -> Tensor:
        if not x.is_floating_point():
            x = floating(x)
        if not self._built:
            self._build_for(x)
        parameters = [getattr(self, name) for name in self._initial]
        shape = self._aligned(parameters[0], x) if parameters else ()
        if self._text and self.kernels and fused.applies(x, parameters, shape):
            return fused.run(self._text, x, parameters, shape)
        wide_x = x.float() if x.dtype in HALF and not self._exact else x
        if self._text and vectorized.applies(wide_x, parameters, shape):
            y = vectorized.run(self._steps, wide_x, parameters, shape)
        else:
            y = run(self._steps, wide_x, parameters, shape)
        return y.to(x.dtype)

    def _aligned(self, parameter: Tensor, x: Tensor) -> tuple[int, ...]:
        """The shape in which parameters broadcast against the input, which has to fit."""
        shape = tuple(parameter.shape)
        if not shape:
            return shape
        if self.scope == "channel":
            dim, dims = self.channel_dim, x.ndim
            # A single dimension is one example's channels, without a batch.
            after = -1 - dim if dim < 0 else dims - 1 - dim if dims > 1 else 1 - dim
            if not tracing() and not (0 <= after < dims and x.shape[-1 - after] == shape[0]):
                raise self._misfit(shape, x)
            return (*shape, *(1,) * after)
        if not tracing() and x.shape[max(x.ndim - len(shape), 0) :] != shape:
            raise self._misfit(shape, x)
        return shape

    def _misfit(self, shape: tuple[int, ...], x: Tensor) -> PangaeaError:
        if self.scope == "channel":
            has = f"{shape[0]} channels in dimension {self.channel_dim}"
        else:
            has = f"neurons of shape {shape}"
        return PangaeaError(
            f"this Activation has parameters for {has}, which an input of shape {tuple(x.shape)} "
            "does not have: one Activation for each place, or scope='layer'"
        )

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


def _checked_dim(channel_dim: int) -> int:
    if isinstance(channel_dim, bool) or not isinstance(channel_dim, int) or channel_dim == 0:
        raise PangaeaError(
            f"channel_dim counts the input's dimensions after the batch: 1, 2, … or −1, −2, …; "
            f"got {channel_dim!r}"
        )
    return channel_dim


def _checked_values(
    init: Mapping[str, float], known: Mapping[str, float], function: Function | Learnable
) -> dict[str, float]:
    for name, value in init.items():
        if name not in known:
            raise UnknownNameError(f"parameter of {function}", str(name), known)
        if not isinstance(value, int | float) or not math.isfinite(value):
            raise PangaeaError(f"{name} starts at a finite number, got {value!r}")
    return {name: float(value) for name, value in init.items()}


def _is_bias(name: str) -> bool:
    """`bias`, `in_proj_bias`, an LSTM's `bias_ih_l0`."""
    return name.startswith("bias") or name.endswith("bias")


_NORMS = (nn.modules.batchnorm._NormBase, nn.LayerNorm, nn.GroupNorm, nn.RMSNorm)


def parameter_groups(
    model: nn.Module, weight_decay: float = 5e-4, activation_lr: float | None = None
) -> list[dict[str, Any]]:
    """Groups for an optimizer: weights decayed; activation parameters, biases and norms not.

    With an `activation_lr`, activation parameters are a third group with that learning rate.
    """
    if activation_lr is not None and not 0 <= activation_lr < math.inf:
        raise PangaeaError(f"a learning rate is a finite number from 0, got {activation_lr!r}")
    bare: set[int] = set()
    shaping: set[int] = set()
    for module in model.modules():
        parameters = dict(module.named_parameters(recurse=False))
        whole = isinstance(module, (Activation, nn.PReLU, *_NORMS))
        bare.update(id(p) for name, p in parameters.items() if whole or _is_bias(name))
        if activation_lr is not None and isinstance(module, Activation | nn.PReLU):
            shaping.update(map(id, parameters.values()))
    decayed = [p for p in model.parameters() if id(p) not in bare]
    undecayed = [p for p in model.parameters() if id(p) in bare - shaping]
    groups: list[dict[str, Any]] = [
        {"params": decayed, "weight_decay": weight_decay},
        {"params": undecayed, "weight_decay": 0.0},
    ]
    if activation_lr is not None:
        apart = [p for p in model.parameters() if id(p) in shaping]
        groups.append({"params": apart, "weight_decay": 0.0, "lr": activation_lr})
    return groups

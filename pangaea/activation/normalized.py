"""Batch norm with an activation behind it: in a captured step both at once.

Torch's batch norm and an activation go through memory 13 times, forwards and back; these kernels
9 times, and their sums take a third of the time. But launched from Python one by one they take
longer than they run, so they are for those who capture them.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.nn.parameter import is_lazy

from pangaea.activation import fused
from pangaea.activation.kernels.launch import BACKWARD, Schedule, device_of, form, plan, summing
from pangaea.activation.kernels.layout import dense
from pangaea.activation.module import Activation
from pangaea.activation.program import run

_NORMS = (nn.BatchNorm1d, nn.BatchNorm2d, nn.BatchNorm3d)
# Measured in the captured steps of WRN-10-4 and ResNet-v1-56 on an H200. Where there is little to
# compute: many bytes at a time, and few programs whose sums have to be added up.
_MOMENTS = Schedule(rows=64, each=8, least=1, most=4)
_FORWARD = Schedule(rows=8, each=8, least=8, most=64)
_TO_INPUT = Schedule(rows=32, each=2, least=8, most=64)


class Normalized(nn.Module):
    """A batch norm, a shortcut added to it if there is one, and an activation.

    `fused` (see `fuse`) is for steps that are captured in a CUDA graph.
    """

    fused = False

    def __init__(self, norm: nn.Module, activation: nn.Module) -> None:
        super().__init__()
        self.norm, self.activation = norm, activation

    def forward(self, x: Tensor, shortcut: Tensor | None = None) -> Tensor:
        norm: Any = self.norm
        y: Tensor
        if not self.fused or not _applies(norm, self.activation, x, shortcut):
            y = norm(x)
            y = self.activation(y if shortcut is None else shortcut + y)
        elif norm.training:
            text, parameters = str(self.activation.function), _parameters(self.activation)
            y = _Normalized.apply(text, norm, x, shortcut, norm.weight, norm.bias, *parameters)  # type: ignore[no-untyped-call]
        else:
            text, parameters = str(self.activation.function), _parameters(self.activation)
            state = norm.running_mean, norm.running_var, norm.weight, norm.bias
            y = _value(_Layer(text, x, shortcut, state, norm.eps, parameters))
        return y


def fuse(model: nn.Module, fused: bool = True, kernels: bool = True) -> None:
    """Let a model's normalized activations run at once or not, its functions as kernels or not."""
    for module in model.modules():
        if isinstance(module, Normalized):
            module.fused = fused and kernels
        elif isinstance(module, Activation):
            module.kernels = kernels


def _parameters(activation: Any) -> list[Tensor]:
    return [getattr(activation, name) for name in activation.parameter_names]


def _applies(norm: Any, activation: Any, x: Tensor, shortcut: Tensor | None) -> bool:
    """Batch norms as they come; functions with parameters per layer or channel."""
    if torch.compiler.is_compiling() or type(norm) not in _NORMS or norm.momentum is None:
        return False
    if not norm.affine or not norm.track_running_stats:
        return False
    if not norm.training and torch.is_grad_enabled():
        return False
    if type(activation) is not Activation:
        return False
    if _watched(norm) or _watched(activation):
        return False
    parameters = _parameters(activation)
    if parameters and (
        activation.scope == "neuron" or activation.channel_dim not in (1, 1 - x.dim())
    ):
        return False
    state = [norm.weight, norm.bias, norm.running_mean, norm.running_var, *parameters]
    if any(is_lazy(p) or p.dtype != torch.float32 for p in state):
        return False
    if x.dim() < 2 or x.shape[1] != norm.num_features or x.numel() <= x.shape[1]:
        return False
    if shortcut is not None and shortcut.shape != x.shape:
        return False
    return fused.applies(x, state if shortcut is None else [*state, shortcut], ())


def _watched(module: nn.Module) -> bool:
    """Somebody who wants to see what goes in or out would see nothing."""
    return any(
        (
            module._forward_hooks,
            module._forward_pre_hooks,
            module._backward_hooks,
            module._backward_pre_hooks,
        )
    )


class _Layer(NamedTuple):
    """What a layer computes with; the norm is a mean, variance, weight and bias."""

    text: str
    x: Tensor
    shortcut: Tensor | None
    norm: Sequence[Tensor]
    epsilon: float
    parameters: Sequence[Tensor]

    @property
    def shape(self) -> tuple[int, ...]:
        """In which a channel's values broadcast."""
        return (self.x.shape[1], *(1,) * (self.x.dim() - 2))

    @property
    def inputs(self) -> tuple[Tensor, Tensor]:
        """x and the shortcut, as they lie in memory for the kernels."""
        x = dense(self.x, self.x, self.shape)
        return x, x if self.shortcut is None else dense(self.shortcut, self.x, self.shape)

    @property
    def values(self) -> int:
        """Values of a parameter: one for all channels, or one for each."""
        return self.parameters[0].numel() if self.parameters else 1


class _Normalized(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any,
        text: str,
        norm: nn.BatchNorm2d,
        x: Tensor,
        shortcut: Tensor | None,
        weight: Tensor,
        bias: Tensor,
        *parameters: Tensor,
    ) -> Tensor:
        mean, variance = _statistics(norm, x)
        ctx.function, ctx.epsilon = text, norm.eps
        ctx.save_for_backward(x, shortcut, mean, variance, weight, bias, *parameters)
        layer = _Layer(text, x, shortcut, (mean, variance, weight, bias), norm.eps, parameters)
        return _value(layer)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        x, shortcut, mean, variance, weight, bias, *parameters = ctx.saved_tensors
        norm = mean, variance, weight, bias
        layer = _Layer(ctx.function, x, shortcut, norm, ctx.epsilon, parameters)
        if torch.is_grad_enabled():
            return None, None, *_gradients(layer, gradient)
        to_x, to_shortcut, totals = _pulled(layer, gradient, ctx.needs_input_grad[2])
        to_bias, to_weight, *to_parameters = totals
        each = (g if layer.values > 1 else g.sum() for g in to_parameters)
        shaped = (g.reshape(p.shape) for g, p in zip(each, parameters, strict=True))
        return None, None, to_x, to_shortcut, to_weight, to_bias, *shaped


def _statistics(norm: nn.BatchNorm2d, x: Tensor) -> Tensor:
    """Mean and variance of each channel; the norm's own move towards them."""
    from pangaea.activation.kernels import norms as kernels

    shape = (x.shape[1], *(1,) * (x.dim() - 2))
    x = dense(x, x, shape)
    planned = plan(x, shape, _MOMENTS)
    adding = summing(planned)
    moments = x.new_empty(2, x.shape[1], dtype=torch.float32)
    partial = moments.new_empty(2, planned.groups, planned.at.sums)
    with device_of(x):
        kernels.moments[planned.at.tiles * planned.groups,](
            x, partial, *planned.sizes, **planned.constants
        )
        kernels.statistics[adding.programs,](
            x,
            partial,
            moments,
            norm.running_mean,
            norm.running_var,
            norm.num_batches_tracked,
            *adding.sizes,
            planned.at.inner,
            x.numel() // x.shape[1],
            norm.momentum,
            **adding.constants,
        )
    return moments


def _value(layer: _Layer) -> Tensor:
    from pangaea.activation.kernels import norms as kernels

    x, shortcut = layer.inputs
    y = torch.empty_like(x)
    planned = plan(x, layer.shape, form(layer.text).schedule(_FORWARD))
    with device_of(x):
        kernels.forward[planned.at.tiles * planned.groups,](
            x,
            shortcut,
            y,
            tuple(layer.norm),
            layer.epsilon,
            tuple(layer.parameters),
            layer.values,
            *planned.sizes,
            VALUE=form(layer.text).value,
            SHORTCUT=layer.shortcut is not None,
            **planned.constants,
        )
    return y


def _pulled(
    layer: _Layer, gradient: Tensor, to_input: bool
) -> tuple[Tensor | None, Tensor | None, Tensor]:
    """The gradients of x and of the shortcut, and by channel those of bias, weight, parameters."""
    from pangaea.activation.kernels import norms as kernels

    x, shortcut = layer.inputs
    gradient, dz = dense(gradient, x, layer.shape), torch.empty_like(x)
    planned = plan(x, layer.shape, form(layer.text).schedule(BACKWARD))
    adding, count = summing(planned), 2 + len(layer.parameters)
    totals = layer.norm[0].new_empty(count, x.shape[1])
    factors = totals.new_empty(3, x.shape[1])
    partial = totals.new_empty(count, planned.groups, planned.at.sums)
    with device_of(x):
        kernels.backward[planned.at.tiles * planned.groups,](
            x,
            shortcut,
            gradient,
            dz,
            partial,
            tuple(layer.norm),
            layer.epsilon,
            tuple(layer.parameters),
            layer.values,
            *planned.sizes,
            PULL=form(layer.text).pull,
            SHORTCUT=layer.shortcut is not None,
            **planned.constants,
        )
        kernels.pulled[adding.programs, count](
            partial,
            tuple(layer.norm),
            layer.epsilon,
            totals,
            factors,
            *adding.sizes,
            x.numel() // x.shape[1],
            **adding.constants,
        )
        to_shortcut = None if layer.shortcut is None else dz
        if not to_input:
            return None, to_shortcut, totals
        # Without a shortcut nobody needs dz any more.
        dx = dz if to_shortcut is None else torch.empty_like(x)
        planned = plan(x, layer.shape, _TO_INPUT)
        kernels.to_input[planned.at.tiles * planned.groups,](
            x, dz, dx, (layer.norm[0], *factors), *planned.sizes, **planned.constants
        )
    return dx, to_shortcut, totals


def _gradients(layer: _Layer, gradient: Tensor) -> list[Tensor | None]:
    """For who wants to differentiate them: torch knows how, the kernels do not."""
    _, _, weight, bias = layer.norm
    every = [layer.x, layer.shortcut, weight, bias, *layer.parameters]
    leaves = [t for t in every if t is not None and t.requires_grad]
    z = F.batch_norm(layer.x, None, None, weight, bias, True, 0.0, layer.epsilon)
    z = z if layer.shortcut is None else layer.shortcut + z
    aligned = layer.shape if layer.values > 1 else ()
    y = run(form(layer.text).steps, z.float(), layer.parameters, aligned).to(z.dtype)
    gradients = iter(torch.autograd.grad(y, leaves, gradient, create_graph=True))
    return [next(gradients) if t is not None and t.requires_grad else None for t in every]

"""What counts as an activation in somebody else's model, as a module and as a function call."""

import re
from collections.abc import Callable
from functools import partial
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.nn.parameter import is_lazy

from pangaea.activation.module import Activation

# What a function is called in torch, as a function and as a method, beside its module.
_NAMES: dict[str, type[nn.Module]] = {
    "relu": nn.ReLU,
    "relu6": nn.ReLU6,
    "silu": nn.SiLU,
    "gelu": nn.GELU,
    "mish": nn.Mish,
    "leaky_relu": nn.LeakyReLU,
    "prelu": nn.PReLU,
    "rrelu": nn.RReLU,
    "elu": nn.ELU,
    "selu": nn.SELU,
    "celu": nn.CELU,
    "hardswish": nn.Hardswish,
    "hardtanh": nn.Hardtanh,
    "softsign": nn.Softsign,
    "tanhshrink": nn.Tanhshrink,
    "softshrink": nn.Softshrink,
    "hardshrink": nn.Hardshrink,
    "softplus": nn.Softplus,
    "logsigmoid": nn.LogSigmoid,
    "hardsigmoid": nn.Hardsigmoid,
    "sigmoid": nn.Sigmoid,
    "tanh": nn.Tanh,
}
METHODS = {
    name: kind
    for base, kind in _NAMES.items()
    for name in (base, base + "_")
    if hasattr(Tensor, name)
}
FUNCTIONS: dict[Callable[..., Any], type[nn.Module]] = {
    getattr(home, name): kind
    for base, kind in _NAMES.items()
    for home in (F, torch, Tensor, torch.special)
    for name in (base, base + "_")
    if hasattr(home, name)
} | {torch.special.expit: nn.Sigmoid}

MODULES = (*_NAMES.values(), nn.Threshold, Activation)
# Bounded or one-sided on purpose as often as not: gates, probabilities, positive outputs.
SQUASHING = (nn.Sigmoid, nn.Tanh, nn.Hardsigmoid, nn.Softplus, nn.LogSigmoid)

# Classes of transformers, timm and everybody: GELUActivation, QuickGELU, h_swish, ReLUSquared, …
_CLASS = re.compile(
    r"[a-z]*?(relu|gelu|silu|swish|mish|elu|softplus|sigmoid|tanh)"
    r"(\d|activation|squared|tanh|fused|me|jit)*"
)
_LIBRARIES = ("transformers.activations", "timm.layers.activations")
_NO_ACTIVATION = ("LinearActivation", "Identity")
_NORMS = (nn.modules.batchnorm._NormBase, nn.LayerNorm, nn.GroupNorm, nn.RMSNorm)

LEFT = {
    nn.GLU: "it halves its channels: a gate with its values in one module",
    nn.Softmax: "a distribution over a dimension, not a function of one value",
    nn.Softmin: "a distribution over a dimension, not a function of one value",
    nn.LogSoftmax: "a distribution over a dimension, not a function of one value",
    nn.Softmax2d: "a distribution over a dimension, not a function of one value",
    nn.RNNBase: "its gates are computed inside torch",
    nn.RNNCellBase: "its gates are computed inside torch",
}


def is_activation(module: nn.Module) -> bool:
    """A module that is one function of every value: torch's, a library's, or named like one."""
    if isinstance(module, MODULES):
        return True
    kind = type(module)
    if kind.__name__ in _NO_ACTIVATION or not all(map(is_activation, module.children())):
        return False
    if isinstance(module, _NORMS) or any(
        _of_a_layer(name, parameter) for name, parameter in module.named_parameters()
    ):
        return False  # a layer with its activation, such as ConvReLU, BNReLU or BiasGELU
    return kind.__module__.startswith(_LIBRARIES) or _matched(kind) is not None


def _of_a_layer(name: str, parameter: Tensor) -> bool:
    """A matrix, or a bias for each channel; what an activation learns is neither."""
    return is_lazy(parameter) or parameter.dim() > 1 or (name == "bias" and parameter.numel() > 1)


def is_squashing(module: nn.Module) -> bool:
    """A kind that gates and outputs use as well, so that its surroundings decide."""
    if isinstance(module, MODULES):
        return isinstance(module, SQUASHING)
    matched = _matched(type(module))
    return matched is not None and matched[1] in ("sigmoid", "tanh", "softplus")


def _matched(kind: type) -> re.Match[str] | None:
    return _CLASS.fullmatch(kind.__name__.lower().replace("_", ""))


def function_kind(value: object) -> type[nn.Module] | None:
    """The module that a plain function, such as an attribute `act = F.gelu`, stands for."""
    while isinstance(value, partial):
        value = value.func
    try:
        return FUNCTIONS.get(value)  # type: ignore[call-overload, no-any-return]
    except TypeError:  # something that cannot be hashed is no function of torch's
        return None


def function_name(function: Callable[..., Any]) -> str:
    while isinstance(function, partial):
        function = function.func
    return getattr(function, "__name__", type(function).__name__)

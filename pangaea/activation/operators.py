"""The operators in torch: right to a few units in the last place, value and slope.

An operator whose gradient torch gets wrong in the tails (tanh' from 1 − y² loses every digit once
y rounds to 1) stands here with its slope; the others are left to autograd.
"""

import math
from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from pangaea.activation import bessel
from pangaea.functions.scalar import GELU_CUBIC, GELU_SCALE, SELU_ALPHA, SELU_SCALE

Unary = Callable[[Tensor], Tensor]
Binary = Callable[[Tensor, Tensor], Tensor]


class _Unary(torch.autograd.Function):
    """A unary operator with its own slope; only the input is kept for the way back."""

    generate_vmap_rule = True

    @staticmethod
    def forward(x: Tensor, value: Unary, slope: Unary) -> Tensor:
        return value(x)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Tensor, Unary, Unary], output: Tensor) -> None:
        x, _, ctx.slope = inputs
        ctx.save_for_backward(x)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None, None]:
        (x,) = ctx.saved_tensors
        return gradient * ctx.slope(x), None, None


class _Binary(torch.autograd.Function):
    """A binary operator with its own slopes."""

    generate_vmap_rule = True

    @staticmethod
    def forward(
        a: Tensor, b: Tensor, value: Binary, slopes: Callable[[Tensor, Tensor], Any]
    ) -> Tensor:
        return value(a, b)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Tensor, Tensor, Any, Any], output: Tensor) -> None:
        a, b, _, ctx.slopes = inputs
        ctx.save_for_backward(a, b)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, Tensor, None, None]:
        by_a, by_b = ctx.slopes(*ctx.saved_tensors)
        return gradient * by_a, gradient * by_b, None, None


def _sloped(value: Unary, slope: Unary) -> Unary:
    return lambda x: _Unary.apply(x, value, slope)  # type: ignore[no-untyped-call]


def _sloped2(value: Binary, slopes: Callable[[Tensor, Tensor], tuple[Tensor, Tensor]]) -> Binary:
    return lambda a, b: _Binary.apply(a, b, value, slopes)  # type: ignore[no-untyped-call]


def _reciprocal(x: Tensor) -> Tensor:
    at_zero = x == 0
    # The inner `where` keeps 1/0 out of the graph: 0·∞ would make the gradient NaN.
    return torch.where(at_zero, 0.0, 1 / torch.where(at_zero, 1.0, x))


def _divide(a: Tensor, b: Tensor) -> Tensor:
    at_zero = b == 0
    return torch.where(at_zero, 0.0, a / torch.where(at_zero, 1.0, b))


def _power_slopes(a: Tensor, b: Tensor) -> tuple[Tensor, Tensor]:
    """TensorFlow's: the exponent has no slope where the base is not positive."""
    positive = a > 0
    log = torch.log(torch.where(positive, a, 1.0))
    base = torch.where(b == 0, 0.0, b * torch.pow(a, b - 1))
    return base, torch.where(positive, torch.pow(a, b) * log, 0.0)


def _larger_slopes(a: Tensor, b: Tensor) -> tuple[Tensor, Tensor]:
    """TensorFlow's: where they are equal the first input has it all.

    So in min(log σ(x), α·log σ(β·x)), one of the paper's functions, α and β never leave 1.
    """
    first = a >= b
    return first.to(a.dtype), (~first).to(a.dtype)


def _sech2(x: Tensor) -> Tensor:
    t = torch.exp(-2 * x.abs())
    return 4 * t / (1 + t) ** 2


def _gauss(x: Tensor) -> Tensor:
    """2/√π · exp(−x²), with x² in two parts: rounding it would cost x² units in the last place."""
    x = x.clamp(-30, 30)  # beyond, it is zero
    high = x.to(torch.bfloat16 if x.dtype == torch.float32 else torch.float32).to(x.dtype)
    return (2 / math.sqrt(math.pi)) * torch.exp(-high * high) * torch.exp((high - x) * (high + x))


def _sinh(x: Tensor) -> Tensor:
    return torch.sinh(x.clamp(-80, 80)) * _beyond_80(x)


def _cosh(x: Tensor) -> Tensor:
    return torch.cosh(x.clamp(-80, 80)) * _beyond_80(x)


def _beyond_80(x: Tensor) -> Tensor:
    """The rest of the exponential: torch's sinh overflows while the value is still finite."""
    return torch.exp((x.abs() - 80).clamp_min(0))


def _asinh(x: Tensor) -> Tensor:
    """log(|x| + √(x² + 1)), never squaring a large x; torch's own is six times slower here."""
    size = x.abs()
    inverse = 1 / size
    return torch.log1p(size + size / (inverse + torch.sqrt(inverse * inverse + 1))).copysign(x)


def _asinh_slope(x: Tensor) -> Tensor:
    size = x.abs()
    near = size.clamp_max(1e9)
    return torch.rsqrt(near * near + 1) * (1e9 / size.clamp_min(1e9))


def _sigmoid_slope(x: Tensor) -> Tensor:
    t = torch.exp(-x.abs())
    return t / (1 + t) ** 2


def _softplus(x: Tensor) -> Tensor:
    return x.clamp_min(0) + torch.log1p(torch.exp(-x.abs()))


def _logsigmoid(x: Tensor) -> Tensor:
    # torch's own forgets channels_last.
    return x.clamp_max(0) - torch.log1p(torch.exp(-x.abs()))


def _elu(x: Tensor) -> Tensor:
    # On the CPU clamping costs a tenth of `where`.
    return x.clamp_min(0) + torch.expm1(x.clamp_max(0))


def _elu_slope(x: Tensor) -> Tensor:
    return torch.exp(x.clamp_max(0))


def _selu(x: Tensor) -> Tensor:
    return SELU_SCALE * x.clamp_min(0) + (SELU_SCALE * SELU_ALPHA) * torch.expm1(x.clamp_max(0))


def _selu_slope(x: Tensor) -> Tensor:
    right = SELU_SCALE * (SELU_ALPHA - 1) * (x >= 0).to(x.dtype)
    return (SELU_SCALE * SELU_ALPHA) * torch.exp(x.clamp_max(0)) - right


def _swish_slope(x: Tensor) -> Tensor:
    return torch.sigmoid(x) * (1 + x * torch.sigmoid(-x))


def _softsign(x: Tensor) -> Tensor:
    return x / (1 + x.abs())


def _softsign_slope(x: Tensor) -> Tensor:
    return (1 + x.abs()).reciprocal().square()


def _hard_sigmoid(x: Tensor) -> Tensor:
    return (0.2 * (x + 2.5)).clamp(0, 1)


def _elish(x: Tensor) -> Tensor:
    return _elu(x) * torch.sigmoid(x)


def _elish_slope(x: Tensor) -> Tensor:
    low = x.clamp_max(0)
    below = torch.sigmoid(low) * (torch.exp(low) + torch.expm1(low) * torch.sigmoid(-low))
    return torch.where(x >= 0, _swish_slope(x), below)


def _gelu(x: Tensor) -> Tensor:
    """The tanh form, written with a sigmoid: 1 + tanh(u) = 2σ(2u) does not cancel."""
    v = x.clamp(-50, 50)
    return x * torch.sigmoid(2 * GELU_SCALE * (v + GELU_CUBIC * v**3))


def _gelu_slope(x: Tensor) -> Tensor:
    v = x.clamp(-50, 50)
    u = 2 * GELU_SCALE * (v + GELU_CUBIC * v**3)
    du = 2 * GELU_SCALE * (1 + 3 * GELU_CUBIC * v * v)
    return torch.sigmoid(u) * (1 + v * torch.sigmoid(-u) * du)


def _mish_slope(x: Tensor) -> Tensor:
    v = x.clamp(-800, 800)
    t = torch.exp(-v.abs())
    s = torch.where(x >= 0, t, 1.0) ** 2 + (1 + t) ** 2
    low = t * (t + 2) / s + v * 4 * (1 + t) * t / s**2
    high = (1 + 2 * t) / s + v * 4 * (1 + t) * t * t / s**2
    return torch.where(x >= 0, high, low)


OPERATORS: dict[str, Callable[..., Tensor]] = {
    "zero": _sloped(torch.zeros_like, torch.zeros_like),
    "one": _sloped(torch.ones_like, torch.zeros_like),
    "identity": lambda x: x,
    "negative": torch.neg,
    "abs": torch.abs,
    "reciprocal": _reciprocal,
    "square": torch.square,
    "exp": torch.exp,
    "erf": _sloped(torch.erf, _gauss),
    "erfc": _sloped(torch.erfc, lambda x: -_gauss(x)),
    "sinh": _sloped(_sinh, _cosh),
    "cosh": _sloped(_cosh, _sinh),
    "tanh": _sloped(torch.tanh, _sech2),
    "expm1": _sloped(torch.expm1, torch.exp),
    "sigmoid": _sloped(torch.sigmoid, _sigmoid_slope),
    "logsigmoid": _sloped(_logsigmoid, lambda x: torch.sigmoid(-x)),
    "asinh": _sloped(_asinh, _asinh_slope),
    "atan": torch.atan,
    "bessel_i0e": _sloped(bessel.i0e, bessel.i0e_slope),
    "bessel_i1e": _sloped(torch.special.i1e, bessel.i1e_slope),
    "relu": torch.relu,
    "elu": _sloped(_elu, _elu_slope),
    "selu": _sloped(_selu, _selu_slope),
    "swish": _sloped(F.silu, _swish_slope),
    "softplus": _sloped(_softplus, torch.sigmoid),
    "softsign": _sloped(_softsign, _softsign_slope),
    "hard_sigmoid": _hard_sigmoid,
    "add": torch.add,
    "sub": torch.sub,
    "mul": torch.mul,
    "div": _divide,
    "pow": _sloped2(torch.pow, _power_slopes),
    "max": _sloped2(torch.maximum, _larger_slopes),
    "min": _sloped2(torch.minimum, lambda a, b: _larger_slopes(b, a)),
    "elish": _sloped(_elish, _elish_slope),
    "gelu": _sloped(_gelu, _gelu_slope),
    "leaky_relu": lambda x: F.leaky_relu(x, 0.01),
    "mish": _sloped(F.mish, _mish_slope),
}

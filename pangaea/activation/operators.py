"""The operators in torch: right to a few units in the last place, value and slope.

Gradients are written here, not left to autograd, which gets many wrong in the tails: tanh' from
1 − y² loses every digit once y rounds to 1. Below about 1e-36 in float32 a result may be 0.
"""

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor

from pangaea.activation import bessel
from pangaea.functions.scalar import GELU_CUBIC, GELU_SCALE, SELU_ALPHA, SELU_SCALE

Pull = Callable[..., tuple[Tensor | None, ...]]


class Differentiable(NamedTuple):
    """An operator in torch: its value, and its gradient from that of its output and its inputs."""

    value: Callable[..., Tensor]
    pull: Pull


class _Node(torch.autograd.Function):
    """One operator with its own gradient; only its inputs are kept for the way back."""

    generate_vmap_rule = True

    @staticmethod
    def forward(operator: Differentiable, *inputs: Tensor) -> Tensor:
        return operator.value(*inputs)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
        ctx.operator, *tensors = inputs
        ctx.save_for_backward(*tensors)
        ctx.save_for_forward(*tensors)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        return None, *ctx.operator.pull(gradient, *ctx.saved_tensors)

    @staticmethod
    def jvp(ctx: Any, _: None, *tangents: Tensor | None) -> Tensor:
        # Operators work element by element, so that pulling a tangent back also pushes it on.
        inputs = ctx.saved_tensors
        parts = [
            ctx.operator.pull(tangent, *inputs)[i]
            for i, tangent in enumerate(tangents)
            if tangent is not None
        ]
        return sum((part for part in parts if part is not None), torch.zeros_like(inputs[0]))


def node(name: str, *inputs: Tensor) -> Tensor:
    """An operator's value as part of the autograd graph, differentiable as often as one likes."""
    value: Tensor = _Node.apply(OPERATORS[name], *inputs)  # type: ignore[no-untyped-call]
    return value


def _by(slope: Callable[[Tensor], Tensor]) -> Pull:
    return lambda g, x: (g * slope(x),)


def _reciprocal(x: Tensor) -> Tensor:
    at_zero = x == 0
    return torch.where(at_zero, 0.0, 1 / torch.where(at_zero, 1.0, x))


def _divide(a: Tensor, b: Tensor) -> Tensor:
    at_zero = b == 0
    return torch.where(at_zero, 0.0, a / torch.where(at_zero, 1.0, b))


def _divide_pull(g: Tensor, a: Tensor, b: Tensor) -> tuple[Tensor, Tensor]:
    inverse = _reciprocal(b)
    by_a = g * inverse
    return by_a, -by_a * (a * inverse)


def _power_pull(g: Tensor, a: Tensor, b: Tensor) -> tuple[Tensor, Tensor]:
    """TensorFlow's: the exponent has no slope where the base is not positive."""
    positive = a > 0
    log = torch.log(torch.where(positive, a, 1.0))
    base = torch.where(b == 0, 0.0, b * torch.pow(a, b - 1))
    return g * base, g * torch.where(positive, torch.pow(a, b) * log, 0.0)


def _positive(x: Tensor) -> Tensor:
    """1 where x > 0, else 0; on the CPU a fifth of the cost of a comparison and a product."""
    return torch.sign(torch.relu(x))


def _choice_pull(above: Callable[[Tensor, Tensor], Tensor]) -> Pull:
    """TensorFlow's: where both are equal the first input has it all.

    So in min(log σ(x), α·log σ(β·x)), one of the paper's functions, α and β never leave 1.
    """

    def pull(g: Tensor, a: Tensor, b: Tensor) -> tuple[Tensor, Tensor]:
        to_b = g * _positive(above(a, b))
        return g - to_b, to_b

    return pull


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
    """log(|x| + √(x² + 1)), beyond 1e9 log 2|x|; on the CPU torch's own is several times slower."""
    size = x.abs()
    near = size.clamp_max(1e9)
    inverse = 1 / near
    value = torch.log1p(near + near / (inverse + torch.sqrt(inverse * inverse + 1)))
    value = value + torch.log(size.clamp_min(1e9) / 1e9)
    # ONNX has no copysign, which is a step less.
    return value * torch.sign(x) if torch.compiler.is_exporting() else value.copysign(x)


def _asinh_slope(x: Tensor) -> Tensor:
    size = x.abs()
    near = size.clamp_max(1e9)
    return torch.rsqrt(near * near + 1) * (1e9 / size.clamp_min(1e9))


def _sigmoid_slope(x: Tensor) -> Tensor:
    t = torch.exp(-x.abs())
    return t / (1 + t) ** 2


def _softplus(x: Tensor) -> Tensor:
    return F.softplus(x, threshold=40)  # beyond, not even float64 can tell it from x


def _logsigmoid(x: Tensor) -> Tensor:
    # torch's own forgets channels_last.
    return x.clamp_max(0) - torch.log1p(torch.exp(-x.abs()))


def _elu_slope(x: Tensor) -> Tensor:
    return torch.exp(x.clamp_max(0))


def _selu_slope(x: Tensor) -> Tensor:
    # On the CPU clamping costs a tenth of `where`.
    right = SELU_SCALE * (SELU_ALPHA - 1) * (1 - _positive(-x))
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
    return F.elu(x) * torch.sigmoid(x)


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


def _leaky_relu_slope(x: Tensor) -> Tensor:
    return 0.01 + 0.99 * _positive(x)


def _mish_slope(x: Tensor) -> Tensor:
    v = x.clamp(-800, 800)
    t = torch.exp(-v.abs())
    s = torch.where(x >= 0, t, 1.0) ** 2 + (1 + t) ** 2
    low = t * (t + 2) / s + v * 4 * (1 + t) * t / s**2
    high = (1 + 2 * t) / s + v * 4 * (1 + t) * t * t / s**2
    return torch.where(x >= 0, high, low)


OPERATORS: dict[str, Differentiable] = {
    "zero": Differentiable(torch.zeros_like, lambda g, x: (None,)),
    "one": Differentiable(torch.ones_like, lambda g, x: (None,)),
    "identity": Differentiable(lambda x: x, lambda g, x: (g,)),
    "negative": Differentiable(torch.neg, lambda g, x: (-g,)),
    "abs": Differentiable(torch.abs, _by(torch.sign)),
    "reciprocal": Differentiable(_reciprocal, _by(lambda x: -_reciprocal(x).square())),
    "square": Differentiable(torch.square, lambda g, x: (g * (2 * x),)),
    "exp": Differentiable(torch.exp, _by(torch.exp)),
    "erf": Differentiable(torch.erf, _by(_gauss)),
    "erfc": Differentiable(torch.erfc, _by(lambda x: -_gauss(x))),
    "sinh": Differentiable(_sinh, _by(_cosh)),
    "cosh": Differentiable(_cosh, _by(_sinh)),
    "tanh": Differentiable(torch.tanh, _by(_sech2)),
    "expm1": Differentiable(torch.expm1, _by(torch.exp)),
    "sigmoid": Differentiable(torch.sigmoid, _by(_sigmoid_slope)),
    "logsigmoid": Differentiable(_logsigmoid, _by(lambda x: torch.sigmoid(-x))),
    "asinh": Differentiable(_asinh, _by(_asinh_slope)),
    "atan": Differentiable(torch.atan, lambda g, x: (g / (x * x + 1),)),
    "bessel_i0e": Differentiable(bessel.i0e, _by(bessel.i0e_slope)),
    "bessel_i1e": Differentiable(bessel.i1e, _by(bessel.i1e_slope)),
    "relu": Differentiable(torch.relu, _by(_positive)),
    "elu": Differentiable(F.elu, _by(_elu_slope)),
    "selu": Differentiable(F.selu, _by(_selu_slope)),
    "swish": Differentiable(F.silu, _by(_swish_slope)),
    "softplus": Differentiable(_softplus, _by(torch.sigmoid)),
    "softsign": Differentiable(_softsign, _by(_softsign_slope)),
    "hard_sigmoid": Differentiable(_hard_sigmoid, lambda g, x: (g * 0.2 * (x.abs() <= 2.5),)),
    "add": Differentiable(torch.add, lambda g, a, b: (g, g)),
    "sub": Differentiable(torch.sub, lambda g, a, b: (g, -g)),
    "mul": Differentiable(torch.mul, lambda g, a, b: (g * b, g * a)),
    "div": Differentiable(_divide, _divide_pull),
    "pow": Differentiable(torch.pow, _power_pull),
    "max": Differentiable(torch.maximum, _choice_pull(lambda a, b: b - a)),
    "min": Differentiable(torch.minimum, _choice_pull(lambda a, b: a - b)),
    "elish": Differentiable(_elish, _by(_elish_slope)),
    "gelu": Differentiable(_gelu, _by(_gelu_slope)),
    "leaky_relu": Differentiable(lambda x: F.leaky_relu(x, 0.01), _by(_leaky_relu_slope)),
    "mish": Differentiable(F.mish, _by(_mish_slope)),
}

"""The neural units among the operators, in Triton: sigmoid, softplus, ELU and their kin."""
# mypy: disable-error-code="no-untyped-def, no-untyped-call, untyped-decorator, no-any-return"

import math

import triton
import triton.language as tl

from pangaea.activation.kernels.functions import (
    exp,
    expm1,
    fit,
    inverse,
    maximum,
    minimum,
    polynomial,
    tail,
)
from pangaea.functions.scalar import GELU_CUBIC, GELU_SCALE, SELU_ALPHA, SELU_SCALE

_SELU = tl.constexpr(SELU_SCALE)
_SELU_ALPHA = tl.constexpr(SELU_SCALE * SELU_ALPHA)
_GELU = tl.constexpr(2 * GELU_SCALE)
_GELU_CUBIC = tl.constexpr(2 * GELU_SCALE * GELU_CUBIC)
_GELU_SLOPE = tl.constexpr(6 * GELU_SCALE * GELU_CUBIC)
# Within 3e-7.
_LOG1P = fit(lambda t: math.log1p(t) / t, 7, 1e-9, 1)


@triton.jit
def _sides(x):
    """σ(x) and σ(−x), neither by subtraction."""
    t = tail(x)
    large = inverse(1 + t)
    small = t * large
    return tl.where(x < 0, small, large), tl.where(x < 0, large, small)


@triton.jit
def sigmoid(x):
    up, _down = _sides(x)
    return up


@triton.jit
def sigmoid_below(x):
    """σ(−x)."""
    _up, down = _sides(x)
    return down


@triton.jit
def sigmoid_slope(x):
    t = tail(x)
    by = inverse(1 + t)
    return (t * by) * by


@triton.jit
def _log1p_tail(x):
    """log(1 + exp(−|x|))."""
    t = tail(x)
    return t * polynomial(t, _LOG1P)


@triton.jit
def softplus(x):
    return tl.maximum(x, 0.0) + _log1p_tail(x)


@triton.jit
def logsigmoid(x):
    return tl.minimum(x, 0.0) - _log1p_tail(x)


@triton.jit
def elu(x):
    return tl.where(x > 0, x, expm1(x))


@triton.jit
def elu_slope(x):
    return tl.where(x > 0, 1.0, exp(x))


@triton.jit
def selu(x):
    return tl.where(x > 0, _SELU * x, _SELU_ALPHA * expm1(x))


@triton.jit
def selu_slope(x):
    return tl.where(x >= 0, _SELU, _SELU_ALPHA * exp(x))


@triton.jit
def swish_slope(x):
    up, down = _sides(x)
    return up * tl.fma(x, down, 1.0)


@triton.jit
def softsign_slope(x):
    by = inverse(1 + tl.abs(x))
    return by * by


@triton.jit
def hard_sigmoid(x):
    return maximum(minimum(0.2 * (x + 2.5), 1.0), 0.0)


@triton.jit
def hard_sigmoid_slope(x):
    return tl.where(tl.abs(x) <= 2.5, 0.2, 0.0)


@triton.jit
def elish(x):
    return sigmoid(x) * elu(x)


@triton.jit
def elish_slope(x):
    up, down = _sides(x)
    return tl.where(x < 0, up * tl.fma(expm1(x), down, exp(x)), up * tl.fma(x, down, 1.0))


@triton.jit
def _gelu_sides(x):
    v = maximum(minimum(x, 50.0), -50.0)
    up, down = _sides(v * tl.fma(v * v, _GELU_CUBIC, _GELU))
    return v, up, down


@triton.jit
def gelu(x):
    _v, up, _down = _gelu_sides(x)
    return x * up


@triton.jit
def gelu_slope(x):
    v, up, down = _gelu_sides(x)
    return up * tl.fma(v * down, tl.fma(v * v, _GELU_SLOPE, _GELU), 1.0)


@triton.jit
def leaky_relu(x):
    return tl.where(x > 0, x, 0.01 * x)


@triton.jit
def _mish_parts(x):
    """tanh(softplus(x)) = above / below, by t = exp(−|x|)."""
    t = tail(x)
    above = tl.where(x < 0, t * (t + 2), 1 + 2 * t)
    below = above + tl.where(x < 0, 2.0, 2 * t * t)
    return t, above, inverse(below)


@triton.jit
def mish(x):
    _t, above, by = _mish_parts(x)
    return x * (above * by)


@triton.jit
def mish_slope(x):
    t, above, by = _mish_parts(x)
    v = maximum(minimum(x, 800.0), -800.0)
    rest = 4 * (1 + t) * t * tl.where(x < 0, 1.0, t)
    return by * (above + v * rest * by)

"""The mathematics of the kernels, in Triton: float32, within 1e-5 of the truth, few instructions.

The limits are an H200's: with bfloat16 data, 16 instructions, or 2 of its special functions (fast
2ˣ, log₂, 1/x, √x), take as long as reading or writing an element once. Hence short polynomials, and
formulas that share their exponential with the slope's: the compiler computes once what occurs
twice. Results below about 1e-36 may be 0.
"""
# mypy: disable-error-code="no-untyped-def, no-untyped-call, untyped-decorator, no-any-return"

import math
from collections.abc import Callable

import numpy as np
import triton
import triton.language as tl
from numpy.polynomial import Chebyshev, Polynomial
from scipy.special import erfcx
from triton.language.extra import libdevice


def fit(function: Callable[[float], float], degree: int, low: float, high: float) -> tl.constexpr:
    """Coefficients, highest power first, of a polynomial that follows the function closely."""
    values = np.vectorize(function, otypes=[np.float64])
    close = Chebyshev.interpolate(values, degree, domain=[low, high])
    return tl.constexpr(tuple(map(float, close.convert(kind=Polynomial).coef[::-1])))


def _odd(function: Callable[[float], float]) -> Callable[[float], float]:
    """An odd function over x, by x²."""

    def value(square: float) -> float:
        x = math.sqrt(max(square, 1e-20))
        return function(x) / x

    return value


_ALL = tl.constexpr(tl.PropagateNan.ALL)
_LOG2_E = tl.constexpr(math.log2(math.e))
_LN_2 = tl.constexpr(math.log(2))
_GAUSS = tl.constexpr(2 / math.sqrt(math.pi))
_HALF_PI = tl.constexpr(math.pi / 2)

# Each within 5e-7 of its function.
_EXPM1 = fit(lambda t: math.expm1(t) / t if t else 1.0, 4, -0.3, 0.3)
_SINH = fit(_odd(math.sinh), 2, 0, 0.25)
_TANH = fit(_odd(math.tanh), 2, 0, 0.0625)
_ASINH = fit(_odd(math.asinh), 2, 0, 0.04)
_ATAN = fit(_odd(math.atan), 7, 0, 1)
# exp(x²)·erfc(x) by t = 1/(1 + 0.4·x), which takes [0, ∞) to (0, 1], over t.
_ERFC = fit(lambda t: float(erfcx((1 / t - 1) / 0.4)) / t, 8, 1e-9, 1)


if triton.knobs.runtime.interpret:
    # The interpreter has neither of the two instructions.
    @triton.jit
    def inverse(x):
        return 1 / x

    @triton.jit
    def _log2(x):
        return tl.log2(x)

else:

    @triton.jit
    def inverse(x):
        return tl.inline_asm_elementwise(
            "rcp.approx.ftz.f32 $0, $1;", "=f,f", [x], dtype=tl.float32, is_pure=True, pack=1
        )

    @triton.jit
    def _log2(x):
        return libdevice.fast_log2f(x)


@triton.jit
def polynomial(t, COEFFICIENTS: tl.constexpr):  # noqa: N803
    total = tl.fma(t, COEFFICIENTS[0], COEFFICIENTS[1])
    for i in tl.static_range(2, len(COEFFICIENTS.value)):
        total = tl.fma(total, t, COEFFICIENTS[i])
    return total


@triton.jit
def maximum(a, b):
    return tl.maximum(a, b, propagate_nan=_ALL)


@triton.jit
def minimum(a, b):
    return tl.minimum(a, b, propagate_nan=_ALL)


@triton.jit
def above(a, b):
    return tl.where(a > b, 1.0, 0.0)


@triton.jit
def not_above(a, b):
    return tl.where(a > b, 0.0, 1.0)


@triton.jit
def sign(x):
    return tl.where(x > 0, 1.0, tl.where(x < 0, -1.0, 0.0))


@triton.jit
def reciprocal(x):
    return tl.where(x == 0, 0.0, inverse(x))


@triton.jit
def reciprocal_slope(x):
    return -reciprocal(x) * reciprocal(x)


@triton.jit
def divide(a, b):
    return tl.where(b == 0, 0.0, a / b)


@triton.jit
def divide_slope(a, b):
    by_b = reciprocal(b)
    return -by_b * (a * by_b)


@triton.jit
def power(a, b):
    """C's, edge by edge: NaN for a finite negative base with a fractional exponent."""
    size = tl.abs(a)
    log = tl.log2(size)
    exponent = b * log
    # What rounding the product has lost: at 2¹²⁰ it would be 1e-5.
    lost = tl.where(tl.abs(exponent) < 200, tl.fma(b, log, -exponent), 0.0)
    y = tl.where(size == 1, 1.0, tl.exp2(exponent) * (1 + lost * _LN_2))
    half = b * 0.5
    whole, odd = tl.floor(b) == b, tl.floor(half) != half
    y = tl.where((a.to(tl.int32, bitcast=True) < 0) & whole & odd, -y, y)
    y = tl.where((a < 0) & (size < float("inf")) & (whole == 0), float("nan"), y)
    return tl.where(b == 0, 1.0, y)


@triton.jit
def power_slope(a, b):
    return tl.where(b == 0, 0.0, b * power(a, b - 1))


@triton.jit
def power_exponent_slope(a, b):
    """TensorFlow's: the exponent has no slope where the base is not positive."""
    return tl.where(a > 0, power(a, b) * (tl.log2(tl.abs(a)) * _LN_2), 0.0)


@triton.jit
def exp(x):
    return tl.exp2(x * _LOG2_E)


@triton.jit
def tail(x):
    """exp(−|x|)."""
    return tl.exp2(tl.abs(x) * -_LOG2_E)


@triton.jit
def expm1(x):
    return tl.where(tl.abs(x) < 0.3, x * polynomial(x, _EXPM1), exp(x) - 1)


@triton.jit
def gauss(x):
    """2/√π · exp(−x²), with what rounding x² has lost."""
    size = minimum(tl.abs(x), 30.0)  # beyond, it is zero
    square = size * size
    y = _GAUSS * exp(-square)
    return y - y * tl.fma(size, size, -square)


@triton.jit
def erfc(x):
    size = tl.abs(x)
    t = inverse(tl.fma(size, 0.4, 1.0))
    y = gauss(x) * (1 / _GAUSS) * (t * polynomial(t, _ERFC))
    return tl.where(x < 0, 2 - y, y)


@triton.jit
def _exponentials(x):
    """Half of exp|x| and of exp(−|x|); the first is finite as long as sinh is."""
    large = tl.exp2(tl.fma(tl.abs(x), _LOG2_E, -1.0))
    return large, 0.25 * inverse(large)


@triton.jit
def sinh(x):
    large, small = _exponentials(x)
    far = large - small
    near = x * polynomial(x * x, _SINH)
    return tl.where(tl.abs(x) < 0.5, near, tl.where(x < 0, -far, far))


@triton.jit
def cosh(x):
    large, small = _exponentials(x)
    return large + small


@triton.jit
def tanh(x):
    t = tail(2 * x)
    far = (1 - t) * inverse(1 + t)
    near = x * polynomial(x * x, _TANH)
    return tl.where(tl.abs(x) < 0.25, near, tl.where(x < 0, -far, far))


@triton.jit
def sech2(x):
    t = tail(2 * x)
    by = inverse(1 + t)
    return 4 * (t * by) * by


@triton.jit
def _hypotenuse(x):
    """√(x² + 1), also where x² is too large a number."""
    return maximum(tl.abs(x), tl.sqrt(tl.minimum(x * x, 3e38) + 1))


@triton.jit
def asinh(x):
    size = tl.abs(x)
    far = tl.fma(_log2(tl.fma(size, 0.5, 0.5 * _hypotenuse(x))), _LN_2, _LN_2)
    near = x * polynomial(x * x, _ASINH)
    return tl.where(size < 0.2, near, tl.where(x < 0, -far, far))


@triton.jit
def asinh_slope(x):
    return inverse(_hypotenuse(x))


@triton.jit
def atan(x):
    size = tl.abs(x)
    beyond = size > 1
    w = tl.where(beyond, inverse(size), size)
    inner = w * polynomial(w * w, _ATAN)
    y = tl.where(beyond, _HALF_PI - inner, inner)
    return tl.where(x < 0, -y, y)


@triton.jit
def atan_slope(x):
    return inverse(tl.fma(x, x, 1.0))

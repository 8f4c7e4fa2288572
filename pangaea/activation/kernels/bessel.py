"""exp(−|x|)·I₀ and exp(−|x|)·I₁ with their slopes, in Triton.

Up to the joint a polynomial in x² times exp(−|x|), beyond it one in 1/|x| times a power of it: 20
instructions instead of the 40 of one long polynomial.
"""
# mypy: disable-error-code="no-untyped-def, no-untyped-call, untyped-decorator, no-any-return"

import math
from collections.abc import Callable

import triton
import triton.language as tl

from pangaea.activation.kernels.functions import fit, polynomial, sign, tail
from pangaea.functions import scalar

_JOINT = tl.constexpr(5.0)


def _near(order: int) -> Callable[[float], float]:
    """I₀, or I₁ over x, by x²."""

    def value(square: float) -> float:
        x = math.sqrt(max(square, 1e-20))
        return math.exp(x) * scalar.bessel(order, x) / x**order

    return value


def _far(
    exact: Callable[[int, float], float], order: int, power: float
) -> Callable[[float], float]:
    """The function by 1/x, without its leading power."""

    def value(inverse: float) -> float:
        x = 1 / max(inverse, 1e-9)
        return exact(order, x) * x**power

    return value


_I0 = fit(_near(0), 7, 0, 25)
_I1 = fit(_near(1), 7, 0, 25)
_I0_FAR = fit(_far(scalar.bessel, 0, 0.5), 5, 0, 0.2)
_I1_FAR = fit(_far(scalar.bessel, 1, 0.5), 5, 0, 0.2)
_I0_SLOPE_FAR = fit(_far(scalar.bessel_slope, 0, 1.5), 7, 0, 0.2)
_I1_SLOPE_FAR = fit(_far(scalar.bessel_slope, 1, 1.5), 7, 0, 0.2)


@triton.jit
def _far_value(x, COEFFICIENTS: tl.constexpr):  # noqa: N803
    root = tl.rsqrt(tl.abs(x))
    return root * polynomial(root * root, COEFFICIENTS)


@triton.jit
def _far_slope(x, COEFFICIENTS: tl.constexpr):  # noqa: N803
    root = tl.rsqrt(tl.abs(x))
    inverse = root * root
    return root * inverse * polynomial(inverse, COEFFICIENTS)


@triton.jit
def i0e(x):
    size = tl.abs(x)
    near = tail(x) * polynomial(x * x, _I0)
    return tl.where(size > _JOINT, _far_value(x, _I0_FAR), near)


@triton.jit
def i1e(x):
    size = tl.abs(x)
    near = tail(x) * (x * polynomial(x * x, _I1))
    return tl.where(size > _JOINT, sign(x) * _far_value(x, _I1_FAR), near)


@triton.jit
def i0e_slope(x):
    size = tl.abs(x)
    near = tail(x) * (size * polynomial(x * x, _I1) - polynomial(x * x, _I0))
    return sign(x) * tl.where(size > _JOINT, _far_slope(x, _I0_SLOPE_FAR), near)


@triton.jit
def i1e_slope(x):
    size = tl.abs(x)
    near = tail(x) * (polynomial(x * x, _I0) - (size + 1) * polynomial(x * x, _I1))
    return tl.where(size > _JOINT, _far_slope(x, _I1_SLOPE_FAR), near)

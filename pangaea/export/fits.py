"""Bessel functions as polynomials in float32, for those who have elementary operations alone."""

import math
from collections.abc import Callable

JOINT = 6.0
# Within 3e-7 of the truth, relative to it: higher degrees come no closer in float32.
_NEAR, _FAR = 8, 6


def near(order: int) -> list[float]:
    """I₀, or I₁ over x, by x², up to the joint: highest power first."""
    from pangaea.functions.scalar import bessel

    def value(square: float) -> float:
        x = math.sqrt(max(square, 1e-20))
        return math.exp(x) * bessel(order, x) / x**order

    return _fit(value, _NEAR, 0, JOINT**2)


def far(order: int) -> list[float]:
    """√x·exp(−x)·I(x) by 1/x, beyond the joint: highest power first."""
    from pangaea.functions.scalar import bessel

    def value(inverse: float) -> float:
        x = 1 / max(inverse, 1e-9)
        return bessel(order, x) * math.sqrt(x)

    return _fit(value, _FAR, 0, 1 / JOINT)


def _fit(function: Callable[[float], float], degree: int, low: float, high: float) -> list[float]:
    import numpy as np
    from numpy.polynomial import Chebyshev, Polynomial

    values = np.vectorize(function, otypes=[np.float64])
    close = Chebyshev.interpolate(values, degree, domain=[low, high])
    return [float(f"{c:.10g}") for c in close.convert(kind=Polynomial).coef[::-1]]

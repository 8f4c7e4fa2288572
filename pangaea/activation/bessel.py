"""exp(−|x|)·I₀ and exp(−|x|)·I₁ in torch, with slopes that keep their digits.

torch computes i0e one element at a time on the CPU (3.3 ms for 64,000 of them, 13 times its i1e),
and the textbook slope i1e − i0e loses all digits as x grows. In float32 both are polynomials
fitted to the scalar truth here; in float64 the slope beyond 30 is the asymptotic series.
"""

import math
from collections.abc import Callable
from functools import cache, reduce
from typing import NamedTuple

import numpy as np
import torch
from numpy.polynomial import chebyshev
from torch import Tensor

from pangaea.functions import scalar

_JOINT = 8.0


def i0e(x: Tensor) -> Tensor:
    return _fitted(x, "i0e") if x.dtype == torch.float32 else torch.special.i0e(x)


def i1e(x: Tensor) -> Tensor:
    """Torch's own, but in an exported program elementary operations: ONNX has no other."""
    if x.dtype == torch.float32 and torch.compiler.is_exporting():
        return x * _fitted(x, "i1e_over_x")
    value: Tensor = torch.special.i1e(x)
    return value


def i0e_slope(x: Tensor) -> Tensor:
    return _slope(x, 0) * x.sign()


def i1e_slope(x: Tensor) -> Tensor:
    return _slope(x, 1)


def _slope(x: Tensor, order: int) -> Tensor:
    """The slope at |x|."""
    if x.dtype == torch.float32:
        return _fitted(x, ("i0e_slope", "i1e_slope")[order])
    size = x.abs()
    near = size.clamp_max(30)
    i0, i1 = torch.special.i0e(near), torch.special.i1e(near)
    if order == 0:
        near_slope = i1 - i0
    else:
        over_x = torch.where(near == 0, 0.5, i1 / torch.where(near == 0, 1.0, near))
        near_slope = i0 - i1 - over_x
    inverse = 1 / size.clamp_min(30)
    series = [-(k + 0.5) * c for k, c in enumerate(scalar.asymptotic(order))]
    far_slope = _polynomial(series, inverse) * inverse * torch.sqrt(inverse)
    return torch.where(size > 30, far_slope, near_slope)


class _Exact(NamedTuple):
    """A function of |x| to fit, and how often it falls with 1/√x: once, or three times."""

    value: Callable[[float], float]
    steep: bool = True


_EXACT = {
    "i0e": _Exact(lambda x: scalar.bessel(0, x), steep=False),
    "i1e_over_x": _Exact(lambda x: scalar.bessel(1, x) / x if x else 0.5),
    "i0e_slope": _Exact(lambda x: scalar.bessel_slope(0, x)),
    "i1e_slope": _Exact(lambda x: scalar.bessel_slope(1, x)),
}


def _fitted(x: Tensor, name: str) -> Tensor:
    near, far = fits(name)
    size = x.abs()
    inverse = _JOINT / size.clamp_min(_JOINT)
    scale = torch.sqrt(inverse) * (inverse if _EXACT[name].steep else 1)
    outer = _polynomial(far, 2 * inverse - 1) * scale
    inner = _polynomial(near, size.clamp_max(_JOINT) * (2 / _JOINT) - 1)
    return torch.where(size > _JOINT, outer, inner)


def _polynomial(coefficients: list[float], t: Tensor) -> Tensor:
    first, *rest = reversed(coefficients)
    return reduce(lambda total, c: total * t + c, rest, torch.full_like(t, first))


@cache
def fits(name: str) -> tuple[list[float], list[float]]:
    """Polynomials on [0, 8], and on [8, ∞) in 8/x with the leading power of x taken out."""
    exact, steep = _EXACT[name]

    def near(t: float) -> float:
        return exact(_JOINT * (t + 1) / 2)

    def far(t: float) -> float:
        inverse = max((t + 1) / 2, 1e-9)
        return exact(_JOINT / inverse) / (math.sqrt(inverse) * (inverse if steep else 1))

    return _fit(near, 22), _fit(far, 10)


def _fit(function: Callable[[float], float], degree: int) -> list[float]:
    values = np.vectorize(function, otypes=[np.float64])
    return [float(c) for c in chebyshev.cheb2poly(chebyshev.chebinterpolate(values, degree))]

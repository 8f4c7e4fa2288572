"""The polynomials of the CPU's kernels, as a header in C: fitted here, so that no number is typed.

Each is within 3e-8 of its function, half a unit in the last place; those for powers, in float64,
within 1e-10.
"""

import math
from collections.abc import Callable, Sequence

import numpy as np
from numpy.polynomial import Chebyshev, Polynomial

from pangaea.activation.bessel import fits

Scalar = Callable[[float], float]


def header() -> str:
    """`static inline float p_exp(float t)`, and the others."""
    single = {name: _fit(*row) for name, row in _SINGLE.items()}
    for name in ("i0e", "i1e", "i0e_slope", "i1e_slope"):
        near, far = fits("i1e_over_x" if name == "i1e" else name)
        single |= {f"{name}_near": near, f"{name}_far": far}
    double = {name: _fit(*row) for name, row in _DOUBLE.items()}
    texts = [_function(name, c, "float", "f") for name, c in single.items()]
    texts += [_function(name, c, "double", "") for name, c in double.items()]
    return "".join(texts)


def _odd(function: Scalar) -> Scalar:
    """An odd function over x, by x²."""

    def value(square: float) -> float:
        x = math.sqrt(max(square, 1e-20))
        return function(x) / x

    return value


def _log_rest(f: float) -> float:
    """(log(1 + f) − f + f²/2) / f³, by its series where the difference would have no digits."""
    if abs(f) > 0.05:
        return (math.log1p(f) - f + f * f / 2) / f**3
    return sum((-f) ** k / (k + 3) for k in range(14))


def _exp_rest(r: float) -> float:
    """(exp(r) − 1 − r) / r²."""
    return sum(r**k / math.factorial(k + 2) for k in range(16))


def _scaled_erfc(x: float) -> float:
    """exp(x²)·erfc(x); by its asymptotic series where the first factor would overflow."""
    if x < 20:
        return math.exp(x * x) * math.erfc(x)
    s = 0.5 / (x * x)
    return (1 - s + 3 * s**2 - 15 * s**3 + 105 * s**4) / (x * math.sqrt(math.pi))


# By its name: the function, the degree, and from where to where.
_SINGLE: dict[str, tuple[Scalar, int, float, float]] = {
    "exp": (_exp_rest, 4, -0.35, 0.35),
    "log": (_log_rest, 8, -0.293, 0.4143),
    "log1p": (lambda t: math.log1p(t) / t, 10, 1e-9, 1),
    "sinh": (_odd(math.sinh), 4, 0, 1),
    "erf": (_odd(math.erf), 7, 0, 1),
    "atan": (_odd(math.atan), 10, 0, 1),
    # exp(x²)·erfc(x) by t = 1/(1 + 0.4·x), which takes [0, ∞) to (0, 1], over t.
    "erfc": (lambda t: _scaled_erfc((1 / t - 1) / 0.4) / t, 11, 1e-9, 1),
}
_DOUBLE: dict[str, tuple[Scalar, int, float, float]] = {
    # log₂(m) by s = (m − 1)/(m + 1), over s, by s².
    "log2": (_odd(lambda s: 2 * math.atanh(s) / math.log(2)), 6, 0, 0.0295),
    "exp2": (lambda t: 2.0**t, 8, -0.5, 0.5),
}


def _fit(function: Scalar, degree: int, low: float, high: float) -> Sequence[float]:
    """Coefficients, lowest power first, of a polynomial that follows the function closely."""
    values = np.vectorize(function, otypes=[np.float64])
    close = Chebyshev.interpolate(values, degree, domain=[low, high])
    return [float(c) for c in close.convert(kind=Polynomial).coef]


def _function(name: str, coefficients: Sequence[float], kind: str, suffix: str) -> str:
    """A polynomial by Horner's rule."""
    rounded = [float(np.float32(c)) if suffix else c for c in coefficients]
    numbers = [c.hex() + suffix for c in rounded]
    text = numbers[-1]
    for number in reversed(numbers[:-1]):
        text = f"__builtin_fma{suffix}({text}, t, {number})"
    return f"static inline {kind} p_{name}({kind} t) {{ return {text}; }}\n"

"""Real functions on plain floats that never raise: overflow is infinity, an undefined value NaN.

This is the float64 truth that every backend is held to, so it favours exactness over speed.
"""

import math

SELU_SCALE = 1.0507009873554805
SELU_ALPHA = 1.6732632423543772
GELU_SCALE = math.sqrt(2 / math.pi)
GELU_CUBIC = 0.044715


def exp(x: float) -> float:
    try:
        return math.exp(x)
    except OverflowError:
        return math.inf


def expm1(x: float) -> float:
    try:
        return math.expm1(x)
    except OverflowError:
        return math.inf


def sinh(x: float) -> float:
    try:
        return math.sinh(x)
    except OverflowError:
        return math.copysign(math.inf, x)


def cosh(x: float) -> float:
    try:
        return math.cosh(x)
    except OverflowError:
        return math.inf


def sign(x: float) -> float:
    return x if x == 0 or math.isnan(x) else math.copysign(1.0, x)


def sech2(x: float) -> float:
    """1 − tanh², without the cancellation."""
    t = exp(-2 * abs(x))
    return 4 * t / (1 + t) ** 2


def gauss(x: float) -> float:
    """2/√π · exp(−x²), with x² in two parts: rounding it would cost x² units in the last place."""
    x = min(max(x, -40.0), 40.0)  # beyond, it is zero
    high = round(x * 2**20) / 2**20 if x == x else x
    return 2 / math.sqrt(math.pi) * math.exp(-high * high) * math.exp((high - x) * (high + x))


def sigmoid(x: float) -> float:
    if x >= 0:
        return 1 / (1 + math.exp(-x))
    t = math.exp(x)
    return t / (1 + t)


def sigmoid_slope(x: float) -> float:
    return sigmoid(x) * sigmoid(-x)


def softplus(x: float) -> float:
    return max(x, 0.0) + math.log1p(math.exp(-abs(x))) if x == x else x


def elu(x: float) -> float:
    return x if x >= 0 else math.expm1(x)


def elu_slope(x: float) -> float:
    return 1.0 if x >= 0 else math.exp(x)


def selu(x: float) -> float:
    return SELU_SCALE * (x if x >= 0 else SELU_ALPHA * math.expm1(x))


def selu_slope(x: float) -> float:
    return SELU_SCALE * (1.0 if x >= 0 else SELU_ALPHA * math.exp(x))


def swish(x: float) -> float:
    return 0.0 if x == -math.inf else x * sigmoid(x)


def swish_slope(x: float) -> float:
    if math.isinf(x):
        return 1.0 if x > 0 else 0.0
    return sigmoid(x) * (1 + x * sigmoid(-x))


def softsign(x: float) -> float:
    return math.copysign(1.0, x) if math.isinf(x) else x / (1 + abs(x))


def softsign_slope(x: float) -> float:
    inverse = 1 / (1 + abs(x))
    return inverse * inverse


def hard_sigmoid(x: float) -> float:
    """TensorFlow's: slope 0.2, so it saturates at ±2.5."""
    return min(1.0, max(0.0, 0.2 * (x + 2.5))) if x == x else x


def hard_sigmoid_slope(x: float) -> float:
    return 0.2 if -2.5 <= x <= 2.5 else 0.0 if x == x else x


def divide(a: float, b: float) -> float:
    """TensorFlow's divide_no_nan: 0 where the divisor is 0."""
    return a / b if b != 0 else 0.0


def power(a: float, b: float) -> float:
    """C's pow, as in TensorFlow: NaN for a negative base with a fractional exponent."""
    try:
        return math.pow(a, b)
    except OverflowError:
        return -math.inf if a < 0 and b % 2 == 1 else math.inf
    except ValueError:
        if a != 0:
            return math.nan
        return math.copysign(math.inf, a) if b % 2 == 1 else math.inf


def power_slopes(a: float, b: float) -> tuple[float, float]:
    """TensorFlow's: the exponent has no slope where the base is not positive."""
    base = 0.0 if b == 0 else b * power(a, b - 1)
    exponent = power(a, b) * math.log(a) if a > 0 else 0.0 * a
    return base, exponent


def maximum(a: float, b: float) -> float:
    return math.nan if a != a or b != b else max(a, b)


def minimum(a: float, b: float) -> float:
    return math.nan if a != a or b != b else min(a, b)


def bessel(order: int, x: float) -> float:
    """exp(−|x|)·I(x) of order 0 or 1: its power series, or beyond 30 the asymptotic one."""
    size = abs(x)
    if size > 30:
        total = sum(c * size**-k for k, c in enumerate(asymptotic(order))) / math.sqrt(size)
    else:
        quarter = size * size / 4
        term = total = (size / 2) ** order
        k = 1
        while term > total * 1e-18:
            term *= quarter / (k * (k + order))
            total += term
            k += 1
        total *= math.exp(-size)
    return -total if order == 1 and x < 0 else total if x == x else x


def bessel_slope(order: int, x: float) -> float:
    size = abs(x)
    if size > 30:
        # The two terms below would cancel; the series is differentiated instead.
        series = asymptotic(order)
        total = sum(-(k + 0.5) * c * size ** -(k + 1) for k, c in enumerate(series))
        return total / math.sqrt(size) * (sign(x) if order == 0 else 1.0)
    if order == 0:
        return bessel(1, x) - sign(x) * bessel(0, x)
    over_x = bessel(1, x) / x if size > 1e-150 else 0.5
    return bessel(0, x) - abs(bessel(1, x)) - over_x


def asymptotic(order: int) -> list[float]:
    """The coefficients of √x·exp(−x)·I(x) in powers of 1/x."""
    series = [1 / math.sqrt(2 * math.pi)]
    for k in range(1, 20):
        series.append(series[-1] * ((2 * k - 1) ** 2 - 4 * order) / (8 * k))
    return series


def elish(x: float) -> float:
    return swish(x) if x >= 0 else math.expm1(x) * sigmoid(x)


def elish_slope(x: float) -> float:
    if x >= 0:
        return swish_slope(x)
    return sigmoid(x) * (math.exp(x) + math.expm1(x) * sigmoid(-x))


def gelu(x: float) -> float:
    """The tanh form, written with a sigmoid: 1 + tanh(u) = 2σ(2u) does not cancel."""
    v = min(max(x, -50.0), 50.0)
    return 0.0 if x == -math.inf else x * sigmoid(2 * GELU_SCALE * (v + GELU_CUBIC * v**3))


def gelu_slope(x: float) -> float:
    v = min(max(x, -50.0), 50.0)
    u = 2 * GELU_SCALE * (v + GELU_CUBIC * v**3)
    return sigmoid(u) + v * sigmoid_slope(u) * 2 * GELU_SCALE * (1 + 3 * GELU_CUBIC * v * v)


def mish(x: float) -> float:
    t = math.exp(-abs(x))
    if x >= 0:
        return x * ((1 + 2 * t) / (1 + 2 * t + 2 * t * t))
    return 0.0 if x == -math.inf else x * (t * (t + 2) / (t * (t + 2) + 2))


def mish_slope(x: float) -> float:
    v = min(max(x, -800.0), 800.0)
    t = math.exp(-abs(v))
    if x >= 0:
        s = (1 + t) ** 2 + t * t
        return (1 + 2 * t) / s + v * 4 * (1 + t) * t * t / (s * s)
    s = (1 + t) ** 2 + 1
    return t * (t + 2) / s + v * 4 * (1 + t) * t / (s * s)

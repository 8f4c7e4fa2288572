"""NumPy: a function, and its derivatives by x and by each parameter."""

import re
from collections.abc import Iterator, Sequence

from pangaea.export.request import Request
from pangaea.export.writing import (
    SIGNS,
    calls,
    expression,
    gradients,
    python_arguments,
    python_function,
    python_source,
    shaped,
    used,
)
from pangaea.functions.learnable import steps_of
from pangaea.functions.operators import ATOM, POWER, Notation

OPERATORS: dict[str, Notation] = {
    **SIGNS,
    "square": Notation("%s**2", POWER, (ATOM,)),
    **calls(
        {
            "zero": "np.zeros_like",
            "one": "np.ones_like",
            "abs": "np.abs",
            "reciprocal": "reciprocal",
            "exp": "np.exp",
            "erf": "erf",
            "erfc": "erfc",
            "sinh": "np.sinh",
            "cosh": "np.cosh",
            "tanh": "np.tanh",
            "expm1": "np.expm1",
            "sigmoid": "sigmoid",
            "logsigmoid": "log_sigmoid",
            "asinh": "np.arcsinh",
            "atan": "np.arctan",
            "bessel_i0e": "bessel_i0e",
            "bessel_i1e": "bessel_i1e",
            "relu": "relu",
            "elu": "elu",
            "selu": "selu",
            "swish": "swish",
            "softplus": "softplus",
            "softsign": "softsign",
            "div": "divide",
            "pow": "np.power",
            "max": "np.maximum",
            "min": "np.minimum",
            "elish": "elish",
            "gelu": "gelu",
            "leaky_relu": "leaky_relu",
            "mish": "mish",
        }
    ),
    "hard_sigmoid": Notation("np.clip(0.2 * %s + 0.5, 0, 1)", ATOM, (POWER,)),
}

# By each input; 0 where it has no say.
SLOPES: dict[str, tuple[str, ...]] = {
    "zero": ("0",),
    "one": ("0",),
    "identity": ("1",),
    "negative": ("-1",),
    "abs": ("np.sign({a})",),
    "reciprocal": ("reciprocal_slope({a})",),
    "square": ("(2 * {a})",),
    "exp": ("np.exp({a})",),
    "erf": ("gauss({a})",),
    "erfc": ("-gauss({a})",),
    "sinh": ("np.cosh({a})",),
    "cosh": ("np.sinh({a})",),
    "tanh": ("tanh_slope({a})",),
    "expm1": ("np.exp({a})",),
    "sigmoid": ("sigmoid_slope({a})",),
    "logsigmoid": ("sigmoid(-{a})",),
    "asinh": ("(1 / np.hypot(1, {a}))",),
    "atan": ("(1 / (1 + {a}**2))",),
    "bessel_i0e": ("bessel_i0e_slope({a})",),
    "bessel_i1e": ("bessel_i1e_slope({a})",),
    "relu": ("np.heaviside({a}, 0)",),
    "elu": ("np.exp(np.minimum({a}, 0))",),
    "selu": ("selu_slope({a})",),
    "swish": ("swish_slope({a})",),
    "softplus": ("sigmoid({a})",),
    "softsign": ("((1 + np.abs({a})) ** -2.0)",),
    "hard_sigmoid": ("(0.2 * (np.abs({a}) <= 2.5))",),
    "add": ("1", "1"),
    "sub": ("1", "-1"),
    "mul": ("{b}", "{a}"),
    "div": ("reciprocal({b})", "({a} * reciprocal_slope({b}))"),
    "pow": ("power_slope({a}, {b})", "power_exponent_slope({a}, {b})"),
    "max": ("np.where({a} >= {b}, 1.0, 0.0)", "np.where({a} < {b}, 1.0, 0.0)"),
    "min": ("np.where({a} <= {b}, 1.0, 0.0)", "np.where({a} > {b}, 1.0, 0.0)"),
    "elish": ("elish_slope({a})",),
    "gelu": ("gelu_slope({a})",),
    "leaky_relu": ("np.where({a} > 0, 1.0, 0.01)",),
    "mish": ("mish_slope({a})",),
}

DEFINITIONS = {
    "reciprocal": '''
def reciprocal(x):
    """1 / x, and 0 where x is 0."""
    return divide(1.0, x)
''',
    "reciprocal_slope": """
def reciprocal_slope(x):
    return -(reciprocal(x) ** 2)
""",
    "divide": '''
def divide(a, b):
    """a / b, and 0 where b is 0."""
    zero = b == 0
    return np.where(zero, 0.0, a / np.where(zero, 1.0, b))
''',
    "power_slope": """
def power_slope(a, b):
    return np.where(b == 0, 0.0, b * np.power(a, b - 1))
""",
    "power_exponent_slope": '''
def power_exponent_slope(a, b):
    """The exponent has no slope where the base is not positive."""
    positive = np.where(a > 0, a, 1.0)
    return np.power(positive, b) * np.log(positive)
''',
    "erf": """
def erf(x):
    return np.vectorize(math.erf, otypes=[float])(x)
""",
    "erfc": """
def erfc(x):
    return np.vectorize(math.erfc, otypes=[float])(x)
""",
    "gauss": '''
def gauss(x):
    """The slope of erf."""
    return 2 / math.sqrt(math.pi) * np.exp(-np.square(x))
''',
    "tanh_slope": '''
def tanh_slope(x):
    """1 - tanh(x)**2, without the cancellation."""
    t = np.exp(-2 * np.abs(x))
    return 4 * t / (1 + t) ** 2
''',
    "softplus": """
def softplus(x):
    return np.maximum(x, 0) + np.log1p(np.exp(-np.abs(x)))
""",
    "log_sigmoid": """
def log_sigmoid(x):
    return np.minimum(x, 0) - np.log1p(np.exp(-np.abs(x)))
""",
    "swish": """
def swish(x):
    return x * sigmoid(x)
""",
    "swish_slope": """
def swish_slope(x):
    return sigmoid(x) * (1 + x * sigmoid(-x))
""",
    "sigmoid_slope": """
def sigmoid_slope(x):
    return sigmoid(x) * sigmoid(-x)
""",
    "relu": """
def relu(x):
    return np.maximum(x, 0)
""",
    "elu": """
def elu(x):
    return np.where(x >= 0, x, np.expm1(np.minimum(x, 0)))
""",
    "selu": """
def selu(x):
    return 1.0507009873554805 * np.where(x >= 0, x, 1.6732632423543772 * np.expm1(np.minimum(x, 0)))
""",
    "selu_slope": """
def selu_slope(x):
    return 1.0507009873554805 * np.where(x >= 0, 1, 1.6732632423543772 * np.exp(np.minimum(x, 0)))
""",
    "softsign": """
def softsign(x):
    return x / (1 + np.abs(x))
""",
    "leaky_relu": """
def leaky_relu(x):
    return np.where(x > 0, x, 0.01 * x)
""",
    "elish": """
def elish(x):
    return np.where(x >= 0, x, np.expm1(np.minimum(x, 0))) * sigmoid(x)
""",
    "elish_slope": """
def elish_slope(x):
    low = np.minimum(x, 0)
    below = sigmoid(low) * (np.exp(low) + np.expm1(low) * sigmoid(-low))
    return np.where(x >= 0, sigmoid(x) * (1 + x * sigmoid(-x)), below)
""",
    "gelu": '''
def gelu(x):
    """The tanh form, as a sigmoid: it keeps its digits in the tail."""
    v = np.clip(x, -50, 50)
    return x * sigmoid(1.5957691216057308 * (v + 0.044715 * v**3))
''',
    "gelu_slope": """
def gelu_slope(x):
    v = np.clip(x, -50, 50)
    u = 1.5957691216057308 * (v + 0.044715 * v**3)
    du = 1.5957691216057308 * (1 + 0.134145 * v**2)
    return sigmoid(u) * (1 + v * sigmoid(-u) * du)
""",
    "mish": '''
def mish(x):
    """x * tanh(softplus(x)), by exp(-|x|) alone."""
    t = np.exp(-np.abs(x))
    above, below = (1 + 2 * t) / (1 + 2 * t + 2 * t**2), t * (t + 2) / (t * (t + 2) + 2)
    return x * np.where(x >= 0, above, below)
''',
    "mish_slope": """
def mish_slope(x):
    t = np.exp(-np.abs(x))
    s = (1 + t) ** 2 + np.where(x >= 0, t, 1) ** 2
    share = np.where(x >= 0, 1 + 2 * t, t * (t + 2)) / s
    return share + np.clip(x, -800, 800) * 4 * (1 + t) * t * np.where(x >= 0, t, 1) / s**2
""",
    "sigmoid": """
def sigmoid(x):
    t = np.exp(-np.abs(x))
    return np.where(x >= 0, 1, t) / (1 + t)
""",
    "bessel_i0e": """
def bessel_i0e(x):
    return bessel(0, x)
""",
    "bessel_i1e": """
def bessel_i1e(x):
    return np.sign(x) * bessel(1, x)
""",
    "bessel_i0e_slope": """
def bessel_i0e_slope(x):
    return np.sign(x) * (bessel(1, x) - bessel(0, x))
""",
    "bessel_i1e_slope": """
def bessel_i1e_slope(x):
    size = np.abs(x)
    over_x = np.where(size == 0, 0.5, bessel(1, x) / np.where(size == 0, 1, size))
    return bessel(0, x) - bessel(1, x) - over_x
""",
    "bessel": '''
def bessel(order, x):
    """exp(-|x|) * I(|x|) of order 0 or 1: its power series, beyond 30 the asymptotic one."""
    size = np.abs(x)
    near, far = np.minimum(size, 30), np.maximum(size, 30)
    term = total = (near / 2) ** order
    for k in range(1, 80):
        term = term * (near / 2) ** 2 / (k * (k + order))
        total = total + term
    rest = series = 1 / np.sqrt(2 * np.pi * far)
    for k in range(1, 20):
        rest = rest * ((2 * k - 1) ** 2 - 4 * order) / (8 * k) / far
        series = series + rest
    return np.where(size > 30, series, total * np.exp(-near))
''',
}


def _vary(lines: Sequence[tuple[str, str]], slopes: Sequence[str]) -> Iterator[bool]:
    """Which slopes depend on x, be it through the lines before them?"""
    varying = {"x"}
    for name, text in lines:
        if varying & {*re.findall(r"\w+", text)}:
            varying.add(name)
    return (bool(varying & {*re.findall(r"\w+", text)}) for text in slopes)


def export(request: Request) -> str:
    function, values = request.function, request.values
    name = request.identifier({*DEFINITIONS, "np", "math", "abs"})
    arguments = python_arguments(values)
    steps = steps_of(function)
    shared, result = expression(steps, OPERATORS, function.parameters)
    value = python_function(f"{name}({arguments})", function.readable(), shared, result)
    lines, slopes = gradients(steps, OPERATORS, SLOPES, function.parameters)
    # A slope that is the same everywhere has the shape of x all the same.
    slopes = [
        text if varies else f"({text}) * np.ones_like(x)"
        for text, varies in zip(slopes, _vary(lines, slopes), strict=True)
    ]
    names = ("x", *function.parameters)
    lines += [(f"by_{of}", text) for of, text in zip(names, slopes, strict=True)]
    derivative = python_function(
        f"{name}_gradient({arguments})",
        f"The derivatives of {name} by {', '.join(names)}, element by element.",
        lines,
        ", ".join(f"by_{of}" for of in names),
    )
    needed = used(value + derivative, DEFINITIONS)
    standard = "import math\n\n" if "math." in "".join(needed) else ""
    arrays = "".join(f"\n\n{line}" for line in shaped(values, "np.array(%s)"))
    head = f'"""{function.readable()}"""\n\n{standard}import numpy as np{arrays}'
    return python_source(head, needed, value, derivative)

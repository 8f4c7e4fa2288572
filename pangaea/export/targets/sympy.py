"""SymPy: the expression over real symbols, as Python source."""

import re

from pangaea.export.request import Request
from pangaea.export.writing import SIGNS, calls, expression, python_source, used
from pangaea.functions.learnable import steps_of
from pangaea.functions.operators import ATOM, POWER, SUM, Notation

OPERATORS: dict[str, Notation] = {
    **SIGNS,
    "zero": Notation("Integer(0)", ATOM, (ATOM,)),
    "one": Notation("Integer(1)", ATOM, (ATOM,)),
    "square": Notation("%s**2", POWER, (ATOM,)),
    "pow": Notation("%s**%s", POWER, (ATOM, ATOM)),
    **calls(
        {
            "abs": "Abs",
            "reciprocal": "reciprocal",
            "exp": "exp",
            "erf": "erf",
            "erfc": "erfc",
            "sinh": "sinh",
            "cosh": "cosh",
            "tanh": "tanh",
            "sigmoid": "sigmoid",
            "logsigmoid": "log_sigmoid",
            "asinh": "asinh",
            "atan": "atan",
            "bessel_i0e": "bessel_i0e",
            "bessel_i1e": "bessel_i1e",
            "elu": "elu",
            "selu": "selu",
            "swish": "swish",
            "softplus": "softplus",
            "softsign": "softsign",
            "hard_sigmoid": "hard_sigmoid",
            "div": "divide",
            "max": "Max",
            "min": "Min",
            "elish": "elish",
            "gelu": "gelu",
            "leaky_relu": "leaky_relu",
            "mish": "mish",
        }
    ),
    "relu": Notation("Max(%s, 0)", ATOM, (SUM,)),
    "expm1": Notation("exp(%s) - 1", SUM, (SUM,)),
}

_BODIES = {
    "divide": ("a, b", "Piecewise((0, Eq(b, 0)), (a / b, True))"),
    "reciprocal": ("x", "divide(1, x)"),
    "swish": ("x", "x * sigmoid(x)"),
    "sigmoid": ("x", "1 / (1 + exp(-x))"),
    "log_sigmoid": ("x", "-softplus(-x)"),
    "mish": ("x", "x * tanh(softplus(x))"),
    "softplus": ("x", "log(1 + exp(x))"),
    "bessel_i0e": ("x", "exp(-Abs(x)) * besseli(0, x)"),
    "bessel_i1e": ("x", "exp(-Abs(x)) * besseli(1, x)"),
    "selu": (
        "x",
        "1.0507009873554805 * Piecewise((x, x >= 0), (1.6732632423543772 * (exp(x) - 1), True))",
    ),
    "elish": ("x", "elu(x) / (1 + exp(-x))"),
    "elu": ("x", "Piecewise((x, x >= 0), (exp(x) - 1, True))"),
    "softsign": ("x", "x / (1 + Abs(x))"),
    "hard_sigmoid": ("x", "Max(0, Min(1, x / 5 + Rational(1, 2)))"),
    "gelu": ("x", "x / 2 * (1 + tanh(sqrt(2 / pi) * (x + Rational(44715, 10**6) * x**3)))"),
    "leaky_relu": ("x", "Piecewise((x, x >= 0), (x / 100, True))"),
}
DEFINITIONS = {
    name: f"def {name}({arguments}):\n    return {body}\n"
    for name, (arguments, body) in _BODIES.items()
}
_IMPORTED = re.findall(
    r"\w+",
    "Abs Eq Integer Max Min Piecewise Rational asinh atan besseli cosh erf erfc exp log pi sinh "
    "sqrt symbols tanh",
)


def export(request: Request) -> str:
    function = request.function
    names = " ".join(("x", *function.parameters))
    shared, result = expression(steps_of(function), OPERATORS, function.parameters)
    left = names.replace(" ", ", ")
    lines = [f'{left} = symbols("{names}", real=True)']
    lines += [f"{local} = {text}" for local, text in shared] + [f"expression = {result}"]
    if request.given and not request.values.shape:
        numbers = ", ".join(f"{name}: {value!r}" for name, value in request.values.numbers.items())
        lines.append(f"with_values = expression.subs({{{numbers}}})")
    body = "\n".join(lines)
    needed = used(body, DEFINITIONS)
    words = set(re.findall(r"\w+", body + "".join(needed)))
    imports = ", ".join(name for name in _IMPORTED if name in words)
    return python_source(
        f'"""{function.readable()}"""\n\nfrom sympy import {imports}', needed, body
    )

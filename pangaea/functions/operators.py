"""The operator table: one operator, one row (paper, Table 1).

A row holds all that is known of an operator in plain Python: how it is written, its value, its
slope, and for a binary one the partner that makes it the identity when it is inserted. A backend
(torch, a kernel's source, …) is a second table over the same names.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

from pangaea.functions import scalar
from pangaea.functions.scalar import divide, exp

# How tightly a piece of text holds together: where a looser one stands, it needs parentheses.
# SCALED is a parameter times something, which binds to what follows it: a·β·b is a·(β·b).
SUM, NEGATIVE, PRODUCT, SCALED, POWER, ATOM = range(6)


@dataclass(frozen=True, slots=True)
class Notation:
    """How an operator is written: a template, how tightly it holds, and what its inputs need."""

    template: str
    level: int
    inputs: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Operator:
    name: str
    readable: Notation
    latex: Notation
    value: Callable[..., float]
    slopes: Callable[..., tuple[float, ...]]
    partner: str | None = None  # second input of an inserted binary operator

    @property
    def arity(self) -> int:
        return 1 if self.partner is None else 2

    def formula(self) -> str:
        """As people write it: `tanh(x)`, `x₁ + x₂`."""
        return self._filled(self.readable, ("x₁", "x₂"))

    def latex_formula(self) -> str:
        return self._filled(self.latex, ("x_1", "x_2"))

    def _filled(self, notation: Notation, pair: tuple[str, str]) -> str:
        inputs = ("x",) if self.arity == 1 else pair
        return notation.template % inputs[: notation.template.count("%s")]


def unary(
    name: str,
    value: Callable[[float], float],
    slope: Callable[[float], float],
    readable: Notation | str = "",
    latex: Notation | str = "",
) -> Operator:
    """A row for a unary operator; a notation given as text is the name of a call."""
    if isinstance(readable, str):
        readable = Notation((readable or name) + "(%s)", ATOM, (SUM,))
    if isinstance(latex, str):
        latex = Notation((latex or rf"\{name}") + "(%s)", ATOM, (SUM,))
    return Operator(
        name=name, readable=readable, latex=latex, value=value, slopes=lambda x: (slope(x),)
    )


def binary(
    name: str,
    value: Callable[[float, float], float],
    slopes: Callable[[float, float], tuple[float, float]],
    partner: str,
    readable: Notation,
    latex: Notation,
) -> Operator:
    return Operator(
        name=name, readable=readable, latex=latex, value=value, slopes=slopes, partner=partner
    )


def _constant(text: str) -> Notation:
    return Notation(text, ATOM, (SUM,))


_UNARY = (
    unary("zero", lambda x: 0.0, lambda x: 0.0, _constant("0"), _constant("0")),
    unary("one", lambda x: 1.0, lambda x: 0.0, _constant("1"), _constant("1")),
    unary(
        "identity",
        lambda x: x,
        lambda x: 1.0,
        Notation("%s", ATOM, (ATOM,)),
        Notation("%s", ATOM, (ATOM,)),
    ),
    unary(
        "negative",
        lambda x: -x,
        lambda x: -1.0,
        Notation("−%s", NEGATIVE, (PRODUCT,)),
        Notation("-%s", NEGATIVE, (PRODUCT,)),
    ),
    unary(
        "abs",
        abs,
        scalar.sign,
        Notation("|%s|", ATOM, (SUM,)),
        Notation(r"\left|%s\right|", ATOM, (SUM,)),
    ),
    unary(
        "reciprocal",
        lambda x: divide(1.0, x),
        lambda x: -divide(divide(1.0, x), x),
        Notation("1/%s", PRODUCT, (POWER,)),
        Notation(r"\frac{1}{%s}", ATOM, (SUM,)),
    ),
    unary(
        "square",
        lambda x: x * x,
        lambda x: 2 * x,
        Notation("%s^2", POWER, (ATOM,)),
        Notation("{%s}^2", POWER, (ATOM,)),
    ),
    unary("exp", exp, exp, "exp", Notation("e^{%s}", POWER, (SUM,))),
    unary("erf", math.erf, scalar.gauss, "erf", r"\mathrm{erf}"),
    unary("erfc", math.erfc, lambda x: -scalar.gauss(x), "erfc", r"\mathrm{erfc}"),
    unary("sinh", scalar.sinh, scalar.cosh),
    unary("cosh", scalar.cosh, scalar.sinh),
    unary("tanh", math.tanh, scalar.sech2),
    unary(
        "expm1",
        scalar.expm1,
        exp,
        Notation("exp(%s) − 1", SUM, (SUM,)),
        Notation("e^{%s} - 1", SUM, (SUM,)),
    ),
    unary("sigmoid", scalar.sigmoid, scalar.sigmoid_slope, "σ", r"\sigma"),
    unary(
        "logsigmoid",
        lambda x: -scalar.softplus(-x),
        lambda x: scalar.sigmoid(-x),
        Notation("log(σ(%s))", ATOM, (SUM,)),
        Notation(r"\log(\sigma(%s))", ATOM, (SUM,)),
    ),
    unary("asinh", math.asinh, lambda x: 1 / math.hypot(1.0, x), "asinh", r"\mathrm{arcsinh}"),
    unary("atan", math.atan, lambda x: 1 / (1 + x * x), "atan", r"\arctan"),
    unary(
        "bessel_i0e",
        lambda x: scalar.bessel(0, x),
        lambda x: scalar.bessel_slope(0, x),
        "bessel_i0e",
        r"\mathrm{bessel\_i0e}",
    ),
    unary(
        "bessel_i1e",
        lambda x: scalar.bessel(1, x),
        lambda x: scalar.bessel_slope(1, x),
        "bessel_i1e",
        r"\mathrm{bessel\_i1e}",
    ),
    unary(
        "relu",
        lambda x: scalar.maximum(x, 0.0),
        lambda x: 1.0 if x > 0 else 0.0 if x == x else x,
        "relu",
        r"\mathrm{ReLU}",
    ),
    unary("elu", scalar.elu, scalar.elu_slope, "elu", r"\mathrm{ELU}"),
    unary("selu", scalar.selu, scalar.selu_slope, "selu", r"\mathrm{SELU}"),
    unary("swish", scalar.swish, scalar.swish_slope, "swish", r"\mathrm{Swish}"),
    unary("softplus", scalar.softplus, scalar.sigmoid, "softplus", r"\mathrm{Softplus}"),
    unary(
        "softsign",
        scalar.softsign,
        scalar.softsign_slope,
        "softsign",
        r"\mathrm{Softsign}",
    ),
    unary(
        "hard_sigmoid",
        scalar.hard_sigmoid,
        scalar.hard_sigmoid_slope,
        "hard_sigmoid",
        r"\mathrm{HardSigmoid}",
    ),
)

_BINARY = (
    binary(
        "add",
        lambda a, b: a + b,
        lambda a, b: (1.0, 1.0),
        "zero",
        Notation("%s + %s", SUM, (SUM, PRODUCT)),
        Notation("%s + %s", SUM, (SUM, PRODUCT)),
    ),
    binary(
        "sub",
        lambda a, b: a - b,
        lambda a, b: (1.0, -1.0),
        "zero",
        Notation("%s − %s", SUM, (SUM, PRODUCT)),
        Notation("%s - %s", SUM, (SUM, PRODUCT)),
    ),
    binary(
        "mul",
        lambda a, b: a * b,
        lambda a, b: (b, a),
        "one",
        Notation("%s·%s", PRODUCT, (PRODUCT, SCALED)),
        Notation(r"%s \cdot %s", PRODUCT, (PRODUCT, SCALED)),
    ),
    binary(
        "div",
        divide,
        lambda a, b: (divide(1.0, b), -divide(divide(a, b), b)),
        "one",
        Notation("%s/%s", PRODUCT, (PRODUCT, POWER)),
        Notation(r"\frac{%s}{%s}", ATOM, (SUM, SUM)),
    ),
    binary(
        "pow",
        scalar.power,
        scalar.power_slopes,
        "one",
        Notation("%s^%s", POWER, (ATOM, ATOM)),
        Notation("{%s}^{%s}", POWER, (ATOM, SUM)),
    ),
    binary(
        "max",
        scalar.maximum,
        lambda a, b: (1.0, 0.0) if a >= b else (0.0, 1.0),
        "copy",
        Notation("max(%s, %s)", ATOM, (SUM, SUM)),
        Notation(r"\max\{%s, %s\}", ATOM, (SUM, SUM)),
    ),
    binary(
        "min",
        scalar.minimum,
        lambda a, b: (1.0, 0.0) if a <= b else (0.0, 1.0),
        "copy",
        Notation("min(%s, %s)", ATOM, (SUM, SUM)),
        Notation(r"\min\{%s, %s\}", ATOM, (SUM, SUM)),
    ),
)

# Named in the paper, but never drawn by the search: GELU and Leaky ReLU cannot be built from the
# others, and ELiSH and Mish use their input twice, so α·Mish(β·x) needs them as one node.
_OUTSIDE = (
    unary("elish", scalar.elish, scalar.elish_slope, "elish", r"\mathrm{ELiSH}"),
    unary("gelu", scalar.gelu, scalar.gelu_slope, "gelu", r"\mathrm{GELU}"),
    unary(
        "leaky_relu",
        lambda x: x if x >= 0 else 0.01 * x,
        lambda x: 1.0 if x > 0 else 0.01,
        "leaky_relu",
        r"\mathrm{LeakyReLU}",
    ),
    unary("mish", scalar.mish, scalar.mish_slope, "mish", r"\mathrm{Mish}"),
)

OPERATORS = {row.name: row for row in (*_UNARY, *_BINARY, *_OUTSIDE)}
UNARY = tuple(row.name for row in _UNARY)
BINARY = tuple(row.name for row in _BINARY)

# Facts about operators, as sets of their names: whoever needs one asks here.
CONSTANTS = frozenset(("zero", "one"))
# Nothing is rounded, in any precision.
EXACT = frozenset((*CONSTANTS, "identity", "negative", "abs", "relu", "max", "min"))
# Not elementary functions: each value takes a series or a rational approximation.
SPECIAL = frozenset(("erf", "erfc", "bessel_i0e", "bessel_i1e"))
# A derivative of some order, or the value, jumps somewhere or does not exist: the scaled Bessel
# functions contain |x|, and ELU, SELU, ELiSH and Softsign bend differently on the two sides of 0.
ROUGH = frozenset(
    (
        *("abs", "reciprocal", "relu", "leaky_relu", "hard_sigmoid", "div", "pow", "max", "min"),
        *("bessel_i0e", "bessel_i1e", "elu", "selu", "elish", "softsign"),
    )
)
SMOOTH = frozenset(OPERATORS) - ROUGH

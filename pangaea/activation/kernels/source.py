"""A function as Triton source: the operators' second table, and the text made from it.

A row is the text of an operator's value, and of the gradient of each input, by the gradient {g} of
its output and its inputs {a} and {b}. The functions are those of `functions` (f),
`units` (u) and `bessel` (bessel).
"""

from collections.abc import Sequence
from typing import NamedTuple

from pangaea.functions.program import Step


class Source(NamedTuple):
    """An operator in Triton; a constant pulls nothing."""

    value: str
    pulls: tuple[str, ...]


def _unary(value: str, slope: str) -> Source:
    return Source(value, (f"{{g}} * {slope}",))


OPERATORS: dict[str, Source] = {
    "zero": Source("tl.zeros_like({a})", ()),
    "one": Source("tl.zeros_like({a}) + 1", ()),
    "identity": Source("{a}", ("{g}",)),
    "negative": Source("-{a}", ("-{g}",)),
    "abs": _unary("tl.abs({a})", "f.sign({a})"),
    "reciprocal": _unary("f.reciprocal({a})", "f.reciprocal_slope({a})"),
    "square": _unary("{a} * {a}", "(2 * {a})"),
    "exp": _unary("f.exp({a})", "f.exp({a})"),
    "erf": _unary("tl.erf({a})", "f.gauss({a})"),
    "erfc": _unary("f.erfc({a})", "-f.gauss({a})"),
    "sinh": _unary("f.sinh({a})", "f.cosh({a})"),
    "cosh": _unary("f.cosh({a})", "f.sinh({a})"),
    "tanh": _unary("f.tanh({a})", "f.sech2({a})"),
    "expm1": _unary("f.expm1({a})", "f.exp({a})"),
    "sigmoid": _unary("u.sigmoid({a})", "u.sigmoid_slope({a})"),
    "logsigmoid": _unary("u.logsigmoid({a})", "u.sigmoid_below({a})"),
    "asinh": _unary("f.asinh({a})", "f.asinh_slope({a})"),
    "atan": _unary("f.atan({a})", "f.atan_slope({a})"),
    "bessel_i0e": _unary("bessel.i0e({a})", "bessel.i0e_slope({a})"),
    "bessel_i1e": _unary("bessel.i1e({a})", "bessel.i1e_slope({a})"),
    "relu": _unary("f.maximum({a}, 0.0)", "f.above({a}, 0.0)"),
    "elu": _unary("u.elu({a})", "u.elu_slope({a})"),
    "selu": _unary("u.selu({a})", "u.selu_slope({a})"),
    "swish": _unary("{a} * u.sigmoid({a})", "u.swish_slope({a})"),
    "softplus": _unary("u.softplus({a})", "u.sigmoid({a})"),
    "softsign": _unary("{a} / (1 + tl.abs({a}))", "u.softsign_slope({a})"),
    "hard_sigmoid": _unary("u.hard_sigmoid({a})", "u.hard_sigmoid_slope({a})"),
    "add": Source("{a} + {b}", ("{g}", "{g}")),
    "sub": Source("{a} - {b}", ("{g}", "-{g}")),
    "mul": Source("{a} * {b}", ("{g} * {b}", "{g} * {a}")),
    "div": Source(
        "f.divide({a}, {b})", ("{g} * f.reciprocal({b})", "{g} * f.divide_slope({a}, {b})")
    ),
    "pow": Source(
        "f.power({a}, {b})",
        ("{g} * f.power_slope({a}, {b})", "{g} * f.power_exponent_slope({a}, {b})"),
    ),
    # Where both are equal the first input has it all, as in TensorFlow.
    "max": Source(
        "f.maximum({a}, {b})", ("{g} * f.not_above({b}, {a})", "{g} * f.above({b}, {a})")
    ),
    "min": Source(
        "f.minimum({a}, {b})", ("{g} * f.not_above({a}, {b})", "{g} * f.above({a}, {b})")
    ),
    "elish": _unary("u.elish({a})", "u.elish_slope({a})"),
    "gelu": _unary("u.gelu({a})", "u.gelu_slope({a})"),
    "leaky_relu": _unary("u.leaky_relu({a})", "(0.01 + 0.99 * f.above({a}, 0.0))"),
    "mish": _unary("u.mish({a})", "u.mish_slope({a})"),
}


def source(steps: Sequence[Step], parameters: int) -> str:
    """Two functions: `value` of x and its parameters p, and `pull`, the gradients of these."""
    values = [f"v{i} = {_value(step)}" for i, step in enumerate(steps, 1)]
    last = len(steps)
    forward = _function("value(v0, p)", [*values, f"return v{last}"])
    gradients = _gradients(steps, parameters)
    return forward + _function(f"pull(g{last}, v0, p)", [*values, *gradients])


def _function(head: str, lines: Sequence[str]) -> str:
    return "".join(["@triton.jit\n", f"def {head}:\n", *(f"    {line}\n" for line in lines), "\n"])


def _value(step: Step) -> str:
    if step.operator is None:
        return f"v{step.inputs[0]} * p[{step.parameter}]"
    return OPERATORS[step.operator].value.format(**_names(step))


def _gradients(steps: Sequence[Step], parameters: int) -> list[str]:
    """Accumulated in reverse, as `program` does."""
    lines: list[str] = []
    reached = {len(steps)}
    to_parameters = ["tl.zeros_like(v0)"] * parameters
    for i in range(len(steps), 0, -1):
        if i not in reached:
            continue
        step = steps[i - 1]
        if step.operator is None:
            to_parameters[step.parameter] = f"g{i} * v{step.inputs[0]}"
            pulls: Sequence[str] = (f"g{i} * p[{step.parameter}]",)
        else:
            row = OPERATORS[step.operator]
            pulls = [pull.format(g=f"g{i}", **_names(step)) for pull in row.pulls]
        for j, pull in zip(step.inputs, pulls, strict=False):
            lines.append(f"g{j} = g{j} + {pull}" if j in reached else f"g{j} = {pull}")
            reached.add(j)
    to_x = "g0" if 0 in reached else "tl.zeros_like(v0)"
    return [*lines, f"return {to_x}, ({''.join(f'{text}, ' for text in to_parameters)})"]


def _names(step: Step) -> dict[str, str]:
    return dict(zip("ab", (f"v{j}" for j in step.inputs), strict=False))

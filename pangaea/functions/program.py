"""A function as a program of steps: subexpressions that occur twice are computed once."""

from collections.abc import Sequence
from typing import NamedTuple, TypeAlias

from pangaea.functions.expression import Expression, Function, Path
from pangaea.functions.operators import CONSTANTS, OPERATORS


class Step(NamedTuple):
    """An operator on earlier values (0 is x), or a value times a parameter."""

    operator: str | None
    inputs: tuple[int, ...]
    parameter: int = -1


Steps: TypeAlias = tuple[Step, ...]


def program(function: Function) -> Steps:
    """The steps that compute a function; step i makes value i + 1, the last one the result."""
    numbers = {path: k for k, path in enumerate(function.parameter_edges)}
    places: dict[Step, int] = {}

    def value(step: Step) -> int:
        return places.setdefault(step, len(places) + 1)

    def place(expression: Expression, path: Path) -> int:
        if expression.operator == "x":
            result = 0
        elif expression.operator in CONSTANTS:
            result = value(Step(expression.operator, (0,)))
        else:
            inputs = [place(child, (*path, i)) for i, child in enumerate(expression.inputs)]
            result = value(Step(expression.operator, tuple(inputs)))
        return value(Step(None, (result,), numbers[path])) if path in numbers else result

    last = place(function.expression, ())
    steps = tuple(places)
    # The result is the last value, except for x itself.
    return steps if last == len(steps) and steps else (*steps, Step("identity", (last,)))


def value_and_slope(steps: Steps, x: float, parameters: Sequence[float]) -> tuple[float, float]:
    """At the number `x`, by the float64 truth."""
    values, slopes = [float(x)], [1.0]
    for operator, inputs, parameter in steps:
        at = [values[i] for i in inputs]
        if operator is None:
            value, slope = at[0] * parameters[parameter], slopes[inputs[0]] * parameters[parameter]
        elif operator in CONSTANTS:
            value, slope = OPERATORS[operator].value(*at), 0.0
        else:
            row = OPERATORS[operator]
            value = row.value(*at)
            # A constant input has no say, even where the operator is infinitely steep.
            parts = zip(row.slopes(*at), (slopes[i] for i in inputs), strict=True)
            slope = sum((by * of for by, of in parts if of != 0), 0.0)
        values.append(value)
        slopes.append(slope)
    return values[-1], slopes[-1]

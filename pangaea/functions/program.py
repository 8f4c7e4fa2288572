"""A function as a program of steps: subexpressions that occur twice are computed once."""

from typing import NamedTuple

from pangaea.functions.expression import Expression, Function, Path
from pangaea.functions.operators import CONSTANTS


class Step(NamedTuple):
    """An operator on earlier values (0 is x), or a value times a parameter."""

    operator: str | None
    inputs: tuple[int, ...]
    parameter: int = -1


def program(function: Function) -> tuple[Step, ...]:
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

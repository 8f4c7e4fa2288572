"""Functions as text: canonical (exact, what a study stores), readable, and LaTeX."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from pangaea.functions.operators import (
    ATOM,
    CONSTANTS,
    OPERATORS,
    SCALED,
    SUM,
    Notation,
    Operator,
)

if TYPE_CHECKING:
    from pangaea.functions.expression import Expression, Path


def canonical(expression: Expression, parameter_edges: tuple[Path, ...]) -> str:
    """Prefix form, each parameter before the edge it scales: `mul(x, sigmoid(alpha*x))`."""
    names = dict(zip(parameter_edges, ("alpha*", "beta*", "gamma*"), strict=False))

    def text(node: Expression, path: Path) -> str:
        prefix = names.get(path, "") if names else ""
        if not node.inputs:
            return prefix + "x"
        inputs = [text(child, (*path, i)) for i, child in enumerate(node.inputs)]
        return f"{prefix}{node.operator}({', '.join(inputs)})"

    return text(expression, ())


def readable(expression: Expression, parameter_edges: tuple[Path, ...]) -> str:
    return _infix(
        expression,
        parameter_edges,
        lambda row: row.readable,
        ("α", "β", "γ"),
        lambda factor: "·",
        "(%s)",
    )


def latex(expression: Expression, parameter_edges: tuple[Path, ...]) -> str:
    return _infix(
        expression,
        parameter_edges,
        lambda row: row.latex,
        (r"\alpha", r"\beta", r"\gamma"),
        # A space, but before a number: \alpha 0 looks like a name.
        lambda factor: r" \cdot " if factor.lstrip("{")[0].isdigit() else " ",
        r"\left(%s\right)",
    )


def _infix(
    expression: Expression,
    parameter_edges: tuple[Path, ...],
    notation: Callable[[Operator], Notation],
    symbols: tuple[str, ...],
    times: Callable[[str], str],
    brackets: str,
) -> str:
    names = dict(zip(parameter_edges, symbols, strict=False))

    def enclosed(text: str, level: int, needed: int) -> str:
        return text if level >= needed else brackets % text

    def render(node: Expression, path: Path) -> tuple[str, int]:
        if node.operator == "x":
            text, level = "x", ATOM
        elif node.operator in CONSTANTS:
            # The input has no say: a constant is written without it.
            text, level = notation(OPERATORS[node.operator]).template, ATOM
        elif node.operator == "identity":
            text, level = render(node.inputs[0], (*path, 0))
        else:
            style = notation(OPERATORS[node.operator])
            inputs = [
                enclosed(*render(child, (*path, i)), style.inputs[i])
                for i, child in enumerate(node.inputs)
            ]
            text, level = style.template % tuple(inputs), style.level
        if path in names:
            if node.operator == "one":
                return names[path], ATOM
            factor = enclosed(text, level, SCALED)
            return names[path] + times(factor) + factor, SCALED
        return text, level

    return enclosed(*render(expression, ()), SUM)

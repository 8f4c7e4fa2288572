"""What the command line shows of functions: the space, the catalog, one function."""

import math
from collections.abc import Callable, Iterable, Sequence
from typing import Protocol

from rich.table import Table
from rich.text import Text
from rich.tree import Tree

from pangaea.functions.catalog import LEARNABLE, parse
from pangaea.functions.expression import Expression, Function, Path
from pangaea.functions.paper import Figure
from pangaea.functions.shape import shape
from pangaea.functions.space import Row
from pangaea.report.terminal.breaking import broken

POINTS = (-5.0, -2.0, -1.0, -0.5, 0.0, 0.5, 1.0, 2.0, 5.0)


class Shown(Protocol):
    """A function of either kind, as far as it is shown."""

    @property
    def parameters(self) -> tuple[str, ...]: ...
    def readable(self) -> str: ...
    def latex(self) -> str: ...


def _right(*headers: str) -> Table:
    table = Table(*headers, box=None, pad_edge=False)
    for column in table.columns:
        column.justify = "right"
    return table


def space_table(rows: Sequence[Row]) -> Table:
    table = _right("nodes", "binary", "unary", "edges", "arrangements", "functions")
    for row in rows:
        counts = (row.nodes, row.binary, row.unary, row.edges, row.arrangements, row.functions)
        table.add_row(*(f"{count:,}" for count in counts))
    return table


def totals_table(rows: Sequence[Row]) -> Table:
    table = _right("nodes", "functions", "in the paper")
    for nodes in sorted({row.nodes for row in rows}):
        some = [row for row in rows if row.nodes == nodes]
        table.add_row(str(nodes), *_totals(some))
    table.add_row("all", *_totals(rows), style="bold")
    return table


def _totals(rows: Sequence[Row]) -> tuple[str, str]:
    return (
        f"{sum(row.functions for row in rows):,}",
        f"{sum(row.paper_functions for row in rows):,}",
    )


def catalog_table(figures: Sequence[Figure]) -> Table:
    """A function with every accuracy that the paper prints of it."""
    by_name: dict[str, list[Figure]] = {}
    for figure in figures:
        by_name.setdefault(figure.name, []).append(figure)
    table = Table(box=None, show_header=False, pad_edge=False)
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    for name, rows in by_name.items():
        function = rows[0].function
        shown = function if function in LEARNABLE else parse(function).readable()
        text = Text(shown, style="bold")
        printed = dict.fromkeys(filter(None, map(_accuracy, rows)))
        if printed:
            text.append("\n" + "; ".join(printed), style="not bold")
        table.add_row(Text(name), text)
    return table


def _accuracy(figure: Figure) -> str | None:
    if figure.mean is None:
        return None
    scope = f" per {figure.scope}" if figure.scope in ("layer", "neuron") else ""
    spread = "" if figure.sd is None else f" ± {figure.sd:.2f}"
    runs = "" if figure.n == 10 else f" (n = {figure.n})"
    failed = f", {figure.failed} failed" if figure.failed else ""
    return f"{figure.network}{scope} {figure.mean:.2f}{spread}{runs}{failed}"


def facts_table(
    f: Shown, value: Callable[[float], float], slope: Callable[[float], float], width: int = 80
) -> Table:
    """What there is to say of a function, in so many columns; its texts break between names."""
    seen = shape(value, slope)
    shorter = f.simplified() if isinstance(f, Function) else f
    facts = {
        "function": f.readable(),
        **({} if shorter == f else {"simplified": shorter.readable()}),
        "canonical": str(f),
        "LaTeX": f.latex(),
        "parameters": ", ".join(f.parameters) or "none",
        "bounds": f"{_bound(seen.lower, 'below')}, {_bound(seen.upper, 'above')}",
        "monotonic": seen.direction or "no",
        "kinks": _places(seen.kinks),
    }
    if seen.jumps:
        facts["jumps"] = _places(seen.jumps)
    if seen.undefined:
        facts["undefined"] = "for some inputs (NaN)"
    table = Table(box=None, show_header=False, pad_edge=False)
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    room = width - max(map(len, facts)) - 2
    for name, text in facts.items():
        table.add_row(name, Text(broken(text, room)))
    return table


def _bound(limit: float, side: str) -> str:
    if math.isnan(limit):
        return f"undefined {side}"
    return f"unbounded {side}" if math.isinf(limit) else f"bounded {side} by {limit + 0.0:.6g}"


def _places(places: Iterable[float]) -> str:
    shown = [f"{x:g}" for x in places]
    if not shown:
        return "none"
    return "at x = " + ", ".join(shown[:6]) + (", …" if len(shown) > 6 else "")


def points_table(value: Callable[[float], float], slope: Callable[[float], float]) -> Table:
    table = _right("x", "value", "slope")
    for x in POINTS:
        table.add_row(f"{x:g}", f"{value(x) + 0.0:.6g}", f"{slope(x) + 0.0:.6g}")
    return table


def tree(f: Function) -> Tree:
    """The expression as a tree, its parameters before the edges that they scale."""
    names = dict(zip(f.parameter_edges, ("α·", "β·", "γ·"), strict=False))

    def grow(node: Expression, path: Path, branch: Tree | None) -> Tree:
        label = Text(names.get(path, "") + node.operator)
        grown = Tree(label) if branch is None else branch.add(label)
        for i, child in enumerate(node.inputs):
            grow(child, (*path, i), grown)
        return grown

    return grow(f.expression, (), None)

"""What the command line shows of functions: spaces, operators, the catalog, one function."""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Protocol

from rich.table import Table
from rich.text import Text
from rich.tree import Tree

from pangaea.functions.catalog import parse
from pangaea.functions.counting import Split
from pangaea.functions.expression import Expression, Function, Path
from pangaea.functions.learnable import LEARNABLE
from pangaea.functions.operators import OPERATORS
from pangaea.functions.paper import Printed
from pangaea.functions.shape import shape
from pangaea.functions.space import PAPER, PRESETS, Space
from pangaea.report.terminal.columns import Functions, Line, broken
from pangaea.wording import counted

_CATALOG = 80  # columns in which names and accuracies have room beside each other
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


def _labelled(facts: dict[str, str]) -> Table:
    table = Table(box=None, show_header=False, pad_edge=False)
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    for name, text in facts.items():
        table.add_row(name, Text(text))
    return table


def space_table(space: Space) -> Table:
    """What a space consists of."""
    shape = f"core units in at most {counted(space.levels, 'level')}: binary(unary, unary)"
    count = space.parameters
    parameters = counted(count, "parameter") if count else "no parameters"
    facts = {
        "space": space.name,
        "about": space.description,
        "unary": ", ".join(space.unary),
        "binary": ", ".join(space.binary) or "none",
        "shape": shape if space.levels else "any arrangement",
        "size": f"up to {space.max_nodes} nodes, {parameters}",
    }
    return _labelled({name: text for name, text in facts.items() if text})


def presets_table() -> Table:
    return _labelled({name: preset.description for name, preset in PRESETS.items()})


def splits_table(splits: Sequence[Split]) -> Table:
    table = _right("nodes", "binary", "unary", "edges", "arrangements", "functions")
    for split in splits:
        graph = (split.nodes, split.binary, split.unary, split.edges)
        table.add_row(*(f"{n:,}" for n in (*graph, split.arrangements, split.functions)))
    return table


def totals_table(splits: Sequence[Split]) -> Table:
    """Totals by size; of the paper's own space also the paper's."""
    printed = all(split.space == PAPER for split in splits)
    table = _right("nodes", "functions", *(["in the paper"] if printed else []))

    def add(size: str, some: Sequence[Split], style: str = "") -> None:
        totals = [sum(split.functions for split in some)]
        if printed:
            totals.append(sum(split.paper_functions for split in some))
        table.add_row(size, *(f"{total:,}" for total in totals), style=style)

    for nodes in sorted({split.nodes for split in splits}):
        add(str(nodes), [split for split in splits if split.nodes == nodes])
    add("all", splits, "bold")
    return table


def operators_table(width: int) -> Table:
    """The paper's Table 1: each operator, and the presets that have it."""
    # 72 columns with everything; 55 without slopes and with less room between.
    narrow = width < 72
    table = Table(box=None, pad_edge=False, collapse_padding=narrow)
    table.add_column("operator", no_wrap=True)
    table.add_column("formula", no_wrap=True)
    if not narrow:
        table.add_column("slope\nat 0", justify="right", vertical="bottom")
    presets = {names[0]: PRESETS[names[0]].operators for names in alike()}
    for preset in presets:
        table.add_column(preset, justify="center")
    for name, row in OPERATORS.items():
        slope = f"{row.slopes(0.0)[0] + 0.0:.6g}" if row.arity == 1 else ""
        marks = ["✓" if name in operators else "" for operators in presets.values()]
        table.add_row(name, Text(row.formula()), *([] if narrow else [slope]), *marks)
    return table


def alike() -> list[list[str]]:
    """The presets, those with the same operators together."""
    groups: dict[tuple[str, ...], list[str]] = {}
    for name, preset in PRESETS.items():
        groups.setdefault(preset.operators, []).append(name)
    return list(groups.values())


def catalog_table(figures: Sequence[Printed], width: int = 80) -> Table:
    """A function with every accuracy in the paper's tables; below its name in few columns."""
    beside = width >= _CATALOG
    by_name: dict[str, list[Printed]] = {}
    for figure in figures:
        by_name.setdefault(figure.name, []).append(figure)
    table = Table(box=None, show_header=False, pad_edge=False)
    if beside:
        table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    for name, rows in by_name.items():
        function = rows[0].function
        shown = function if function in LEARNABLE else parse(function).readable()
        text = Text(shown, style="bold")
        printed = dict.fromkeys(filter(None, map(_accuracy, rows)))
        if printed:
            text.append("\n" + "; ".join(printed), style="not bold")
        if beside:
            table.add_row(Text(name), text)
        else:
            table.add_row(Text.assemble((f"{name}: ", "not bold"), text))
    return table


def printed_table(figures: Sequence[Printed]) -> Functions:
    """One of the paper's tables as it prints it: a row for each function, a column a network."""
    networks = list(dict.fromkeys(figure.network or "" for figure in figures))
    rows: dict[tuple[str, str], list[Printed]] = {}
    for figure in figures:
        rows.setdefault((figure.name, _scope(figure)), []).append(figure)
    lines = []
    for (name, scope), row in rows.items():
        text = row[0].function
        cells = ["; ".join(_mean(f) for f in row if f.network == network) for network in networks]
        shown = text if text in LEARNABLE else parse(text).readable()
        lines.append(Line(f"{shown}{scope}", cells, name))
    return Functions(networks, lines)


def _scope(figure: Printed) -> str:
    return f" per {figure.scope}" if figure.scope in ("layer", "neuron") else ""


def _mean(figure: Printed) -> str:
    if figure.mean is None:
        return ""
    spread = "" if figure.sd is None else f" ± {figure.sd:.2f}"
    runs = "" if figure.n == 10 else f" (n = {figure.n})"
    failed = f", {figure.failed} failed" if figure.failed else ""
    return f"{figure.mean:.2f}{spread}{'*' * (figure.stars or 0)}{runs}{failed}"


def _accuracy(figure: Printed) -> str | None:
    if figure.mean is None:
        return None
    return f"{figure.network}{_scope(figure)} {_mean(replace(figure, stars=None))}"


def facts_table(
    f: Shown,
    value: Callable[[float], float],
    slope: Callable[[float], float],
    width: int = 80,
    more: Mapping[str, str] | None = None,
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
        **(more or {}),
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
        table.add_row(name, Text("\n".join(broken(text, room))))
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


def layers_table(trained: Mapping[str, Sequence[float]]) -> Table:
    """Each parameter's mean in each layer after training."""
    table = _right("layer", *trained)
    for number, values in enumerate(zip(*trained.values(), strict=False), 1):
        table.add_row(str(number), *(f"{value:.4g}" for value in values))
    return table


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

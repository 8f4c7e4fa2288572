"""A function as a tree of operators, and a function's line of ancestors."""

from collections.abc import Mapping

from pangaea.functions.catalog import parse
from pangaea.functions.expression import Expression, Function
from pangaea.functions.expression import Path as Place
from pangaea.functions.operators import OPERATORS
from pangaea.report.figures import theme
from pangaea.report.figures.theme import BLUE, GREEN, GREY, ORANGE, Spec, shown
from pangaea.report.records import Row, candidate, formula
from pangaea.study.study import Study

_BARE = {"visible": False, "fixedrange": True}
_LEVEL = 84  # pixels between a node and its inputs
_GENERATION = 52
_FORMULA = 72  # letters


def graph(function: Function | str) -> Spec:
    """The function's computation graph: from the inputs x at the bottom to f(x) at the top."""
    f = function if isinstance(function, Function) else parse(function)
    across = _across(f.expression)
    at: dict[Place, tuple[float, float]] = {
        path: (across[path], -len(path)) for path, _ in f.expression.walk()
    }
    named = dict(zip(f.parameter_edges, ("α", "β", "γ"), strict=False))
    top = (across[()], 1.0)
    edges: list[tuple[tuple[float, float], tuple[float, float]]] = []
    notes = [_box("f(x)", *top, GREEN)]
    for path, node in f.expression.walk():
        end = at[path[:-1]] if path else top
        edges.append((at[path], end))
        notes.append(_box(_operator(node), *at[path], _KIND[len(node.inputs)]))
        if path in named:
            middle = [(a + b) / 2 for a, b in zip(at[path], end, strict=True)]
            notes.append(_parameter(named[path], *middle))
    depth = 1 - min(y for _, y in at.values())
    return theme.figure(
        f.readable(),
        "As a computation graph: from the inputs x up to f(x); a parameter scales its edge.",
        [_edges(edges)],
        height=int(_LEVEL * (depth + 1.6)),
        least=int(_widest(f.expression) * (max(across.values()) + 1.4)),
        xaxis={**_BARE, "range": [-0.7, max(across.values()) + 0.7]},
        yaxis={**_BARE, "range": [0.4 - depth, 1.5]},
        annotations=notes,
        margin={"l": 8, "r": 8, "b": 8},
        showlegend=False,
    )


_KIND = {0: GREEN, 1: BLUE, 2: ORANGE}  # by the number of inputs


def _across(expression: Expression) -> dict[Place, float]:
    """Leaves side by side, every node in the middle of its inputs."""
    found: dict[Place, float] = {}
    leaves = 0

    def put(node: Expression, path: Place) -> float:
        nonlocal leaves
        if node.inputs:
            below = [put(child, (*path, i)) for i, child in enumerate(node.inputs)]
            found[path] = sum(below) / len(below)
        else:
            found[path] = float(leaves)
            leaves += 1
        return found[path]

    put(expression, ())
    return found


def _operator(node: Expression) -> str:
    """As the paper writes it in its graphs: tanh(x), |x|, x₁ + x₂."""
    if node.operator in ("x", "identity"):
        return node.operator
    template = OPERATORS[node.operator].readable.template
    inputs = ("x₁", "x₂") if len(node.inputs) == 2 else ("x",)
    return template % inputs[: template.count("%s")]


def _widest(expression: Expression) -> float:
    """Pixels that the longest label takes up."""
    return max(20 + 8 * len(_operator(node)) for _, node in expression.walk())


def _edges(edges: list[tuple[tuple[float, float], tuple[float, float]]]) -> Spec:
    return {
        "type": "scatter",
        "x": [x for start, end in edges for x in (start[0], end[0], None)],
        "y": [y for start, end in edges for y in (start[1], end[1], None)],
        "mode": "lines",
        "line": {"color": GREY, "width": 2},
        "hoverinfo": "skip",
    }


def _box(text: str, x: float, y: float, colour: str) -> Spec:
    return {
        "text": shown(text),
        "x": x,
        "y": y,
        "showarrow": False,
        "bgcolor": colour,
        "borderpad": 5,
        "font": {"color": "#000000" if colour == ORANGE else "#FFFFFF", "size": 13},
    }


def _parameter(name: str, x: float, y: float) -> Spec:
    font = {"color": "#FFFFFF", "size": 13}
    place = {"x": x, "y": y, "showarrow": False}
    return {"text": f"<b>{name}</b>", "bgcolor": "#5A5A5A", "borderpad": 3, "font": font, **place}


def lineage(study: Study, number: int | None = None) -> Spec:
    """The line of a function from its first ancestor, each mutation named, with the fitness."""
    title = "Family tree"
    row = candidate(study, number)
    if row is None:
        return theme.nothing(title, "No candidate has been trained to its end yet.")
    line = _ancestors({r["number"]: r for r in study.table()}, row)
    most = max(r["fitness"] or 0.0 for r in line) or 1.0
    least = min(r["fitness"] or 0.0 for r in line)
    return theme.figure(
        title,
        f"From the first ancestor down to candidate {row['number']}: what was done to each, and "
        "the validation accuracy it gave.",
        [
            {
                "type": "scatter",
                "x": [0] * len(line),
                "y": [-i for i in range(len(line))],
                "mode": "lines+markers",
                "line": {"color": GREY, "width": 2},
                "marker": {
                    "size": 14,
                    "color": [
                        theme.blend(((r["fitness"] or 0.0) - least) / (most - least or 1.0))
                        for r in line
                    ],
                },
                "hoverinfo": "skip",
            }
        ],
        height=_GENERATION * len(line) + 60,
        least=60 + 8 * max(len(theme.shortened(formula(r["function"]), _FORMULA)) for r in line),
        xaxis={**_BARE, "range": [-0.02, 1]},
        yaxis={**_BARE, "range": [0.6 - len(line), 0.6]},
        annotations=[_generation(i, line) for i in range(len(line))],
        margin={"l": 16, "r": 8, "b": 8},
        showlegend=False,
    )


def _ancestors(table: Mapping[int, Row], row: Row) -> list[Row]:
    line = [row]
    while (parent := table.get(line[0]["parent"])) is not None and parent not in line:
        line.insert(0, parent)
    return line


def _generation(i: int, line: list[Row]) -> Spec:
    row = line[i]
    fitness = "failed" if row["failure"] else f"{row['fitness'] or 0.0:.2f} %"
    before = line[i - 1]["fitness"] if i else None
    change = "" if before is None else f" ({row['fitness'] - before:+.2f})".replace("-", "−")
    below = f"{shown(row['mutation'])} · candidate {row['number']} · {fitness}{change}"
    return {
        "x": 0,
        "y": -i,
        "xshift": 16,
        "xanchor": "left",
        "align": "left",
        "showarrow": False,
        "text": f"<b>{shown(formula(row['function']), _FORMULA)}</b><br>{below}",
    }

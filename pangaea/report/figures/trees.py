"""A function as a tree of operators, and a function's line of ancestors."""

from collections.abc import Mapping

from pangaea.functions.catalog import parse
from pangaea.functions.expression import Expression, Function
from pangaea.functions.expression import Path as Place
from pangaea.functions.operators import OPERATORS
from pangaea.report import texts
from pangaea.report.figures import On, figure, theme
from pangaea.report.figures.theme import BLUE, GREEN, GREY, ORANGE, Spec, shown
from pangaea.report.records import Row, Snapshot
from pangaea.tasks.goal import Goal

_BARE = {"visible": False, "fixedrange": True}
_LEVEL = 84  # pixels between a node and its inputs
_GENERATION = 52
_FORMULA = 72  # letters


@figure(On("details", 2, "half"), takes="function")
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
    across: dict[Place, float] = {}
    leaves = 0

    def put(node: Expression, path: Place) -> float:
        nonlocal leaves
        if node.inputs:
            below = [put(child, (*path, i)) for i, child in enumerate(node.inputs)]
            across[path] = sum(below) / len(below)
        else:
            across[path] = float(leaves)
            leaves += 1
        return across[path]

    put(expression, ())
    return across


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


@figure(On("details", 4), takes="candidate")
def lineage(study: Snapshot, number: int | None = None) -> Spec:
    """The line of a function from its first ancestor, each mutation named, with the score."""
    title = "Family tree"
    row = study.candidate(number)
    if row is None:
        return theme.nothing(title, "No candidate has been trained to its end yet.")
    line = _ancestors({r["number"]: r for r in study.table()}, row)
    return theme.figure(
        title,
        f"From the first ancestor down to candidate {row['number']}: what was done to each, and "
        f"the {study.goal.called('validation')} it gave; in brackets, how much better (+) or worse "
        "(−) than its parent.",
        [
            {
                "type": "scatter",
                "x": [0] * len(line),
                "y": [-i for i in range(len(line))],
                "mode": "lines+markers",
                "line": {"color": GREY, "width": 2},
                "marker": {"size": 14, "color": _shades(line, study.goal)},
                "hoverinfo": "skip",
            }
        ],
        height=_GENERATION * len(line) + 60,
        least=60 + 8 * max(map(len, (_short(r) for r in line))),
        xaxis={**_BARE, "range": [-0.02, 1]},
        yaxis={**_BARE, "range": [0.6 - len(line), 0.6]},
        annotations=[_generation(i, line, study.goal) for i in range(len(line))],
        margin={"l": 16, "r": 8, "b": 8},
        showlegend=False,
    )


def _short(row: Row) -> str:
    # As it is kept: what a mutation did may show in nothing else.
    return theme.shortened(texts.formula(row["function"]), _FORMULA)


def _shades(line: list[Row], goal: Goal) -> list[str]:
    """From the worst of the line to its best; grey without a score."""
    worths = [None if r["score"] is None else goal.oriented(r["score"]) for r in line]
    known = [worth for worth in worths if worth is not None]
    least = min(known, default=0.0)
    span = max(known, default=0.0) - least or 1.0
    return [GREY if worth is None else theme.blend((worth - least) / span) for worth in worths]


def _ancestors(table: Mapping[int, Row], row: Row) -> list[Row]:
    line, seen = [row], {row["number"]}
    while (parent := table.get(line[0]["parent"])) is not None and parent["number"] not in seen:
        line.insert(0, parent)
        seen.add(parent["number"])
    return line


def _generation(i: int, line: list[Row], goal: Goal) -> Spec:
    row = line[i]
    below = f"{shown(row['mutation'])} · candidate {row['number']} · {_outcome(i, line, goal)}"
    return {
        "x": 0,
        "y": -i,
        "xshift": 16,
        "xanchor": "left",
        "align": "left",
        "showarrow": False,
        "text": f"<b>{shown(_short(row), _FORMULA)}</b><br>{below}",
    }


def _outcome(i: int, line: list[Row], goal: Goal) -> str:
    """The score, and by how much it is better than its parent's."""
    score, before = line[i]["score"], line[i - 1]["score"] if i else None
    if score is None:
        return "failed" if line[i]["failure"] else "no result yet"
    change = "" if before is None else f" ({goal.shown_gain(score, before)})"
    return shown(goal.shown(score)) + change

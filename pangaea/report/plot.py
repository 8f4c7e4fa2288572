"""Figures of a study: `pg.plot.progress(study)`, as Plotly figures to show, change or save."""

import math
from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any, ParamSpec

from pangaea.report.figures import cost as cost_figure
from pangaea.report.figures import functions as function_figures
from pangaea.report.figures import population as population_figures
from pangaea.report.figures import search as search_figures
from pangaea.report.figures import theme
from pangaea.report.figures import trees as tree_figures
from pangaea.report.figures.theme import Spec, shown

_P = ParamSpec("_P")
_COLUMNS = 2


def _drawn(make: Callable[_P, Spec | list[Spec]]) -> Callable[_P, Any]:
    """The same function, giving a `plotly.graph_objects.Figure`."""

    @wraps(make)
    def draw(*args: _P.args, **options: _P.kwargs) -> Any:
        import plotly.graph_objects as go  # half a second, so only where a figure is wanted

        made = make(*args, **options)
        spec = made if isinstance(made, dict) else side_by_side(made)
        return go.Figure(theme.standalone(spec))

    return draw


def side_by_side(specs: Sequence[Spec]) -> Spec:
    """Several figures as one: two in a row, each with its title above it and its legend in it."""
    if not specs:
        return theme.nothing("", "There is nothing to show yet.")
    if len(specs) == 1:
        return specs[0]
    rows = math.ceil(len(specs) / _COLUMNS)
    together = theme.figure(
        specs[0]["layout"]["meta"].get("group", ""), "", [], height=40 + 300 * rows
    )
    together["layout"]["annotations"] = []
    for i, spec in enumerate(specs):
        row, column = divmod(i, _COLUMNS)
        across = [column / _COLUMNS + 0.03, (column + 1) / _COLUMNS - 0.03]
        up = [1 - (row + 1) / rows + 0.14 / rows, 1 - row / rows - 0.08 / rows]
        _place(together, spec, "" if i == 0 else str(i + 1), across, up)
    return together


def _place(together: Spec, spec: Spec, end: str, across: list[float], up: list[float]) -> None:
    """One figure's traces, axes, title and legend in its part of the whole."""
    axes = {"xaxis": f"x{end}", "yaxis": f"y{end}"}
    legend = {"legend": f"legend{end}", "showlegend": bool(spec["layout"].get("showlegend"))}
    together["data"] += [{**trace, **axes, **legend} for trace in spec["data"]]
    layout = together["layout"]
    layout[f"xaxis{end}"] = {**spec["layout"]["xaxis"], "domain": across, "anchor": f"y{end}"}
    layout[f"yaxis{end}"] = {**spec["layout"]["yaxis"], "domain": up, "anchor": f"x{end}"}
    layout[f"legend{end}"] = {
        "orientation": "v",
        "x": across[0] + 0.01,
        "y": up[1],
        "yanchor": "top",
    }
    paper = {"xref": "paper", "yref": "paper", "xanchor": "center", "yanchor": "bottom"}
    title = shown(spec["layout"]["meta"]["title"], 60)
    layout["annotations"].append(
        {"text": title, "x": sum(across) / 2, "y": up[1], "showarrow": False, **paper}
    )


progress = _drawn(search_figures.progress)
compute = _drawn(search_figures.compute)
average = _drawn(search_figures.average)
cost = _drawn(cost_figure.cost)
shape = _drawn(function_figures.shape)
gallery = _drawn(function_figures.gallery)
adaptation = _drawn(function_figures.adaptation)
curves = _drawn(function_figures.curves)
graph = _drawn(tree_figures.graph)
lineage = _drawn(tree_figures.lineage)
operators = _drawn(population_figures.operators)
failures = _drawn(population_figures.failures)
timeline = _drawn(population_figures.timeline)

__all__ = [
    "adaptation",
    "average",
    "compute",
    "cost",
    "curves",
    "failures",
    "gallery",
    "graph",
    "lineage",
    "operators",
    "progress",
    "shape",
    "timeline",
]

"""Several figures as one."""

import math
from collections.abc import Sequence

from pangaea.report.figures import theme
from pangaea.report.figures.theme import Spec, shown

_COLUMNS = 2
_LEGEND = 0.13  # of the width: fifteen letters and their line


def side_by_side(specs: Sequence[Spec]) -> Spec:
    """Several figures as one: two in a row, each with its title above and its legend beside it."""
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
    if legend["showlegend"]:
        across = [across[0], across[1] - _LEGEND]
    together["data"] += [{**trace, **axes, **legend} for trace in spec["data"]]
    layout = together["layout"]
    layout[f"xaxis{end}"] = {**spec["layout"]["xaxis"], "domain": across, "anchor": f"y{end}"}
    layout[f"yaxis{end}"] = {**spec["layout"]["yaxis"], "domain": up, "anchor": f"x{end}"}
    layout[f"legend{end}"] = {
        "orientation": "v",
        "x": across[1],
        "y": up[1],
        "yanchor": "top",
    }
    paper = {"xref": "paper", "yref": "paper", "xanchor": "center", "yanchor": "bottom"}
    title = shown(spec["layout"]["meta"]["title"], 60)
    layout["annotations"].append(
        {"text": title, "x": sum(across) / 2, "y": up[1], "showarrow": False, **paper}
    )

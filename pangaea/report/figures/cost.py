"""Fitness against cost, one point a candidate (paper, figure on fitness and compute cost)."""

import math
from bisect import bisect_right
from collections.abc import Sequence
from itertools import pairwise

from pangaea.errors import UnknownNameError
from pangaea.report.figures import theme
from pangaea.report.figures.theme import GREY, PALETTE, Spec, shown
from pangaea.report.records import Row, finished, formula, names, relu_seconds
from pangaea.study.study import Study

_POINTS = 2500  # drawn at most: beyond, a browser takes seconds to draw what nobody can tell apart
_LEAST = 50  # of a group, however small its share
_BINS = 40
_HOVER = (
    "<b>%{customdata[1]}</b><br>candidate %{customdata[0]}: %{x:.2f} %, %{y:.3g} s<extra></extra>"
)
GROUPS = ("study", "strategy", "scope")


def cost(*studies: Study, by: str | None = None) -> Spec:
    """Fitness against training time with both histograms; coloured by study, strategy or scope."""
    if by is not None and by not in GROUPS:
        raise UnknownNameError("colouring", by, GROUPS)
    groups = _groups(studies, by or _telling(studies))
    every = [row for rows in groups.values() for row in rows]
    title = "Fitness and cost"
    if not every:
        return theme.nothing(title, "No candidate has been trained to its end yet.")
    seconds = [row["seconds"] for row in every]
    log = max(seconds) > 20 * min(seconds)
    fits = _edges([row["fitness"] for row in every], log=False)
    times = _edges(seconds, log=log)
    data: list[Spec] = []
    share = _POINTS / len(every)
    for i, (name, rows) in enumerate(groups.items()):
        colour = PALETTE[i % len(PALETTE)]
        data.append(_points(_thinned(rows, max(_LEAST, int(share * len(rows)))), name, colour))
        data.append(_bars([row["fitness"] for row in rows], fits, colour, "x", "y2"))
        data.append(_bars([row["seconds"] for row in rows], times, colour, "y", "x2"))
    data += [_front(every), *_relu(studies)]
    drawn = "" if share >= 1 else f" {_POINTS:,} of {len(every):,} points are drawn."
    return theme.figure(
        title,
        "A point is a candidate that was trained to its end; the line joins those that nothing "
        f"cheaper beats. The histograms count all of them.{drawn}",
        data,
        x="validation accuracy (%)",
        y="training time (seconds)",
        height=520,
        xaxis={"domain": [0, 0.84], "showgrid": True},
        yaxis={"domain": [0, 0.82], "showgrid": True, "type": "log" if log else "linear"},
        xaxis2={"domain": [0.86, 1], "showticklabels": False, "showgrid": False},
        yaxis2={"domain": [0.84, 1], "showticklabels": False, "showgrid": False},
        legend={"traceorder": "normal"},
        barmode="stack",
        bargap=0.05,
        hovermode="closest",
        showlegend=True,
    )


def _telling(studies: Sequence[Study]) -> str:
    """What tells the studies apart: their scope, else their strategy, else their names."""
    for by in ("scope", "strategy"):
        if len({getattr(study.settings, by) for study in studies}) > 1:
            return by
    return "study"


def _groups(studies: Sequence[Study], by: str) -> dict[str, list[Row]]:
    found: dict[str, list[Row]] = {}
    for study, name in zip(studies, names(studies), strict=True):
        key = {
            "study": name,
            "strategy": study.settings.strategy,
            "scope": f"per {study.settings.scope or 'channel'}",
        }[by]
        trained = [r for r in finished(study) if r["fitness"] > 0 and r["seconds"] > 0]
        found.setdefault(key, []).extend(trained)
    return {name: rows for name, rows in found.items() if rows}


def _thinned(rows: Sequence[Row], count: int) -> list[Row]:
    """The very best, and of the rest an even choice."""
    if len(rows) <= count:
        return list(rows)
    ranked = sorted(rows, key=lambda row: -row["fitness"])
    top, rest = ranked[: count // 10], ranked[count // 10 :]
    return top + rest[:: math.ceil(len(rest) / (count - len(top)))]


def _points(rows: Sequence[Row], name: str, colour: str) -> Spec:
    return {
        "type": "scatter",
        "name": shown(name, 40),
        "x": [round(row["fitness"], 3) for row in rows],
        "y": [round(row["seconds"], 4) for row in rows],
        "customdata": [[row["number"], shown(formula(row["function"]), 120)] for row in rows],
        "mode": "markers",
        "marker": {"color": colour, "size": 6, "opacity": 0.6},
        "hovertemplate": _HOVER,
    }


def _edges(values: Sequence[float], *, log: bool) -> list[float]:
    low, high = min(values), max(values)
    if log:
        low, high = math.log(low), math.log(high)
    step = (high - low) / _BINS or 1.0
    edges = [low + i * step for i in range(_BINS + 1)]
    return [math.exp(edge) for edge in edges] if log else edges


def _bars(
    values: Sequence[float], edges: Sequence[float], colour: str, along: str, beside: str
) -> Spec:
    """A histogram on the axis `along`, its counts on the axis `beside`."""
    counts = [0] * _BINS
    for value in values:
        counts[bisect_right(edges, value, 1, _BINS) - 1] += 1
    middles = [(a * b) ** 0.5 if along == "y" else (a + b) / 2 for a, b in _pairs(edges)]
    other = "y" if along == "x" else "x"
    return {
        "type": "bar",
        along: [round(middle, 4) for middle in middles],
        other: counts,
        "width": [round(b - a, 4) for a, b in _pairs(edges)],
        f"{other}axis": beside,
        "orientation": "v" if along == "x" else "h",
        "marker": {"color": colour, "line": {"width": 0}},
        "opacity": 0.8,
        "showlegend": False,
        "hovertemplate": f"%{{{other}}} candidates around %{{{along}:.3g}}<extra></extra>",
    }


def _pairs(edges: Sequence[float]) -> list[tuple[float, float]]:
    return list(pairwise(edges))


def _front(rows: Sequence[Row]) -> Spec:
    """The candidates that none is both fitter and cheaper than."""
    front: list[Row] = []
    for row in sorted(rows, key=lambda row: (row["seconds"], -row["fitness"])):
        if not front or row["fitness"] > front[-1]["fitness"]:
            front.append(row)
    return _points(front, "Pareto front", GREY) | {
        "mode": "lines+markers",
        "line": {"color": GREY, "width": 1.5, "shape": "vh"},
        "marker": {"symbol": "circle-open", "size": 9, "color": GREY, "line": {"width": 2}},
    }


def _relu(studies: Sequence[Study]) -> list[Spec]:
    found = [(study.relu, relu_seconds(study)) for study in studies]
    known = [(level, seconds) for level, seconds in found if level is not None and seconds]
    if not known:
        return []
    return [
        {
            "type": "scatter",
            "name": "ReLU",
            "x": [level for level, _ in known],
            "y": [seconds for _, seconds in known],
            "mode": "markers",
            "marker": {"symbol": "diamond", "size": 12, "color": GREY, "line": {"width": 1}},
            "hovertemplate": "<b>ReLU</b>: %{x:.2f} %, %{y:.3g} s<extra></extra>",
        }
    ]

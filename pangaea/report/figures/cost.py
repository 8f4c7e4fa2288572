"""Score against cost, one point a candidate (paper, figure on fitness and compute cost)."""

import math
from bisect import bisect_right
from collections.abc import Sequence
from itertools import pairwise

from pangaea.errors import UnknownNameError
from pangaea.report import texts
from pangaea.report.figures import On, figure, theme
from pangaea.report.figures.theme import GREY, PALETTE, Spec, rounded, shown
from pangaea.report.findings import baseline_seconds
from pangaea.report.measures import time_unit
from pangaea.report.records import Row, Snapshot, names
from pangaea.tasks.goal import Goal

_POINTS = 2500  # drawn at most: beyond, a browser takes seconds to draw what nobody can tell apart
_LEAST = 50  # of a group, however small its share
_BINS = 40
_MOST = 5  # times the range of most candidates: what lies beyond would flatten the rest
GROUPS = ("study", "strategy", "scope")


@figure(On("progress", 4), takes="studies")
def cost(*studies: Snapshot, by: str | None = None) -> Spec:
    """Score against training time with both histograms; coloured by study, strategy or scope."""
    if by is not None and by not in GROUPS:
        raise UnknownNameError("colouring", by, GROUPS)
    groups = _groups(studies, by or _telling(studies))
    every = [row for rows in groups.values() for row in rows]
    title = "Score and cost"
    if not every:
        return theme.nothing(title, "No candidate has been trained to its end yet.")
    goal = studies[0].goal
    unit, size = time_unit(max(row["seconds"] for row in every))
    groups = {name: [_timed(row, size) for row in rows] for name, rows in groups.items()}
    every = [row for rows in groups.values() for row in rows]
    seconds = [row["seconds"] for row in every]
    log = max(seconds) > 20 * min(seconds)
    low, high, beyond = _frame([row["score"] for row in every], goal)
    bins, times = _edges(low, high, log=False), _edges(min(seconds), max(seconds), log=log)
    data: list[Spec] = []
    share = _POINTS / len(every)
    for i, (name, rows) in enumerate(groups.items()):
        colour = PALETTE[i % len(PALETTE)]
        drawn = _thinned(rows, max(_LEAST, int(share * len(rows))), goal)
        data.append(_points(drawn, name, colour, goal))
        scores = [min(max(row["score"], low), high) for row in rows]
        data.append(_bars(scores, bins, colour, "x", "y2"))
        data.append(_bars([row["seconds"] for row in rows], times, colour, "y", "x2"))
    worst = low if goal.maximised else high
    data += [_front(every, goal), *_baseline(studies, size), *_failed(studies, worst, size)]
    for trace in data:
        trace["hovertemplate"] = trace["hovertemplate"].replace(" s<", f" {unit}<")
    air = 0.03 * (high - low or 1.0)
    return theme.figure(
        title,
        "A point is a candidate that was trained to its end, a cross at the worst edge one that "
        "failed; the line joins those that no cheaper candidate beats. The histograms count all "
        f"points.{_left_out(share, every, beyond)}",
        data,
        x=goal.label("validation"),
        y=f"training time ({unit})",
        height=520,
        xaxis={"domain": [0, 0.84], "showgrid": True, "range": [low - air, high + air]},
        yaxis={"domain": [0, 0.82], "showgrid": True, "type": "log" if log else "linear"},
        xaxis2={"domain": [0.86, 1], "showticklabels": False, "showgrid": False},
        yaxis2={"domain": [0.84, 1], "showticklabels": False, "showgrid": False},
        legend={"traceorder": "normal"},
        barmode="stack",
        bargap=0.05,
        hovermode="closest",
        showlegend=True,
    )


def _left_out(share: float, every: Sequence[Row], beyond: int) -> str:
    drawn = "" if share >= 1 else f" {_POINTS:,} of {len(every):,} points are drawn."
    lie = "lies" if beyond == 1 else "lie"
    far = f" {beyond:,} far worse than the rest {lie} beyond the edge." if beyond else ""
    return drawn + far


def _telling(studies: Sequence[Snapshot]) -> str:
    """What tells the studies apart: their scope, else their strategy, else their names."""
    for by in ("scope", "strategy"):
        if len({getattr(study.settings, by) for study in studies}) > 1:
            return by
    return "study"


def _groups(studies: Sequence[Snapshot], by: str) -> dict[str, list[Row]]:
    groups: dict[str, list[Row]] = {}
    for study, name in zip(studies, names(studies), strict=True):
        key = {
            "study": name,
            "strategy": study.settings.strategy,
            "scope": f"per {study.scope}",
        }[by]
        trained = [r for r in study.finished if r["score"] is not None and r["seconds"] > 0]
        groups.setdefault(key, []).extend(trained)
    return {name: rows for name, rows in groups.items() if rows}


def _frame(scores: Sequence[float], goal: Goal) -> tuple[float, float, int]:
    """The scores to show, least and greatest, and how many of the worst lie beyond."""
    best_first = sorted(scores, key=goal.oriented, reverse=True)
    most = best_first[int(0.95 * (len(best_first) - 1))]
    limit = goal.oriented(best_first[0]) - _MOST * abs(goal.gain(best_first[0], most))
    inside = [score for score in best_first if goal.oriented(score) >= limit]
    return min(inside), max(inside), len(scores) - len(inside)


def _thinned(rows: Sequence[Row], count: int, goal: Goal) -> list[Row]:
    """The very best, and of the rest an even choice."""
    if len(rows) <= count:
        return list(rows)
    ranked = sorted(rows, key=lambda row: -goal.oriented(row["score"]))
    top, rest = ranked[: count // 10], ranked[count // 10 :]
    return top + rest[:: math.ceil(len(rest) / (count - len(top)))]


def _points(rows: Sequence[Row], name: str, colour: str, goal: Goal) -> Spec:
    score = theme.score("x", goal)
    return {
        "type": "scatter",
        "name": shown(name, 40),
        "x": [rounded(row["score"]) for row in rows],
        "y": [rounded(row["seconds"]) for row in rows],
        "customdata": [[row["number"], shown(texts.short(row["function"]), 120)] for row in rows],
        "mode": "markers",
        "marker": {"color": colour, "size": 6, "opacity": 0.6},
        "hovertemplate": (
            f"<b>%{{customdata[1]}}</b><br>candidate %{{customdata[0]}}: {score}, "
            "%{y:.3g} s<extra></extra>"
        ),
    }


def _edges(low: float, high: float, *, log: bool) -> list[float]:
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
    pairs = list(pairwise(edges))
    middles = [(a * b) ** 0.5 if along == "y" else (a + b) / 2 for a, b in pairs]
    other = "y" if along == "x" else "x"
    return {
        "type": "bar",
        along: [rounded(middle) for middle in middles],
        other: counts,
        "width": [rounded(b - a) for a, b in pairs],
        f"{other}axis": beside,
        "orientation": "v" if along == "x" else "h",
        "marker": {"color": colour, "line": {"width": 0}},
        "opacity": 0.8,
        "showlegend": False,
        "hovertemplate": f"%{{{other}}} candidates around %{{{along}:.3g}}<extra></extra>",
    }


def _front(rows: Sequence[Row], goal: Goal) -> Spec:
    """The candidates that none is both better and cheaper than."""
    front: list[Row] = []
    for row in sorted(rows, key=lambda row: (row["seconds"], -goal.oriented(row["score"]))):
        if not front or goal.gain(row["score"], front[-1]["score"]) > 0:
            front.append(row)
    return _points(front, "Pareto front", GREY, goal) | {
        "mode": "lines+markers",
        "line": {"color": GREY, "width": 1.5, "shape": "vh"},
        "marker": {"symbol": "circle-open", "size": 9, "color": GREY, "line": {"width": 2}},
    }


def _timed(row: Row, size: float) -> Row:
    """With its training time in another unit."""
    return row | {"seconds": row["seconds"] / size}


def _failed(studies: Sequence[Snapshot], worst: float, size: float) -> list[Spec]:
    """Crosses at the edge for what failed: most of it cost little."""
    failed = [row for study in studies for row in study.finished if row["score"] is None]
    rows = [_timed(row, size) for row in failed if row["seconds"] > 0][:_POINTS]
    if not rows:
        return []
    return [
        {
            "type": "scatter",
            "name": f"failed ({len(failed)})",
            "x": [rounded(worst)] * len(rows),
            "y": [rounded(row["seconds"]) for row in rows],
            "customdata": [[row["number"], shown(str(row["failure"]), 60)] for row in rows],
            "mode": "markers",
            "marker": {"symbol": "x-thin", "size": 7, "color": GREY, "line": {"width": 1}},
            "hovertemplate": (
                "candidate %{customdata[0]}: %{customdata[1]} after %{y:.3g} s<extra></extra>"
            ),
        }
    ]


def _baseline(studies: Sequence[Snapshot], size: float) -> list[Spec]:
    """A diamond for each baseline that was trained."""
    marks: dict[str, list[tuple[float, float]]] = {}
    for study in studies:
        level, seconds = study.baseline_score, baseline_seconds(study)
        if level is not None and seconds:
            marks.setdefault(texts.name(study.baseline), []).append((level, seconds / size))
    score = theme.score("x", studies[0].goal)
    return [
        {
            "type": "scatter",
            "name": shown(name, 40),
            "x": [level for level, _ in places],
            "y": [seconds for _, seconds in places],
            "mode": "markers",
            "marker": {"symbol": "diamond", "size": 12, "color": GREY, "line": {"width": 1}},
            "hovertemplate": f"<b>{shown(name, 40)}</b>: {score}, %{{y:.3g}} s<extra></extra>",
        }
        for name, places in marks.items()
    ]

"""Score against what a function alone costs, and the best function at every cost."""

import math
from collections.abc import Sequence
from typing import Any

from pangaea.report import front as fronts
from pangaea.report import texts
from pangaea.report.figures import On, figure, theme
from pangaea.report.figures.theme import BLUE, ORANGE, Spec, rounded, shown
from pangaea.report.records import Row, Snapshot
from pangaea.tasks.goal import Goal

_LABEL = 28  # letters of a formula beside its point
_APART = 0.05  # of the line's height, between two of them
_TICKS = [0.3, 0.5, 0.7, 1, 1.5, 2, 3, 4, 5, 7, 10, 15, 20, 30, 50, 70, 100]


@figure(On("progress", 5))
def front(study: Snapshot) -> Spec:
    """The best function at every cost, among the candidates that are better than the baseline."""
    title = "Best at each cost"
    best = fronts.front(study)
    if not best:
        return theme.nothing(title, "No candidate is better than the baseline yet.")
    goal, rows = study.goal, fronts.priced(study)
    baseline = best[0]["readable"]
    symbols = ["diamond", *["circle"] * (len(best) - 1)]
    line = _points(best, "best at each cost", goal) | {
        "mode": "lines+markers+text",
        "meta": {"wide": True},  # a narrow page shows the points alone
        "text": _labels(best, goal),
        "textposition": _places(best, goal),
        "cliponaxis": False,
        "line": {"color": ORANGE, "width": 2, "shape": "hv"},
        "marker": {"color": ORANGE, "size": 9, "symbol": symbols},
    }
    faint = {"marker": {"color": BLUE, "size": 6, "opacity": 0.45}}
    return theme.figure(
        title,
        f"A point is a candidate that scored better than {baseline} in the search, partly by luck; "
        "the line joins those that nothing as cheap beats, by the longest training that both had. "
        "The cost is that of the function alone "
        "on a CPU, its operators' times added up: on a GPU they differ less.",
        [_points(rows, "candidates", goal) | faint, line],
        x=f"cost (times {shown(baseline, 40)})",
        y=goal.label("validation"),
        height=460,
        xaxis={"type": "log", "showgrid": True, "tickvals": _TICKS},
        yaxis={"showgrid": True},
        hovermode="closest",
        showlegend=True,
    )


def _risen(best: Sequence[Row], goal: Goal) -> list[bool]:
    """Which are above all before them; others are better in longer trainings alone."""
    scores = [goal.oriented(row["score"]) for row in best]
    return [score > max(scores[:i], default=-math.inf) for i, score in enumerate(scores)]


def _places(best: Sequence[Row], goal: Goal) -> list[str]:
    """Of the labels: where the line is not."""
    places = ["top left" if up else "bottom right" for up in _risen(best, goal)]
    return ["top right", *places[1:]]


def _labels(best: Sequence[Row], goal: Goal) -> list[str]:
    """The formulas; none where it would be written over a better one's."""
    scores = [goal.oriented(row["score"]) for row in best]
    least = _APART * (max(scores) - scores[0])
    above = {True: math.inf, False: math.inf}  # the last label, of each place
    labels = []
    for row, score, up in reversed([*zip(best, scores, _risen(best, goal), strict=True)]):
        apart = abs(above[up] - score) >= least
        labels.append(shown(row["readable"], _LABEL) if apart else "")
        above[up] = score if apart else above[up]
    return labels[::-1]


def _points(rows: Sequence[Row], name: str, goal: Goal) -> dict[str, Any]:
    score = theme.score("y", goal)
    return {
        "type": "scatter",
        "name": name,
        "x": [rounded(row["cost"]) for row in rows],
        "y": [rounded(row["score"]) for row in rows],
        "customdata": [[row["number"], shown(texts.formula(row["function"]), 120)] for row in rows],
        "mode": "markers",
        "hovertemplate": f"<b>%{{customdata[1]}}</b><br>{score}, %{{x:.2f}} times<extra></extra>",
    }

"""How a search went (paper, figures on progress, reliability and efficiency)."""

from collections.abc import Callable, Sequence
from itertools import accumulate
from typing import NamedTuple

from pangaea.report.figures import theme
from pangaea.report.figures.theme import GREY, PALETTE, Spec, shown
from pangaea.report.records import Row, Step, finished, formula, names, steps
from pangaea.study.study import Study

_NONE_YET = "No candidate has been trained to its end yet."
_STARS = 5  # labelled functions of one study; more do not fit beside each other
_POINTS = 500  # of a line: more than a screen shows
_FITNESS = "validation accuracy (%)"
_HOVER = "<b>%{customdata[1]}</b><br>candidate %{customdata[0]}: %{y:.2f} %<extra></extra>"


class _Line(NamedTuple):
    """The best of a study so far, against something that grows."""

    study: Study
    name: str
    colour: str
    steps: list[Step]
    at: list[float]  # where on the x axis each result stands, and 0 before the first


def progress(*studies: Study) -> Spec:
    """The best validation accuracy so far against candidates, ReLU's at 0, notable functions."""
    lines = _lines(studies, lambda rows: [float(i) for i in range(len(rows) + 1)])
    return _best_so_far(
        "Progress",
        "The best validation accuracy so far. The diamond and the dotted line are ReLU; a star is "
        "a function worth noting.",
        lines,
        "candidates evaluated",
    )


def compute(*studies: Study) -> Spec:
    """The best validation accuracy so far against the compute spent."""
    lines = _lines(studies, lambda rows: [0.0, *accumulate(row["seconds"] for row in rows)])
    unit, size = theme.duration_unit(max((line.at[-1] for line in lines), default=0.0))
    lines = [line._replace(at=[t / size for t in line.at]) for line in lines]
    return _best_so_far(
        "Progress against compute",
        "The same against the time that training took, summed over all workers.",
        lines,
        f"compute spent ({unit})",
    )


def average(*studies: Study) -> Spec:
    """The mean validation accuracy of the last P candidates that were trained."""
    data = []
    for study, name, colour in _coloured(studies):
        p = study.settings.population
        values = [row["fitness"] for row in finished(study)]
        sums = [0.0, *accumulate(values)]
        means = [(sums[i] - sums[max(0, i - p)]) / min(i, p) for i in range(1, len(sums))]
        stride = 1 + len(means) // _POINTS
        data.append(
            {
                "type": "scatter",
                "name": shown(name, 40),
                "x": list(range(1, len(means) + 1))[::stride],
                "y": [round(value, 3) for value in means[::stride]],
                "mode": "lines",
                "line": {"color": colour, "width": 2},
                "hovertemplate": "%{y:.2f} % after %{x} candidates<extra></extra>",
            }
        )
        if study.relu is not None and means and len(studies) == 1:
            data.append(_level(study.relu, len(means), GREY))
    if not any(trace["x"] for trace in data):
        return theme.nothing("Average of the population", _NONE_YET)
    sizes = sorted({study.settings.population for study in studies})
    return theme.figure(
        "Average of the population",
        f"The mean validation accuracy of the last P = {', '.join(map(str, sizes))} candidates. "
        "One that failed counts as 0.",
        data,
        x="candidates evaluated",
        y=_FITNESS,
        xaxis={"rangemode": "tozero"},
        yaxis={"rangemode": "tozero"},
        showlegend=len(studies) > 1,
    )


def _coloured(studies: Sequence[Study]) -> list[tuple[Study, str, str]]:
    return [
        (study, name, PALETTE[i % len(PALETTE)])
        for i, (study, name) in enumerate(zip(studies, names(studies), strict=True))
    ]


def _lines(studies: Sequence[Study], place: Callable[[Sequence[Row]], list[float]]) -> list[_Line]:
    found = []
    for study, name, colour in _coloured(studies):
        rows = finished(study)
        found.append(_Line(study, name, colour, steps(rows), place(rows)))
    return found


def _best_so_far(title: str, caption: str, lines: Sequence[_Line], x: str) -> Spec:
    lines = [line for line in lines if line.steps]
    if not lines:
        return theme.nothing(title, _NONE_YET)
    end = max(line.at[-1] for line in lines)
    low, high = _range(lines)
    data: list[Spec] = []
    for line in lines:
        data += [_steps(line, len(lines) > 1), *_relu(line, end, len(lines) > 1)]
    for line in lines:  # above all lines
        data.append(_stars(line, end, low, high, _STARS if len(lines) == 1 else 1))
    return theme.figure(
        title,
        caption,
        data,
        x=x,
        y=_FITNESS,
        xaxis={"range": [-0.02 * end, 1.02 * end]},
        yaxis={"range": [low, high]},
        showlegend=len(lines) > 1,
    )


def _range(lines: Sequence[_Line]) -> tuple[float, float]:
    """From ReLU to the best, with some air; the first weak candidates would flatten the rest."""
    high = max(max(line.steps[-1].row["fitness"], line.study.relu or 0) for line in lines)
    low = min(
        min(line.steps[len(line.steps) // 2].row["fitness"], line.study.relu or 100)
        for line in lines
    )
    air = max(0.15 * (high - low), 0.5)
    return low - air, high + air


def _steps(line: _Line, legend: bool) -> Spec:
    rows = [*(step.row for step in line.steps), line.steps[-1].row]
    return {
        "type": "scatter",
        "name": shown(line.name, 40),
        "x": [*(line.at[step.after] for step in line.steps), line.at[-1]],
        "y": [row["fitness"] for row in rows],
        "customdata": [[row["number"], shown(formula(row["function"]), 120)] for row in rows],
        "mode": "lines",
        "line": {"color": line.colour, "width": 2.5, "shape": "hv"},
        "showlegend": legend,
        "hovertemplate": _HOVER,
    }


def _relu(line: _Line, end: float, several: bool) -> list[Spec]:
    if line.study.relu is None:
        return []
    level, colour = line.study.relu, line.colour if several else GREY
    mark = {
        "type": "scatter",
        "x": [0],
        "y": [level],
        "mode": "markers",
        "marker": {"color": colour, "size": 10, "symbol": "diamond"},
        "showlegend": False,
        "cliponaxis": False,
        "hovertemplate": "<b>ReLU</b>: %{y:.2f} %<extra></extra>",
    }
    return [_level(level, end, colour, "" if several else "ReLU"), mark]


def _level(level: float, end: float, colour: str, label: str = "ReLU") -> Spec:
    return {
        "type": "scatter",
        "x": [0, end],
        "y": [level, level],
        "mode": "lines+text",
        "text": ["", label],
        "textposition": "top left",
        "line": {"color": colour, "dash": "dot", "width": 1.5},
        "showlegend": False,
        "hovertemplate": "<b>ReLU</b>: %{y:.2f} %<extra></extra>",
    }


def _stars(line: _Line, end: float, low: float, high: float, count: int) -> Spec:
    """The best, then the greatest improvements, as far as their formulas have room."""
    taken = [_Box(0, 1, ((line.study.relu or low) - low) / (high - low) - 0.02, 0.04)]
    chosen: list[tuple[Step, str]] = []
    best, *others = reversed(line.steps)
    for step in (best, *sorted(others, key=lambda step: -step.gain)):
        u = line.at[step.after] / end
        v = (step.row["fitness"] - low) / (high - low)
        place = _room(u, v, len(_label(step)), taken) if v > 0 else None
        if place is None and step is not best:
            continue
        where, box = place or ("top left" if u > 0.5 else "bottom right", _Box(u, 0, v, 0))
        taken.append(box)
        chosen.append((step, where))
        if len(chosen) == count:
            break
    return {
        "type": "scatter",
        "x": [line.at[step.after] for step, _ in chosen],
        "y": [step.row["fitness"] for step, _ in chosen],
        "customdata": [
            [step.row["number"], shown(formula(step.row["function"]), 120)] for step, _ in chosen
        ],
        "mode": "markers+text",
        "meta": {"wide": True},  # a narrow page shows the stars alone
        "text": [shown(_label(step), 48) for step, _ in chosen],
        "textposition": [where for _, where in chosen],
        "textfont": {"size": 12},
        "marker": {"color": line.colour, "size": 13, "symbol": "star"},
        "showlegend": False,
        "cliponaxis": False,
        "hovertemplate": _HOVER,
    }


def _label(step: Step) -> str:
    return theme.shortened(formula(step.row["function"]), 48)


class _Box(NamedTuple):
    """What a label takes up, in parts of the plot."""

    left: float
    width: float
    bottom: float
    height: float

    def meets(self, other: "_Box") -> bool:
        return (
            self.left < other.left + other.width
            and other.left < self.left + self.width
            and self.bottom < other.bottom + other.height
            and other.bottom < self.bottom + self.height
        )


def _room(u: float, v: float, letters: int, taken: Sequence[_Box]) -> tuple[str, _Box] | None:
    """Below a rising line to the right, or above it to the left, it is never in the way."""
    width, height = 0.02 + 0.0105 * letters, 0.075
    right = ("bottom right", _Box(u, width, v - height, height))
    left = ("top left", _Box(u - width, width, v, height))
    for where, box in (right, left) if u < 0.5 else (left, right):
        inside = box.left >= 0 and box.left + box.width <= 1 and box.bottom >= 0
        if inside and not any(box.meets(other) for other in taken):
            return where, box
    return None

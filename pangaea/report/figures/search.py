"""How a search went (paper, figures on progress, reliability and efficiency)."""

from collections.abc import Callable, Sequence
from itertools import accumulate
from typing import NamedTuple

from pangaea.report import texts
from pangaea.report.figures import On, figure, theme
from pangaea.report.figures.theme import GREY, PALETTE, Spec, rounded, shown
from pangaea.report.measures import time_unit
from pangaea.report.records import Improvement, Row, Snapshot, names, steps
from pangaea.tasks.goal import Goal

_NONE_YET = "No candidate has been trained to its end yet."
_STARS = 5  # labelled functions of one study; more do not fit beside each other
_POINTS = 500  # of a line: more than a screen shows


class _Line(NamedTuple):
    """The best of a study so far, against something that grows."""

    study: Snapshot
    name: str
    colour: str
    steps: list[Improvement]
    at: list[float]  # where on the x axis each result stands, and 0 before the first


@figure(On("progress", 1), takes="studies")
def progress(*studies: Snapshot) -> Spec:
    """The best score so far against candidates, the baseline's at 0, notable functions."""
    lines = _lines(studies, lambda rows: [float(i) for i in range(len(rows) + 1)])
    baselines = ", ".join(dict.fromkeys(texts.name(study.baseline) for study in studies))
    return _best_so_far(
        "Progress",
        f"The best {studies[0].goal.called('validation')} so far. The diamond and the dotted line "
        f"are {baselines}; a star is a function worth noting.",
        lines,
        "candidates evaluated",
        theme.counted(max((line.at[-1] for line in lines), default=0)),
    )


@figure(On("progress", 2, "half"), takes="studies")
def compute(*studies: Snapshot) -> Spec:
    """The best score so far against the compute spent."""
    lines = _lines(studies, lambda rows: [0.0, *accumulate(row["seconds"] for row in rows)])
    unit, size = time_unit(max((line.at[-1] for line in lines), default=0.0))
    lines = [line._replace(at=[t / size for t in line.at]) for line in lines]
    return _best_so_far(
        "Progress against compute",
        "The same against the time that training took, summed over all workers.",
        lines,
        f"compute spent ({unit})",
        {},
    )


@figure(On("progress", 3, "half"), takes="studies")
def average(*studies: Snapshot) -> Spec:
    """The mean score of the last P candidates, of those that have one."""
    goal = studies[0].goal
    score = theme.score("y", goal)
    data = []
    for study, name, colour in _coloured(studies):
        after, means = _averages([row["score"] for row in study.finished], study.population)
        stride = 1 + len(means) // _POINTS
        data.append(
            {
                "type": "scatter",
                "name": shown(name, 40),
                "x": after[::stride],
                "y": [rounded(mean) for mean in means[::stride]],
                "mode": "lines",
                "line": {"color": colour, "width": 2},
                "hovertemplate": f"{score} after %{{x}} candidates<extra></extra>",
            }
        )
        if study.baseline_score is not None and means and len(studies) == 1:
            name = texts.name(study.baseline)
            data.append(_level(study, len(study.finished), GREY, name))
    if not any(trace["x"] for trace in data):
        return theme.nothing("Average of the population", _NONE_YET)
    sizes = sorted({study.population for study in studies})
    return theme.figure(
        "Average of the population",
        f"The mean {goal.called('validation')} of the last P = {', '.join(map(str, sizes))} "
        "candidates. Those that failed have no score, and do not count.",
        data,
        x="candidates evaluated",
        y=goal.label("validation"),
        xaxis={"rangemode": "tozero"},
        showlegend=len(studies) > 1,
    )


def _averages(scores: Sequence[float | None], count: int) -> tuple[list[int], list[float]]:
    """After how many results, and the mean of the last ones."""
    sums = [0.0, *accumulate(score or 0.0 for score in scores)]
    known = [0, *accumulate(int(score is not None) for score in scores)]
    after, means = [], []
    for i in range(1, len(sums)):
        before = max(0, i - count)
        if known[i] > known[before]:
            after.append(i)
            means.append((sums[i] - sums[before]) / (known[i] - known[before]))
    return after, means


def _coloured(studies: Sequence[Snapshot]) -> list[tuple[Snapshot, str, str]]:
    return [
        (study, name, PALETTE[i % len(PALETTE)])
        for i, (study, name) in enumerate(zip(studies, names(studies), strict=True))
    ]


def _lines(
    studies: Sequence[Snapshot], place: Callable[[Sequence[Row]], list[float]]
) -> list[_Line]:
    return [
        _Line(study, name, colour, steps(study.finished, study.goal), place(study.finished))
        for study, name, colour in _coloured(studies)
    ]


def _best_so_far(title: str, caption: str, lines: Sequence[_Line], x: str, axis: Spec) -> Spec:
    lines = [line for line in lines if line.steps]
    if not lines:
        return theme.nothing(title, _NONE_YET)
    goal = lines[0].study.goal
    end = max(line.at[-1] for line in lines) or 1.0  # a judge of one's own may take no time
    worst, best = _range(lines, goal)
    data: list[Spec] = []
    for line in lines:
        data += [_steps(line, len(lines) > 1), *_baseline(line, end, len(lines) > 1)]
    for line in lines:  # above all lines
        data.append(_stars(line, end, worst, best, _STARS if len(lines) == 1 else 1))
    return theme.figure(
        title,
        caption,
        data,
        x=x,
        y=goal.label("validation"),
        xaxis={"range": [-0.02 * end, 1.02 * end], **axis},
        yaxis={"range": sorted((goal.oriented(worst), goal.oriented(best)))},
        showlegend=len(lines) > 1,
    )


def _range(lines: Sequence[_Line], goal: Goal) -> tuple[float, float]:
    """From the baseline to the best, oriented, with some air; the first weak candidates would
    flatten the rest."""
    levels = [line.study.baseline_score for line in lines]
    scores = [level for level in levels if level is not None]
    for line in lines:
        middle, last = line.steps[len(line.steps) // 2], line.steps[-1]
        scores += [middle.row["score"], last.row["score"]]
    worths = [goal.oriented(score) for score in scores]
    worst, best = min(worths), max(worths)
    air = 0.15 * (best - worst) or 0.05 * abs(best) or 1.0
    return worst - air, best + air


def _steps(line: _Line, legend: bool) -> Spec:
    rows = [*(step.row for step in line.steps), line.steps[-1].row]
    return {
        "type": "scatter",
        "name": shown(line.name, 40),
        "x": [*(line.at[step.after] for step in line.steps), line.at[-1]],
        "y": [row["score"] for row in rows],
        "customdata": [_about(row) for row in rows],
        "mode": "lines",
        "line": {"color": line.colour, "width": 2.5, "shape": "hv"},
        "showlegend": legend,
        "hovertemplate": _hover(line.study.goal),
    }


def _about(row: Row) -> list[object]:
    return [row["number"], shown(texts.short(row["function"]), 120)]


def _hover(goal: Goal) -> str:
    score = theme.score("y", goal)
    return f"<b>%{{customdata[1]}}</b><br>candidate %{{customdata[0]}}: {score}<extra></extra>"


def _baseline(line: _Line, end: float, several: bool) -> list[Spec]:
    study = line.study
    if study.baseline_score is None:
        return []
    colour, name = line.colour if several else GREY, texts.name(study.baseline)
    mark = {
        "type": "scatter",
        "x": [0],
        "y": [study.baseline_score],
        "mode": "markers",
        "marker": {"color": colour, "size": 10, "symbol": "diamond"},
        "showlegend": False,
        "cliponaxis": False,
        "hovertemplate": _level_hover(study),
    }
    return [_level(study, end, colour, "" if several else name), mark]


def _level_hover(study: Snapshot) -> str:
    name = shown(texts.name(study.baseline), 40)
    return f"<b>{name}</b>: {theme.score('y', study.goal)}<extra></extra>"


def _level(study: Snapshot, end: float, colour: str, label: str) -> Spec:
    """The baseline's score all the way."""
    return {
        "type": "scatter",
        "x": [0, end],
        "y": [study.baseline_score] * 2,
        "mode": "lines+text",
        "text": ["", shown(label, 40)],
        "textposition": "top left",
        "line": {"color": colour, "dash": "dot", "width": 1.5},
        "showlegend": False,
        "hovertemplate": _level_hover(study),
    }


def _stars(line: _Line, end: float, worst: float, best: float, count: int) -> Spec:
    """The best, then the greatest improvements, as far as their formulas have room."""
    goal, level = line.study.goal, line.study.baseline_score

    def height(score: float) -> float:
        return (goal.oriented(score) - worst) / (best - worst)

    taken = [] if level is None else [_Box(0, 1, height(level) - 0.02, 0.04)]
    labelled: list[tuple[Improvement, str]] = []
    last, *others = reversed(line.steps)
    for step in (last, *sorted(others, key=lambda step: -step.gain)):
        u, v = line.at[step.after] / end, height(step.row["score"])
        place = _room(u, v, len(_label(step)), taken) if v > 0 else None
        if place is None and step is not last:
            continue
        where, box = place or ("top left" if u > 0.5 else "bottom right", _Box(u, 0, v, 0))
        taken.append(box)
        labelled.append((step, where if goal.maximised else _MIRRORED[where]))
        if len(labelled) == count:
            break
    return {
        "type": "scatter",
        "x": [line.at[step.after] for step, _ in labelled],
        "y": [step.row["score"] for step, _ in labelled],
        "customdata": [_about(step.row) for step, _ in labelled],
        "mode": "markers+text",
        "meta": {"wide": True},  # a narrow page shows the stars alone
        "text": [shown(_label(step), 48) for step, _ in labelled],
        "textposition": [where for _, where in labelled],
        "textfont": {"size": 12},
        "marker": {"color": line.colour, "size": 13, "symbol": "star"},
        "showlegend": False,
        "cliponaxis": False,
        "hovertemplate": _hover(goal),
    }


# Where a line falls as it gets better, everything is upside down.
_MIRRORED = {"top left": "bottom left", "bottom right": "top right"}


def _label(step: Improvement) -> str:
    return theme.shortened(texts.short(step.row["function"]), 48)


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

"""What a function looks like, how its parameters adapt, and how it trains."""

import math
from collections.abc import Mapping, Sequence
from functools import lru_cache
from statistics import fmean
from typing import Any

from pangaea.functions.catalog import parse, resolve
from pangaea.functions.expression import Function
from pangaea.report import texts
from pangaea.report.figures import On, figure, theme
from pangaea.report.figures.theme import BLUE, GREY, PALETTE, VERMILION, Spec, rounded, shown
from pangaea.report.records import Snapshot
from pangaea.report.terminal.curve import frame, points
from pangaea.study.stages import BASELINE, PROPOSED, TEST, TESTED
from pangaea.study.trained import at_the_end, mean, recorded, weights

_GREEK = {"alpha": "α", "beta": "β", "gamma": "γ"}
_XS = points(161)
_LINES = 6  # of one function: more cannot be told apart
_NO_FUNCTION = "No candidate has been trained to its end yet."


@figure(takes="function")
def shape(function: Function | str, trained: Mapping[str, float] | None = None) -> Spec:
    """A function with its derivative; dotted as it starts, solid at its trained parameters."""
    f: Any = resolve(function)
    at = dict(trained or {})
    moments: list[tuple[str, dict[str, float], Spec]] = [("", at, {"width": 2.5})]
    if at:
        moments.insert(0, (" at the start", {}, {"width": 1.8, "dash": "dot"}))
    data, seen = [], []
    for ending, values, line in moments:
        for name, slope, colour in (("f(x)", False, BLUE), ("f′(x)", True, VERMILION)):
            ys = _sampled(f, values, slope=slope)
            seen += ys
            data.append(_line(name + ending, ys, {"color": colour, **line}))
    values_shown = ", ".join(
        f"{_GREEK.get(name, name)} = {value:.3g}" for name, value in at.items()
    )
    return theme.figure(
        _title(f, at),
        f"{values_shown} after training" if at else "",
        data,
        x="x",
        height=280,
        yaxis=_window(seen),
        hovermode="x",
        margin={"l": 40, "r": 8, "b": 40},
        showlegend=False,
    )


def _title(f: Any, values: Mapping[str, float]) -> str:
    """As people read it, unless that has lost a parameter whose value is shown."""
    kept: str = f.readable()
    shorter = f.simplified().readable() if isinstance(f, Function) else kept
    lost = {*kept} - {*shorter}
    return kept if values and lost & {*_GREEK.values()} else shorter


@figure(On("functions", 1, "third"))
def gallery(study: Snapshot, count: int = 6) -> list[Spec]:
    """The shapes of the best functions and their derivatives, at initial and trained values."""
    panels = []
    for row in study.best(count):
        function = row["function"]
        panels.append(shape(function, at_the_end(study, function)))
        panels[-1]["layout"]["meta"]["group"] = (
            "The best functions (blue), their derivatives (orange); dotted as they start"
        )
    return panels


@figure(On("details", 1, "half"), takes="candidate")
def adaptation(
    study: Snapshot,
    number: int | None = None,
    function: str | None = None,
    task: str | None = None,
) -> list[Spec]:
    """A function through training, early to late, and through depth, first layer to last.

    The function is a candidate's, or any that was evaluated, on one task or on any.
    """
    title = "Adaptation"
    if function is None:
        row = study.candidate(number)
        if row is None:
            return [theme.nothing(title, _NO_FUNCTION)]
        function = row["function"]
    f = parse(function)
    parameters = recorded(study, str(f), task)
    if not parameters:
        why = "no run has recorded its parameters yet." if f.parameters else "nothing in it adapts."
        return [theme.nothing(title, f"{texts.short(function)}: {why}")]
    one = study.unit.removesuffix("s")
    epochs = min(map(len, parameters.values()))
    layers = min(len(values[-1]) for values in parameters.values())
    counts = weights(study, str(f), task)
    through_training = {
        "before training" if e == 0 else f"{one} {e}": {
            name: mean(values[e], counts) for name, values in parameters.items()
        }
        for e in _spread(epochs)
    }
    through_depth = {
        f"layer {i + 1}": {name: values[-1][i] for name, values in parameters.items()}
        for i in _spread(layers)
    }
    specs = [
        _family(
            f,
            "Through training",
            "The function at the means of its parameters over the whole network, early to late.",
            through_training,
        ),
        _family(
            f,
            "Through depth",
            "The function after training at the means of its parameters in each layer.",
            through_depth,
        ),
    ]
    for spec in specs:
        spec["layout"]["meta"]["group"] = f"{title} of {texts.short(function)}"
    return specs


def _spread(count: int) -> list[int]:
    """At most six of so many, evenly, the first and the last among them."""
    if count <= _LINES:
        return list(range(count))
    return [round(i * (count - 1) / (_LINES - 1)) for i in range(_LINES)]


def _family(f: Function, title: str, caption: str, members: Mapping[str, Any]) -> Spec:
    data, seen = [], []
    for i, (name, values) in enumerate(members.items()):
        ys = _sampled(f, values)
        seen += ys
        shade = theme.blend(i / max(1, len(members) - 1))
        data.append(_line(name, ys, {"color": shade, "width": 2.2}))
        data[-1]["hovertext"] = ", ".join(f"{_GREEK[n]} = {v:.3g}" for n, v in values.items())
        data[-1]["hovertemplate"] = f"{name}: %{{hovertext}}<extra></extra>"
    return theme.figure(
        title,
        caption,
        data,
        x="x",
        y="f(x)",
        height=360,
        yaxis=_window(seen),
        showlegend=True,
    )


@figure(On("functions", 2), On("details", 3, "half"), takes="candidate")
def curves(study: Snapshot, numbers: int | Sequence[int] | None = None) -> Spec:
    """Scores on training and validation data through training, against the baseline's."""
    title = "Training"
    if numbers is None:
        numbers = [row["number"] for row in study.best(TESTED)]
    several = [numbers] if isinstance(numbers, int) else numbers
    rows = [row for n in several if (row := study.candidate(n)) and row["score"] is not None]
    if not rows:
        return theme.nothing(title, _NO_FUNCTION)
    functions = list(dict.fromkeys([*(row["function"] for row in rows), study.baseline]))
    full = {run["function"] for run in study.runs(TEST.name)} >= set(functions)
    stages = (TEST.name,) if full else (*PROPOSED, BASELINE.name)
    budget = study.budget("full" if full else "search")
    data: list[Spec] = []
    runs = 0
    for i, text in enumerate(functions):
        reference = text == study.baseline
        colour = GREY if reference else PALETTE[i % len(PALETTE)]
        name = texts.name(text) if reference else texts.short(text)
        means, n = _means(study, stages, text, budget)
        runs = max(runs, n)
        for kind, dash in (("training", "dot"), ("validation", "solid")):
            hover = f"{theme.score('y', study.goal)} ({kind})"
            line = {"color": colour, "dash": dash}
            data.append(by_epoch(name, kind, means[kind], line, hover))
    if not any(trace["x"] for trace in data):
        return theme.nothing(title, "This task records no scores through training.")
    return theme.figure(
        title,
        f"The {study.goal.called()} through {budget} {study.unit}: dotted on the training data, "
        f"solid on the validation data; means of up to {runs} runs.",
        data,
        x=study.unit,
        y=f"{study.goal.label()}, dotted: training",
        xaxis=theme.counted(budget),
        hovermode="x unified",
        showlegend=True,
    )


def _means(
    study: Snapshot, stages: Sequence[str], function: str, budget: int
) -> tuple[dict[str, dict[int, float]], int]:
    """The mean over the runs of a function, by epoch, and how many runs there were."""
    sums: dict[str, dict[int, list[float]]] = {"training": {}, "validation": {}}
    runs = [run for run in study.trained(function, stages) if run["budget"] == budget]
    for run in runs:
        written = study.curves(run["run"])
        for kind, by_epoch in sums.items():
            for epoch, value in series(written.get(kind)).items():
                by_epoch.setdefault(epoch, []).append(value)
    means = {
        kind: {epoch: fmean(values) for epoch, values in sorted(by_epoch.items())}
        for kind, by_epoch in sums.items()
    }
    return means, len(runs)


def series(written: Any) -> dict[int, float]:
    """A curve of a study's file by epoch: a list of them all, or those that were judged."""
    if isinstance(written, list):
        written = dict(enumerate(written, 1))
    if not isinstance(written, dict):
        return {}
    return {
        int(epoch): float(value)
        for epoch, value in written.items()
        if str(epoch).isdecimal() and _number(value)
    }


def _number(value: Any) -> bool:
    return isinstance(value, int | float) and math.isfinite(value)


def by_epoch(name: str, kind: str, means: Mapping[int, float], line: Spec, hover: str) -> Spec:
    judged = kind == "validation"
    return {
        "type": "scatter",
        "name": shown(name, 48),
        "x": list(means),
        "y": [rounded(value) for value in means.values()],
        "mode": "lines+markers" if judged else "lines",
        "line": {"width": 2.2 if judged else 1.4, **line},
        "marker": {"size": 6},
        "legendgroup": shown(name, 48),
        "showlegend": judged,
        "hovertemplate": hover,
    }


def _sampled(f: Any, values: Mapping[str, float], *, slope: bool = False) -> list[float | None]:
    return list(_kept(f, tuple(values.items()), slope))


# A live page asks for the same few curves again and again: they are most of its work.
@lru_cache(maxsize=2048)
def _kept(f: Any, values: tuple[tuple[str, float], ...], slope: bool) -> tuple[float | None, ...]:
    measure = f.slope if slope else f
    ys = (measure(x, **dict(values)) for x in _XS)
    return tuple(float(f"{y:.4g}") if math.isfinite(y) else None for y in ys)


def _line(name: str, ys: Sequence[float | None], line: Spec) -> Spec:
    return {
        "type": "scatter",
        "name": shown(name),
        "x": _XS_SHOWN,
        "y": ys,
        "mode": "lines",
        "line": line | {"simplify": False},  # what is left out of a smooth line shows as corners
        "hovertemplate": "%{y:.3g}",
    }


_XS_SHOWN = [round(x, 4) for x in _XS]


def _window(seen: Sequence[float | None]) -> Spec:
    low, high = frame([y for y in seen if y is not None])
    air = 0.06 * (high - low)
    return {"range": [low - air, high + air]}

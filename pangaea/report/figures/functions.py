"""What a function looks like, how its parameters adapt, and how it trains."""

import math
from collections.abc import Mapping, Sequence
from functools import lru_cache
from statistics import fmean
from typing import Any

from pangaea.activation.names import resolve
from pangaea.functions.expression import Function
from pangaea.functions.parser import parse
from pangaea.report.figures import theme
from pangaea.report.figures.theme import BLUE, GREY, PALETTE, VERMILION, Spec, shown
from pangaea.report.records import TESTED, best, candidate, formula
from pangaea.report.terminal.curve import frame, points
from pangaea.study.study import RELU, Study

_GREEK = {"alpha": "α", "beta": "β", "gamma": "γ"}
_XS = points(161)
_LINES = 6  # of one function: more cannot be told apart
_NO_FUNCTION = "No candidate has been trained to its end yet."

Parameters = dict[str, list[list[float]]]  # name to values by epoch and layer


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
        f.readable(),
        f"{values_shown} after training" if at else "",
        data,
        x="x",
        height=280,
        yaxis=_window(seen),
        hovermode="x",
        margin={"l": 40, "r": 8, "b": 40},
        showlegend=False,
    )


def gallery(study: Study, count: int = 6) -> list[Spec]:
    """The shapes of the best functions and their derivatives, at initial and trained values."""
    found = []
    for row in best(study, count):
        values = _at_the_end(recorded(study, row))
        found.append(shape(row["function"], values))
        found[-1]["layout"]["meta"]["group"] = (
            "The best functions (blue), their derivatives (orange); dotted as they start"
        )
    return found


def recorded(study: Study, row: Mapping[str, Any]) -> Parameters:
    """A function's parameters through the longest training that there is a record of."""
    places = [
        run["position"]
        for stage in ("test", "rerank")
        for run in study.runs(stage)
        if run["function"] == row["function"] and run["failure"] is None
    ]
    curves = study.curves(places[0] if places else row["position"])
    parameters: Parameters = curves.get("parameters", {})
    every = (value for epochs in parameters.values() for layers in epochs for value in layers)
    return parameters if all(map(math.isfinite, every)) else {}


def _at_the_end(parameters: Parameters) -> dict[str, float]:
    """Each parameter's mean over the layers after training."""
    return {name: fmean(epochs[-1]) for name, epochs in parameters.items()}


def adaptation(study: Study, number: int | None = None) -> list[Spec]:
    """A function through training, early to late, and through depth, first layer to last."""
    title = "Adaptation"
    row = candidate(study, number)
    if row is None:
        return [theme.nothing(title, _NO_FUNCTION)]
    parameters = recorded(study, row) if row["fitness"] else {}
    if not parameters:
        why = f"{formula(row['function'])} has no recorded parameters: nothing in it adapts."
        return [theme.nothing(title, why)]
    f = parse(row["function"])
    epochs = min(map(len, parameters.values()))
    layers = min(len(values[-1]) for values in parameters.values())
    through_training = {
        "before training" if e == 0 else f"epoch {e}": {
            name: fmean(values[e]) for name, values in parameters.items()
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
        spec["layout"]["meta"]["group"] = f"{title} of {f.readable()}"
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


def curves(study: Study, numbers: Sequence[int] | None = None) -> Spec:
    """Training and validation accuracy by epoch of some functions, against ReLU."""
    title = "Training"
    if numbers is None:
        numbers = [row["number"] for row in best(study, TESTED)]
    chosen = [row["function"] for n in numbers if (row := candidate(study, n)) and row["fitness"]]
    if not chosen:
        return theme.nothing(title, _NO_FUNCTION)
    tested = {run["function"] for run in study.runs("test")}
    full = tested >= {RELU, *chosen}
    stages = ("test",) if full else ("search", "baseline")
    data: list[Spec] = []
    runs = 0
    functions = list(dict.fromkeys([*chosen, RELU]))
    for i, text in enumerate(functions):
        colour = GREY if text == RELU else PALETTE[i % len(PALETTE)]
        means, n = _means(study, stages, text)
        runs = max(runs, n)
        for kind, dash in (("training", "dot"), ("validation", "solid")):
            name = "ReLU" if text == RELU else formula(text)
            data.append(_by_epoch(name, kind, means[kind], {"color": colour, "dash": dash}))
    recipe = "full" if full else "search"
    return theme.figure(
        title,
        f"Accuracy by epoch with the {recipe} recipe: dotted on the training data, solid on the "
        f"validation data; means of up to {runs} runs.",
        data,
        x="epoch",
        y="accuracy (%)",
        hovermode="x unified",
        showlegend=True,
    )


def _means(
    study: Study, stages: Sequence[str], function: str
) -> tuple[dict[str, dict[int, float]], int]:
    """The mean over the runs of a function, by epoch, and how many runs there were."""
    sums: dict[str, dict[int, list[float]]] = {"training": {}, "validation": {}}
    places = [
        run["position"]
        for stage in stages
        for run in study.runs(stage)
        if run["function"] == function and run["failure"] is None
    ]
    for place in places:
        seen = study.curves(place)
        for epoch, value in enumerate(seen.get("training", []), 1):
            sums["training"].setdefault(epoch, []).append(value)
        for key, value in seen.get("validation", {}).items():
            sums["validation"].setdefault(int(key), []).append(value)
    means = {
        kind: {e: fmean(v) for e, v in found.items() if all(map(math.isfinite, v))}
        for kind, found in sums.items()
    }
    return means, len(places)


def _by_epoch(name: str, kind: str, means: Mapping[int, float], line: Spec) -> Spec:
    judged = kind == "validation"
    return {
        "type": "scatter",
        "name": shown(name, 48),
        "x": list(means),
        "y": [round(value, 3) for value in means.values()],
        "mode": "lines+markers" if judged else "lines",
        "line": {"width": 2.2 if judged else 1.4, **line},
        "marker": {"size": 6},
        "legendgroup": shown(name, 48),
        "showlegend": judged,
        "hovertemplate": f"%{{y:.2f}} % ({kind})",
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
        "line": line,
        "hovertemplate": "%{y:.3g}",
    }


_XS_SHOWN = [round(x, 4) for x in _XS]


def _window(seen: Sequence[float | None]) -> Spec:
    low, high = frame([y for y in seen if y is not None])
    air = 0.06 * (high - low)
    return {"range": [low - air, high + air]}

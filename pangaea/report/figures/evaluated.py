"""How functions trained that were evaluated, whether or not a search proposed them."""

from collections.abc import Sequence
from statistics import fmean
from typing import Any

from pangaea.errors import UnknownNameError
from pangaea.functions.catalog import spelled
from pangaea.paper.lines import settled
from pangaea.report import texts
from pangaea.report.figures import figure, theme
from pangaea.report.figures.functions import by_epoch, series
from pangaea.report.figures.theme import GREY, PALETTE, Spec, rounded, shown
from pangaea.report.records import Row, Snapshot
from pangaea.study.stages import EVALUATION, PAPER, TEST

_STAGES = (PAPER.name, EVALUATION.name, TEST.name)
_NONE = "No run of it has its result yet."


def _runs(study: Snapshot, task: str | None) -> list[Row]:
    """The evaluated runs on a task, by default the one with most of them."""
    runs = [run for stage in _STAGES for run in study.runs(stage) if run["score"] is not None]
    tasks = [run["task"] for run in runs]
    if task is None:
        task = max(dict.fromkeys(tasks), key=tasks.count, default=None)
    elif tasks and task not in tasks:
        raise UnknownNameError("task of the study", task, dict.fromkeys(tasks))
    return [run for run in runs if run["task"] == task]


@figure(takes="study")
def evaluated(
    study: Snapshot, functions: Sequence[str] | None = None, task: str | None = None
) -> Spec:
    """Scores on training and validation data by epoch, of any functions that were evaluated."""
    runs = _runs(study, task)
    wanted = {settled(function, None)[0]: None for function in functions or ()}
    title = " and ".join(texts.inert(spelled(text)) for text in wanted) or "evaluated functions"
    title = f"Training of {title}"
    names = [run["function"] for run in runs if not functions or run["function"] in wanted]
    data: list[Spec] = []
    for i, text in enumerate(dict.fromkeys(names)):
        colour = GREY if text == study.baseline else PALETTE[i % len(PALETTE)]
        longest = max(run["budget"] for run in runs if run["function"] == text)
        alike = [r for r in runs if r["function"] == text and r["budget"] == longest]
        for kind, dash in (("training", "dot"), ("validation", "solid")):
            hover = f"{theme.score('y', study.goal)} ({kind}, n = {len(alike)})"
            line = {"color": colour, "dash": dash}
            means = _means(study, alike, kind)
            data.append(by_epoch(texts.inert(spelled(text)), kind, means, line, hover))
    if not any(trace["x"] for trace in data):
        return theme.nothing(title, _NONE)
    return theme.figure(
        title,
        f"The {study.goal.called()} on {runs[0]['task']}: dotted on the training data, solid "
        "on the validation data; means over the runs.",
        data,
        x=study.unit,
        y=f"{study.goal.label()}, dotted: training",
        xaxis=theme.counted(max(run["budget"] for run in runs)),
        hovermode="x unified",
        showlegend=True,
    )


def _means(study: Snapshot, runs: Sequence[Row], kind: str) -> dict[int, float]:
    values: dict[int, list[float]] = {}
    for run in runs:
        for epoch, value in series(study.curves(run["run"]).get(kind)).items():
            values.setdefault(epoch, []).append(value)
    return {epoch: fmean(known) for epoch, known in sorted(values.items())}


@figure(takes="study")
def each_run(
    study: Snapshot, function: str | None = None, task: str | None = None, part: str = "test"
) -> Spec:
    """A line for each run of a function (the baseline), failed ones as far as they came."""
    text = settled(function or study.baseline, None)[0]
    runs = [
        run
        for stage in _STAGES
        for run in study.runs(stage)
        if run["function"] == text and task in (None, run["task"])
    ]
    title = f"{texts.inert(spelled(text))}: every run" + (f" on {task}" if task else "")
    data: list[dict[str, Any]] = []
    for i, run in enumerate(runs):
        curve = series(study.curves(run["run"]).get(part))
        outcome = run["failure"] or study.goal.shown(run["score"])
        data.append(
            {
                "type": "scatter",
                "name": shown(outcome if task else f"{run['task']}: {outcome}", 60),
                "x": [*curve],
                "y": [rounded(value) for value in curve.values()],
                "mode": "lines",
                "line": {"color": PALETTE[i % len(PALETTE)], "width": 1.6},
            }
        )
    if not any(trace["x"] for trace in data):
        return theme.nothing(title, _NONE)
    failed = sum(run["failure"] is not None for run in runs)
    count = "one run" if len(runs) == 1 else f"{len(runs)} runs"
    return theme.figure(
        title,
        f"The {study.goal.called(part)} by epoch, {count}"
        + (f", {failed} failed." if failed else "."),
        data,
        x=study.unit,
        y=study.goal.label(part),
        xaxis=theme.counted(max(run["budget"] for run in runs)),
        showlegend=True,
    )

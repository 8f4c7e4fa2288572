"""The paper's figures, drawn from our runs and searches."""

import random
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from pangaea.errors import PangaeaError
from pangaea.evolution.creation import initial, parameterized
from pangaea.evolution.mutations import MUTATIONS
from pangaea.functions.catalog import catalog
from pangaea.functions.expression import Function
from pangaea.paper.contents import Experiment, experiment
from pangaea.paper.running import search_path
from pangaea.paper.scales import SCALES
from pangaea.report import plot

_EXAMPLES = 6


def drawn(name: str, study: Path, output: Path | None = None) -> str | None:
    """What to print of a figure, which is written to a page; None for what is a table of cells."""
    row = experiment(name)
    if row.shown_by is not None:
        return f"{row.caption} `{row.shown_by}` shows it.\n"
    if row.name in _TEXTS:
        return "\n".join([row.caption, "", *_TEXTS[row.name]()]) + "\n"
    if row.name in _PAGES:
        figures = _PAGES[row.name](row, study)
        page = output or Path(f"{row.name}.html")
        _save(page, figures)
        return f"{row.caption}\nwritten to {page}\n"
    return None


def _save(page: Path, figures: Sequence[Any]) -> None:
    parts = [
        figure.to_html(full_html=False, include_plotlyjs=number == 0)
        for number, figure in enumerate(figures)
    ]
    head = '<!doctype html><meta charset="utf-8"><meta name="generator" content="pangaea">'
    page.write_text("\n".join([head, *parts]), encoding="utf-8")


# Without any training


def _initial() -> list[str]:
    rng = random.Random(0)
    return [Function(initial(rng)).readable() for _ in range(_EXAMPLES)]


def _mutations() -> list[str]:
    """The paper's own examples, and one of each that is drawn here."""
    known, rng = catalog(), random.Random(0)
    parent = known["mutation-parent"]
    lines = [f"parent: {parent.readable()}"]
    for name, mutate in MUTATIONS.items():
        example, here = known[f"mutation-{name}"], Function(mutate(parent.expression, rng))
        lines.append(f"{name}: {example.readable()} (paper), {here.readable()} (here)")
    return lines


def _parameters() -> list[str]:
    known, rng = catalog(), random.Random(0)
    plain = known["parameterization-example-fixed"]
    example = known["parameterization-example"].readable()
    here = (parameterized(plain.expression, rng).readable() for _ in range(_EXAMPLES))
    return [f"{plain.readable()} becomes {example} (paper)", *(f"{text} (here)" for text in here)]


_TEXTS: dict[str, Callable[[], list[str]]] = {
    "initialization": _initial,
    "mutations": _mutations,
    "parameterization": _parameters,
}


# From searches


def _of_searches(figure: str) -> Callable[[Experiment, Path], list[Any]]:
    def draw(row: Experiment, study: Path) -> list[Any]:
        for scale in SCALES:
            paths = [search_path(study, scale, search) for search in row.searches]
            if there := [path for path in paths if path.exists()]:
                return [getattr(plot, figure)(*there)]
        raise PangaeaError(
            f"{row.name} is drawn from searches, and there is none yet beside {study}: "
            f"`pangaea paper run {row.name}` makes them"
        )

    return draw


# From runs


def _adaptation(row: Experiment, study: Path) -> list[Any]:
    return [plot.adaptation(study, function=cell.function) for cell in row.cells]


def _curves(row: Experiment, study: Path) -> list[Any]:
    reference, *others = row.cells
    task = _tasks(study, reference.task)
    return [plot.evaluated(study, [reference.function, o.function], task) for o in others]


def _splash(row: Experiment, study: Path) -> list[Any]:
    return [plot.each_run(study, cell.function, _tasks(study, cell.task)) for cell in row.cells]


def _tasks(study: Path, task: str) -> str:
    """The task itself, or a few samples of it if no run was on the whole."""
    from pangaea.study.study import Study

    with Study.open(study) as opened:
        there = {run["task"] for run in opened.runs()}
    return task if task in there or f"{task}/few" not in there else f"{task}/few"


_PAGES: dict[str, Callable[[Experiment, Path], list[Any]]] = {
    "progress": _of_searches("progress"),
    "population": _of_searches("average"),
    "cost": _of_searches("cost"),
    "compute": _of_searches("compute"),
    "adaptation": _adaptation,
    "curves": _curves,
    "splash": _splash,
}

"""The paper's figures, drawn from our runs and searches."""

import random
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import NamedTuple

from pangaea.errors import PangaeaError
from pangaea.evolution.creation import initial, parameterized
from pangaea.evolution.mutations import MUTATIONS
from pangaea.files import save
from pangaea.functions.catalog import catalog
from pangaea.functions.expression import Function
from pangaea.paper import lines
from pangaea.paper.contents import Experiment, experiment
from pangaea.paper.running import search_path
from pangaea.paper.scales import SCALES, Scale
from pangaea.paper.standing import Standing, standings
from pangaea.report.figures import figures
from pangaea.report.figures.theme import Spec
from pangaea.report.page.sheet import sheet
from pangaea.report.paper import missing
from pangaea.report.records import Snapshot, opened

_EXAMPLES = 6


class Drawn(NamedTuple):
    """Figures, and what is to be said of them."""

    specs: list[Spec]
    notes: list[str]


def drawn(
    name: str, study: Path, output: Path | None = None, scale: Scale | None = None
) -> str | None:
    """What to print of a figure, which is written to a page; None for what is a table of cells.

    Without a scale, from the largest runs or searches that there are.
    """
    row = experiment(name)
    if row.name in _TEXTS:
        text = "\n".join([row.caption, "", *_TEXTS[row.name]()]) + "\n"
        if output is None:
            return text
        save(output, text)
        return f"written to {output}\n"
    if row.name not in _PAGES:
        return None
    drawing = _PAGES[row.name](row, study, scale)
    page = output or Path(f"{row.name}.html")
    save(page, sheet(row.caption, drawing.notes, drawing.specs))
    return "\n".join([row.caption, *drawing.notes, f"written to {page}"]) + "\n"


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


def _of_searches(figure: str) -> Callable[[Experiment, Path, Scale | None], Drawn]:
    def draw(row: Experiment, study: Path, scale: Scale | None) -> Drawn:
        for size in SCALES if scale is None else (scale.name,):
            paths = {search.name: search_path(study, size, search) for search in row.searches}
            there = [path for path in paths.values() if path.exists()]
            if there:
                absent = [name for name, path in paths.items() if not path.exists()]
                return Drawn(_specs(figure, there), [*_searched(row.name, size, there, absent)])
        raise PangaeaError(
            f"{row.name} is drawn from searches, and there is none yet beside {study}: "
            f"`pangaea paper run {row.name}` makes them"
        )

    return draw


def _specs(figure: str, paths: list[Path]) -> list[Spec]:
    with ExitStack() as stack:
        spec: Spec = figures()[figure].make(*(stack.enter_context(opened(path)) for path in paths))
    return [spec]


def _searched(name: str, scale: str, there: list[Path], absent: list[str]) -> Iterator[str]:
    yield f"Of {', '.join(path.name for path in there)} (scale {scale})."
    if absent:
        count = len(absent) + len(there)
        yield (
            f"Missing are {len(absent)} of {count} searches of {name}: {', '.join(absent)}. "
            f"`pangaea paper run {name} --scale {scale}` makes them."
        )


# From runs


def _of_runs(
    draw: Callable[[Snapshot, list[Standing]], list[Spec]],
) -> Callable[[Experiment, Path, Scale | None], Drawn]:
    def from_runs(row: Experiment, study: Path, scale: Scale | None) -> Drawn:
        rows = standings(row, lines.read(study) if study.exists() else [], scale)
        there = [one for one in rows if one.kind is not None]
        if not there:
            raise PangaeaError(
                f"{row.name} is drawn from runs, and {study} has none of it yet: "
                f"`pangaea paper run {row.name} --study {study}` makes them"
            )
        recipes = [*dict.fromkeys(one.recipe for one in there if one.recipe)]
        compressed = [f"Compressed: {'; '.join(recipes)}."] if recipes else []
        with opened(study) as snapshot:
            return Drawn(draw(snapshot, there), [*compressed, *missing(row.name, rows, scale)])

    return from_runs


def _adaptation(study: Snapshot, there: list[Standing]) -> list[Spec]:
    make = figures()["adaptation"].make
    return [
        spec
        for one in there
        for spec in make(study, function=one.cell.function, task=one.task_trained)
    ]


def _curves(study: Snapshot, there: list[Standing]) -> list[Spec]:
    """Each function beside the baseline, if that is there."""
    make = figures()["evaluated"].make
    baseline = [one.cell.function for one in there if one.baseline]
    return [
        make(study, [*baseline, one.cell.function], one.task_trained)
        for one in there
        if not one.baseline or len(there) == 1
    ]


def _splash(study: Snapshot, there: list[Standing]) -> list[Spec]:
    make = figures()["each_run"].make
    return [make(study, one.cell.function, one.task_trained) for one in there]


_PAGES: dict[str, Callable[[Experiment, Path, Scale | None], Drawn]] = {
    "progress": _of_searches("progress"),
    "population": _of_searches("average"),
    "cost": _of_searches("cost"),
    "compute": _of_searches("compute"),
    "adaptation": _of_runs(_adaptation),
    "curves": _of_runs(_curves),
    "splash": _of_runs(_splash),
}

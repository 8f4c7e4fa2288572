"""One study for all of the paper's runs, and what other files add to it."""

import json
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from pangaea.errors import PangaeaError
from pangaea.paper import lines
from pangaea.paper.lines import Line
from pangaea.study.origin import ORIGIN, begin
from pangaea.study.settings import settings
from pangaea.study.stages import GENERAL, PAPER
from pangaea.study.study import Run, Study, Wanted
from pangaea.tasks.finding import task as find_task

STUDY = "paper.study"
_TASK = "wrn-10-4/cifar100"  # the one that the study names; its runs are of many


class Added(NamedTuple):
    """What became of the runs of another file."""

    added: int
    there: int  # before
    left_out: dict[str, int]  # why, and how many


def kept(path: Path | str) -> Study:
    """The study of the paper's runs, and the right to write it; a new one if there is none."""
    path = Path(path)
    if path.is_dir():
        raise PangaeaError(f"{path} is a folder: name the study's file, such as {path / STUDY}")
    if not path.exists():
        task = find_task(_TASK)
        return Study.create(path, settings({"task": _TASK}, task), task.about())
    study = Study.resume(path)
    if study.proposed() or study.asked([GENERAL.name]):
        study.close()
        raise PangaeaError(f"{path} is the study of a search: choose another file for the runs")
    return study


def add(others: Iterable[Path | str], study: Path | str = STUDY) -> Added:
    """Take over the test runs of other studies and files of lines, each run once."""
    read = [(other, lines.read(other)) for other in others]
    added = there = 0
    why: Counter[str] = Counter()
    with kept(study) as target:
        for other, runs in read:
            with lines.curves(other) as curves:
                became = _take(target, runs, curves)
            added, there = added + became.added, there + became.there
            why.update(became.left_out)
    return Added(added, there, dict(why))


def _take(study: Study, runs: Sequence[Line], curves: Callable[[Line], Any]) -> Added:
    known = {lines.identity(run) for run in lines.of_study(study)}
    new = [run for run in runs if lines.identity(run) not in known]
    fit, left_out = lines.fitting(new)
    waiting = {run.wanted: run for run in study.pending([PAPER.name])}
    # Runs of one source together: each change of it is noted.
    with study.transaction():
        for run in sorted(fit, key=lambda run: json.dumps([run[name] for name in ORIGIN])):
            _record(study, run | {"curves": curves(run)}, waiting)
    study.know({name: find_task(name).goal for name in {run["task"] for run in fit}})
    return Added(len(fit), len(runs) - len(new), left_out)


def _record(study: Study, run: Line, waiting: dict[Wanted, Run]) -> None:
    """As a run of its own, or as the result of the one that waits for it here."""
    recipes = {lines.recipe_key(run["task"], run["budget"]): run["recipe"]}
    begin(study, {name: run[name] for name in ORIGIN} | {"recipes": recipes})
    asked = {name: run[name] for name in lines.ASKED}
    wanted = Wanted(stage=PAPER.name, candidate=None, **asked)
    result = {name: value for name, value in run.items() if name not in asked}
    asked_for = waiting.pop(wanted, None) or study.ask(wanted)
    told = {name: result[name] or 0.0 for name in ("seconds", "finished")}  # 0: nobody knows
    study.record(asked_for.number, result | told)

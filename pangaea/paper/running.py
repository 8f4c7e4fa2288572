"""Running an experiment: what is missing of it, most telling first, into one study."""

import math
import shlex
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, NamedTuple

from pangaea.errors import PangaeaError
from pangaea.paper import adding, lines
from pangaea.paper.adding import STUDY
from pangaea.paper.contents import Cell, Experiment, Search, experiment, experiments
from pangaea.paper.scales import Ended, Kind, Scale, scale, wanted
from pangaea.paper.telling import trained
from pangaea.paper.watching import Deadline, Plain, TimeUpError, Watching
from pangaea.study import driver, origin
from pangaea.study.about import versions
from pangaea.study.runner import Runner, Stop, Watch
from pangaea.study.stages import PAPER
from pangaea.study.study import Study, Wanted
from pangaea.tasks.finding import task as find_task
from pangaea.training.how import How
from pangaea.workers.engine import engine
from pangaea.workers.judge import OUTSIDE, Judge
from pangaea.workers.judge import judge as train_and_judge
from pangaea.workers.place import Place

_SEARCHED = "searched"  # under which the study keeps the files of finished searches


class Outcome(NamedTuple):
    """How far an experiment is."""

    done: int  # runs that have ended, of those that it takes at this scale
    total: int
    searches: tuple[Path, ...]
    in_time: bool  # False: stopped because the minutes were over


def run(
    name: str,
    *,
    study: Path | str = STUDY,
    scale: str = "paper",
    runs: int | None = None,
    minutes: float | None = None,
    only: Sequence[str] = (),
    log: Path | str | None = None,
    commit: str | None = None,
    precision: str | None = None,
    watch: Watch | None = None,
    judge: Judge = train_and_judge,
    **given: Any,
) -> Outcome:
    """Run what is missing of an experiment; the same call goes on wherever it was stopped.

    `runs` of each cell instead of the paper's. After so many `minutes` it stops: what is running
    goes on from its checkpoint next time. `only` cells whose function, group, scope or task holds
    these texts, and searches that are called so: of texts for the same thing one, of others all.
    Every result is also a line of the file `log`. `precision` is bf16 or fp32, the device's own if
    not given; `given` says where it runs, as for a search.
    """
    _check(runs, minutes)
    place = Place.taken(given)
    if given:
        raise TypeError(f"run() got an unexpected keyword argument {min(given)!r}")
    whole = Campaign(experiment(name), _scale(scale), Path(study), place, judge, precision)
    whole.source = {
        "command": command(name, scale, runs, only, place, precision),
        "commit": commit or origin.commit(),
        "versions": versions(),
    }
    deadline = Deadline(minutes)
    whole.watch = Watching(watch or Plain(), log, whole.source, deadline)
    in_time = True
    try:
        with deadline.kept():
            whole.train(runs, only)
            for search in whole.searches(only):
                whole.search(search)
    except TimeUpError:
        in_time = False
    return whole.outcome(runs, only, in_time)


_scale = scale


def _check(runs: int | None, minutes: float | None) -> None:
    if runs is not None and runs < 1:
        raise PangaeaError(f"runs of each cell are at least 1, got {runs}")
    if minutes is not None and not 0 < minutes < math.inf:
        raise PangaeaError(f"minutes are more than 0, got {minutes:g}; leave them out for no end")


def command(
    name: str,
    scale: str,
    runs: int | None,
    only: Sequence[str],
    place: Place,
    precision: str | None = None,
) -> str:
    """What makes the same runs again."""
    words = ["pangaea", "paper", "run", name, "--scale", scale]
    words += [] if runs is None else ["--runs", str(runs)]
    words += [word for text in only for word in ("--only", text)]
    words += [] if precision is None else ["--precision", precision]
    return f"{shlex.join(words)} {place.options()}".rstrip()


class Campaign:
    """An experiment at a scale, in a study and at a place."""

    source: dict[str, Any]
    watch: Watch

    def __init__(
        self,
        experiment: Experiment,
        scale: Scale,
        path: Path,
        place: Place,
        judge: Judge,
        precision: str | None = None,
    ) -> None:
        self.experiment, self.scale, self.path = experiment, scale, path
        self.place, self.judge, self.how = place, judge, How(precision=precision)

    def groups(self, only: Sequence[str]) -> list[list[Cell]]:
        picked = {*map(trained, _named(self.experiment.cells, only))}
        groups = [
            [cell for cell in group if trained(cell) in picked]
            for group in self.experiment.ordered()
        ]
        if only and not any(groups) and not self.searches(only):
            raise PangaeaError(
                f"{self.experiment.name} has no cell with {' and '.join(only)} in its name, group "
                f"or task: `pangaea paper show {self.experiment.name} --all` names them"
            )
        return groups

    def searches(self, only: Sequence[str]) -> list[Search]:
        """All of them, or those that are called so."""
        return [s for s in self.experiment.searches if not only or s.name in only]

    def train(self, runs: int | None, only: Sequence[str]) -> None:
        """The runs that are missing."""
        groups = self.groups(only)
        if not any(groups):
            return
        with adding.kept(self.path) as study:
            asked = wanted(groups, self.scale, runs, ended(study))
            left = missing(study, asked)
            if not left:
                return
            tasks = {name: find_task(name) for name in dict.fromkeys(want.task for want in left)}
            driver.prepare(tasks.values(), self.place, self.watch)
            first = next(iter(tasks.values()))
            self.source["recipes"] = {
                lines.recipe_key(want.task, want.budget): lines.trained_recipe(
                    want.task, want.budget
                )
                for want in {(w.task, w.budget): w for w in left}.values()
            }
            with (
                Stop() as stop,
                driver.judging(self.judge, {}, self.place) as ready,
                engine(ready, self.place.suited(first)) as workers,
            ):
                study.know({name: task.goal for name, task in tasks.items()})
                with study.transaction():
                    origin.begin(study, self.source)
                runner = Runner(study, workers, self.watch, stop, how=self.how)
                runner.complete(asked)
                if not missing(study, asked):
                    runner.clear()

    def search(self, search: Search) -> Path:
        """A search in a study of its own beside this one; its tests are added here."""
        path = search_path(self.path, self.scale.name, search)
        where = asdict(self.place)
        if path.exists() and path.name in _searched(self.path):
            return path
        if path.exists():
            driver.resume(path, watch=self.watch, judge=self.judge, **where).close()
        else:
            settings = self.scale.settings(search) | {"precision": self.how.precision}
            driver.search(
                study=path, watch=self.watch, judge=self.judge, **settings, **where
            ).close()
        adding.add([path], self.path)
        with adding.kept(self.path) as study:
            study.note(_SEARCHED, [*study.noted(_SEARCHED, []), path.name])
        return path

    def outcome(self, runs: int | None, only: Sequence[str], in_time: bool) -> Outcome:
        searches = tuple(
            search_path(self.path, self.scale.name, search) for search in self.searches(only)
        )
        if not self.path.exists():
            return Outcome(0, 0, searches, in_time)
        with Study.open(self.path) as study:
            asked = wanted(self.groups(only), self.scale, runs, ended(study))
            left = len(missing(study, asked))
            kinds, seeds = {*map(_kind, asked)}, ended(study)
            void = sum(len(seeds[kind].void) for kind in kinds if kind in seeds)
        return Outcome(len(asked) - left - void, len(asked) - void, searches, in_time)


def finished(study: Path, scale: str) -> list[str]:
    """The names of the searches that came to their end at this scale, and still stand there."""
    files = _searched(study)
    every = {search.name: search for row in experiments().values() for search in row.searches}
    paths = {name: search_path(study, scale, search) for name, search in every.items()}
    return [name for name, path in paths.items() if path.name in files and path.exists()]


def _searched(study: Path) -> list[str]:
    """The files of searches that came to their end: for those no workers are started again."""
    if not study.exists():
        return []
    with Study.open(study) as opened:
        return list(opened.noted(_SEARCHED, []))


def search_path(study: Path, scale: str, search: Search) -> Path:
    """Where a search stands: beside the study of all runs."""
    return study.with_name(f"{study.stem}-{scale}-{search.name}.study")


def _named(cells: Sequence[Cell], texts: Sequence[str]) -> list[Cell]:
    """Those with parts that are called so; if none is, those with a part that holds the text.

    Of several texts for one kind of part, one must fit; `relu` on `wrn-10-4` is texts for two.
    """
    fitting: dict[str, set[Cell]] = {}
    for text in texts:
        exact = {(kind, c) for c in cells for kind, part in _parts(c) if part == text}
        held = exact or {(kind, c) for c in cells for kind, part in _parts(c) if text in part}
        kinds = " ".join(sorted({kind for kind, _ in held}))
        fitting.setdefault(kinds, set()).update(cell for _, cell in held)
    return [cell for cell in cells if all(cell in fit for fit in fitting.values())]


def _parts(cell: Cell) -> list[tuple[str, str]]:
    network = cell.task.partition("/")[0]
    parts = {"task": cell.task, "group": cell.group, "name": cell.name, "scope": cell.scope or ""}
    return [("task", network), *parts.items()]


def ended(study: Study) -> dict[Kind, Ended]:
    """The seeds of the runs that have ended, by what the runs have in common."""
    seeds: dict[Kind, Ended] = {}
    for run in study.runs(PAPER.name):
        kind = run["function"], run["scope"], run["task"], run["budget"]
        void, valid = seeds.get(kind, Ended())
        if run["failure"] in OUTSIDE:
            seeds[kind] = Ended((*void, run["seed"]), valid)
        else:
            seeds[kind] = Ended(void, (*valid, run["seed"]))
    return seeds


def missing(study: Study, asked: Sequence[Wanted]) -> list[Wanted]:
    """Those without a result."""
    there = {
        (kind, seed) for kind, seeds in ended(study).items() for seed in (*seeds.void, *seeds.valid)
    }
    return [want for want in asked if (_kind(want), want.seed) not in there]


def _kind(want: Wanted) -> Kind:
    return want.function, want.scope, want.task, want.budget

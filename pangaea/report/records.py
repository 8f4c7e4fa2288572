"""What there is to show of a study: its rows, read at one moment."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from pangaea.errors import PangaeaError
from pangaea.evolution.ranking import top
from pangaea.evolution.trials import NoFunctionError
from pangaea.report import texts
from pangaea.study import candidates
from pangaea.study.stages import BEST, GENERAL, PAPER, STAGES, TESTED
from pangaea.study.standing import standing
from pangaea.study.study import Study
from pangaea.study.timing import left_out
from pangaea.tasks.goal import Goal

Row = dict[str, Any]
_TEXTS = ("function", "mutation", "failure", "detail", "device", "worker", "task", "scope", "stage")
_WINDOW = 50  # candidates, where the strategy has no population


class Snapshot:
    """A study as it stood when it was read. It owns its rows; every text in them is inert.

    Its driver may record more meanwhile: only curves, which never change, are read when needed.
    """

    def __init__(self, study: Study) -> None:
        self._study = study
        self.path = study.path
        self.settings, self.created = study.settings, study.created
        goal = study.goal
        self.goal = replace(goal, name=texts.inert(goal.name), unit=texts.inert(goal.unit))
        self.goals = {
            texts.inert(task): replace(g, name=texts.inert(g.name), unit=texts.inert(g.unit))
            for task, g in study.goals.items()
        }
        self.task: Row = texts.harmless(study.task)
        self.versions: dict[str, str] = texts.harmless(study.versions)
        self.baseline = texts.inert(study.baseline)
        with study.moment():
            self.last = study.last
            self.trials = study.trials()
            self.baseline_score = study.baseline_score
            self.failures: dict[str, int] = texts.harmless(study.failures())
            self.failed_later: dict[str, int] = texts.harmless(
                study.failures(candidates.LATER_RUNS)
            )
            self.general = study.asked([GENERAL.name]) > 0  # functions of others, on several tasks
            self.paper = study.asked([PAPER.name]) > 0  # the paper's experiments
            self.waiting = len(study.pending(list(STAGES)))
            self.left_out: Row = texts.harmless(left_out(study))  # for want of time: as asked for
            self._validations: dict[str, list[float | None]] = texts.harmless(study.validations())
            self._table = [self._clean(row) for row in study.table()]
            self._runs = [self._clean(row) for row in study.runs()]
        self._by_stage: dict[str, list[Row]] = {}
        for run in self._runs:
            self._by_stage.setdefault(run["stage"], []).append(run)
        self.finished = sorted(
            (row for row in self._table if row["position"] is not None),
            key=lambda row: row["position"],
        )
        self._by_number = {row["number"]: row for row in self._table}
        self._best: list[Row] = []
        self._ranked = 0

    def _clean(self, row: Row) -> Row:
        for name in _TEXTS:
            if row.get(name) is not None:
                row[name] = texts.inert(row[name])
        return row

    def close(self) -> None:
        self._study.close()

    def __enter__(self) -> "Snapshot":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def name(self) -> str:
        """The file's name, to be shown."""
        return texts.inert(self.path.name)

    @property
    def tag(self) -> str:
        """Another one as soon as anything has been recorded: which study, and its last result."""
        return tag(self._study, self.last)

    @property
    def unit(self) -> str:
        """What budgets are counted in."""
        return str(self.task["unit"])

    @property
    def scope(self) -> str:
        return self.settings.scope or "channel"

    @property
    def population(self) -> int:
        """How many candidates are looked at together."""
        return int(self.settings.get("population") or _WINDOW)

    def passes(self, row: Row) -> bool:
        """Is the candidate good enough to breed?"""
        threshold = self.settings.get("threshold")
        threshold = self.goal.threshold if threshold is None else threshold
        if row["score"] is None or threshold is None:
            return row["score"] is not None
        return self.goal.gain(row["score"], threshold) >= 0

    def budget(self, name: str) -> int:
        """The task's budget of a name, as this study has it."""
        if name == "search" and self.settings.budget is not None:
            return self.settings.budget
        return int(self.task["budgets"][name])

    # The same questions as of a study, answered from the rows.

    def table(self) -> list[Row]:
        """A row for each candidate, with a result or without."""
        return self._table

    def runs(self, stage: str | None = None) -> list[Row]:
        """The runs that have ended, of one stage or of all."""
        return self._runs if stage is None else self._by_stage.get(stage, [])

    def scores(self, stage: str) -> dict[str, list[float | None]]:
        """By function; None for a run that failed."""
        scores: dict[str, list[float | None]] = {}
        for run in self.runs(stage):
            scores.setdefault(run["function"], []).append(run["score"])
        return scores

    def validations(self) -> dict[str, list[float | None]]:
        """By function, on validation data in every run of the full budget."""
        return self._validations

    def curves(self, run: int) -> dict[str, Any]:
        return self._study.curves(run)

    def best(self, count: int = TESTED) -> list[Row]:
        """The best functions; none of a file whose functions this version cannot read."""
        if count > self._ranked:
            self._ranked = max(count, BEST, self.settings.contenders)
            try:
                self._best = standing(self, top(self.trials, self._ranked))
            except NoFunctionError:
                self._best = []
        return self._best[:count]

    def candidate(self, number: int | None) -> Row | None:
        """The candidate of a number; the best one if none is given, and None if there is none."""
        if number is None:
            first = self.best(1)
            return self._by_number[first[0]["number"]] if first else None
        if number not in self._by_number:
            raise PangaeaError(f"{self.name} has no candidate {number}")
        return self._by_number[number]

    def trained(self, function: str, stages: Iterable[str]) -> list[Row]:
        """The runs of a function in these stages that have a score."""
        return [
            run
            for stage in stages
            for run in self.runs(stage)
            if run["function"] == function and run["score"] is not None
        ]


def tag(study: Study, last: int | None = None) -> str:
    """What changes when something is recorded, at the cost of one small question."""
    return f"{study.created}/{study.last if last is None else last}"


def opened(path: Path | str) -> Snapshot:
    """A study's file as it stands; it may be running."""
    study = Study.open(path)
    try:
        return Snapshot(study)
    except BaseException:
        study.close()
        raise


@contextmanager
def snapshot(of: "Snapshot | Study | Path | str") -> Iterator[Snapshot]:
    """Of a study, or of the file at a path, for as long as it is looked at."""
    if isinstance(of, Snapshot):
        yield of
    elif isinstance(of, Study):
        yield Snapshot(of)
    elif isinstance(of, str | Path):
        with opened(of) as read:
            yield read
    else:
        raise PangaeaError(
            f"a study is one that was opened, or the path of its file, got a {type(of).__name__}"
        )


class Improvement(NamedTuple):
    """A candidate that was better than all before it."""

    after: int  # how many had their result by then
    row: Row
    gain: float  # over the best before it, or over nothing


def steps(rows: Sequence[Row], goal: Goal) -> list[Improvement]:
    better: list[Improvement] = []
    for after, row in enumerate(rows, 1):
        if row["score"] is None:
            continue
        gain = goal.gain(row["score"], better[-1].row["score"]) if better else 0.0
        if not better or gain > 0:
            better.append(Improvement(after, row, gain))
    return better


def names(studies: Sequence[Snapshot]) -> list[str]:
    """A short name for each study, no two alike."""
    paths = [study.path for study in studies]
    for depth in range(1, 1 + max((len(p.parts) for p in paths), default=0)):
        short = [texts.inert(str(Path(*p.parts[-depth:]).with_suffix(""))) for p in paths]
        if len(set(short)) == len(short):
            return short
    return [f"{texts.inert(str(path))} ({i})" for i, path in enumerate(paths, 1)]


def alike(studies: Sequence[Snapshot], first: Snapshot) -> list[Snapshot]:
    """Those with the goal of the first, so that their scores can share an axis."""
    return [study for study in studies if _measure(study.goal) == _measure(first.goal)]


def _measure(goal: Goal) -> tuple[str, str, bool]:
    return goal.name, goal.unit, goal.maximised

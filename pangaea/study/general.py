"""General functions (paper, section 5.3): good on several tasks, found by specialized searches."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any, NamedTuple

from pangaea.errors import PangaeaError
from pangaea.evolution.ranking import pareto, top
from pangaea.functions.equivalence import fingerprint
from pangaea.functions.learnable import LEARNABLE
from pangaea.functions.paper import FIGURES
from pangaea.functions.parser import parse
from pangaea.locating import settled
from pangaea.study.driver import carried, judging, known_task, prepare, runner
from pangaea.study.runner import Stop, Watch
from pangaea.study.schema import functions_of
from pangaea.study.settings import settings
from pangaea.study.stages import BEST, GENERAL, TEST, Stage
from pangaea.study.study import Study, Wanted
from pangaea.tasks.evaluate import checked_runs, own_seeds
from pangaea.tasks.finding import name_of
from pangaea.tasks.finding import task as find_task
from pangaea.tasks.task import Task
from pangaea.workers.engine import engine
from pangaea.workers.judge import Judge
from pangaea.workers.judge import judge as train_and_judge
from pangaea.workers.place import Place

_USUAL = "channel"  # the scope of a function if nobody says


class _Member(NamedTuple):
    """A function of the pool, judged in the scope in which it was found."""

    function: str
    scope: str | None

    @property
    def mark(self) -> str:
        return fingerprint(parse(self.function))


def general(
    studies: Sequence[Path | str],
    tasks: Sequence[Task | str] | None = None,
    *,
    out: Path | str = "general.study",
    runs: int = 2,
    tests: int = 10,
    watch: Watch | None = None,
    judge: Judge = train_and_judge,
    **given: Any,
) -> list[dict[str, Any]]:
    """The studies' top tens scored on every task; a row for each function, the general ones first.

    In the end the general ones are tested so many times on every task, beside its baseline: their
    rows have the test scores, and the baselines' (`reference`), by task. The runs are kept in the
    file `out`; the same call goes on with what is in it. `given` says where they happen, as for a
    search. Tasks are their names, or objects.
    """
    checked_runs(runs)
    place = Place.taken(given)
    if given:
        raise TypeError(f"general() got an unexpected keyword argument {min(given)!r}")
    pool, taken, searched = _pool(studies)
    on = _on(tasks, searched)
    given_tasks = {n: t for name, task in on.items() for n, t in carried(task, name).items()}
    watch = watch or Watch()
    prepare(on.values(), place, watch)
    several = next((task for task in on.values() if task.fast_on_gpu), next(iter(on.values())))
    with (
        Stop() as stop,
        judging(judge, given_tasks, place) as ready,
        engine(ready, place.suited(several)) as workers,
        _kept(Path(out), *next(iter(on.items()))) as study,
    ):
        study.know({name: task.goal for name, task in on.items()})
        all_runs = runner(study, workers, watch, stop)
        all_runs.complete(
            [
                _wanted(name, task, member, seed)
                for name, task in on.items()
                for member in pool
                for seed in own_seeds(0, _what(name, member), runs)
            ]
        )
        rows = _rows(_scores(study, on, pool, runs), on, taken)
        members = [_Member(row["function"], row["scope"]) for row in rows if row["general"]]
        all_runs.complete(_tests(members, on, tests))
        all_runs.clear()
        return _with_tests(rows, study, on)


def _on(tasks: Sequence[Task | str] | None, searched: Mapping[str, str]) -> dict[str, Task]:
    """The tasks by the names under which runs are kept; those of the studies, if none are given."""
    if not tasks:
        return {name: known_task(name, study) for name, study in searched.items()}
    pairs = [(settled(t) if isinstance(t, str) else name_of(t), find_task(t)) for t in tasks]
    return dict(pairs)


def _wanted(name: str, task: Task, member: _Member, seed: int, stage: Stage = GENERAL) -> Wanted:
    return Wanted(
        stage=stage.name,
        candidate=None,
        function=member.function,
        task=name,
        scope=member.scope,
        budget=task.budgets[stage.budget],
        seed=seed,
        part=stage.part,
    )


def _what(name: str, member: _Member) -> str:
    """What runs have in common that differ in their seed alone."""
    return f"{name}/{member.function}/{member.scope}"


def _tests(members: Sequence[_Member], on: Mapping[str, Task], tests: int) -> list[Wanted]:
    """The general functions and the baseline on every task, with seeds of their own."""
    return [
        _wanted(name, task, member, seed, TEST)
        for name, task in on.items()
        for member in (_Member(task.baseline, None), *members)
        for seed in own_seeds(0, f"test/{_what(name, member)}", tests)
        if members
    ]


def _with_tests(
    rows: list[dict[str, Any]], study: Study, on: Mapping[str, Task]
) -> list[dict[str, Any]]:
    tests = _runs(study, TEST)
    reference = {
        name: tests.get(_Member(task.baseline, None), {}).get(name, []) for name, task in on.items()
    }
    for row in rows:
        scores = tests.get(_Member(row["function"], row["scope"]), {})
        tested = {name: scores.get(name, []) for name in on}
        known = row["general"] and any(tested.values())
        row |= {"test": tested if known else None, "reference": reference if known else None}
    return rows


def _pool(studies: Sequence[Path | str]) -> tuple[list[_Member], set[str], dict[str, str]]:
    """The top tens together, no two equivalent; the marks of those already chosen; the tasks.

    These are names, each with a study that searched on it. Per layer a function is another one than
    per channel.
    """
    pool: dict[tuple[str, str], _Member] = {}
    taken: set[str] = set()
    tasks: dict[str, str] = {}
    for path in studies:
        with Study.open(path) as study, functions_of(study.path):
            tasks.setdefault(study.settings.task, str(path))
            for trial in top(study.trials(), BEST):
                member = _Member(trial.text, study.settings.scope)
                pool.setdefault((member.mark, member.scope or _USUAL), member)
            taken |= {
                fingerprint(parse(row["function"])) for row in study.best(study.settings.tested)
            }
    if not pool:
        raise PangaeaError("these studies have no function that could be trained")
    return list(pool.values()), taken, tasks


def _kept(path: Path, name: str, task: Task) -> Study:
    if path.exists():
        study = Study.resume(path)
        if study.proposed():
            study.close()
            raise PangaeaError(f"{path} is the study of a search: choose another file for the runs")
        return study
    return Study.create(path, settings({"task": name}, task), task.about())


def _runs(study: Study, stage: Stage) -> dict[_Member, dict[str, list[float | None]]]:
    """The scores of a stage's runs by function and task."""
    scores: dict[_Member, dict[str, list[float | None]]] = {}
    for run in study.runs(stage.name):
        by_task = scores.setdefault(_Member(run["function"], run["scope"]), {})
        by_task.setdefault(run["task"], []).append(run["score"])
    return scores


def _scores(
    study: Study, on: Mapping[str, Task], pool: Sequence[_Member], runs: int
) -> dict[_Member, dict[str, float]]:
    """Of these functions, by task, the mean validation score; the file may hold other runs, too."""
    scores = _runs(study, GENERAL)
    return {
        member: {
            name: fmean(task.goal.worths(scores[member][name][:runs])) for name, task in on.items()
        }
        for member in pool
    }


def _rows(
    scores: dict[_Member, dict[str, float]], on: Mapping[str, Task], taken: set[str]
) -> list[dict[str, Any]]:
    oriented = {
        member: [task.goal.oriented(by_task[name]) for name, task in on.items()]
        for member, by_task in scores.items()
    }
    baselines = {
        fingerprint(parse(figure.function))
        for figure in FIGURES
        if figure.group.endswith("baseline") and figure.name not in LEARNABLE
    } | {fingerprint(parse(t.baseline)) for t in on.values() if t.baseline not in LEARNABLE}
    best = set(pareto(oriented))
    rows = []
    order = _comparable(oriented, on)
    for member in sorted(scores, key=lambda member: -fmean(order[member])):
        reasons = {
            "dominated": member not in best,
            "a baseline": member.mark in baselines,
            "already chosen": member.mark in taken,
        }
        discarded = next((reason for reason, holds in reasons.items() if holds), None)
        rows.append(
            {
                "function": member.function,
                "scope": member.scope,
                "scores": scores[member],
                "general": discarded is None,
                "discarded": discarded,
            }
        )
    return sorted(rows, key=lambda row: not row["general"])


def _comparable(
    oriented: dict[_Member, list[float]], on: Mapping[str, Task]
) -> Mapping[_Member, Sequence[float]]:
    """Scores that can be averaged: as they are for one goal, as ranks for goals that differ."""
    if len({(task.goal.label(), task.goal.maximised) for task in on.values()}) == 1:
        return oriented
    columns = [sorted(column) for column in zip(*oriented.values(), strict=True)]
    return {
        member: [column.index(score) for column, score in zip(columns, scores, strict=True)]
        for member, scores in oriented.items()
    }

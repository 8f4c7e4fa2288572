"""General functions (paper, section 5.3): good on several tasks, found by specialized searches."""

from collections.abc import Sequence
from pathlib import Path
from statistics import fmean
from typing import Any

from pangaea.errors import PangaeaError
from pangaea.evolution.ranking import pareto, top
from pangaea.functions.catalog import LEARNABLE
from pangaea.functions.equivalence import fingerprint
from pangaea.functions.paper import FIGURES
from pangaea.functions.parser import parse
from pangaea.study.loop import Search, Stop, Watch
from pangaea.study.settings import defaults
from pangaea.study.study import RERANKED, TESTED, Study
from pangaea.training.tasks import task as find_task
from pangaea.workers.engine import engine
from pangaea.workers.judge import Judge
from pangaea.workers.judge import judge as train_and_judge


def general(
    studies: Sequence[Path | str],
    tasks: Sequence[str] | None = None,
    *,
    out: Path | str = "general.study",
    runs: int = 2,
    workers: int | None = None,
    gpus: str | None = None,
    jobs_per_gpu: int | None = None,
    cluster: str | None = None,
    watch: Watch | None = None,
    judge: Judge = train_and_judge,
) -> list[dict[str, Any]]:
    """The studies' top tens scored on every task; a row for each function, the general ones first.

    The runs are kept in the file `out`; the same call goes on with what is in it.
    """
    pool, chosen, own = _pool(studies)
    names = list(dict.fromkeys(tasks or own))
    for name in names:
        find_task(name)
    with (
        Stop() as stop,
        engine(judge, workers, gpus, jobs_per_gpu, cluster) as place,
        _kept(Path(out), names[0]) as study,
    ):
        search = Search(study, place, watch or Watch(), stop)
        for name in names:
            search.judge(f"general {name}", pool, runs, task=name)
        scores = {
            function: {name: _score(study, name, function) for name in names} for function in pool
        }
    return _rows(scores, chosen)


def _pool(studies: Sequence[Path | str]) -> tuple[list[str], set[str], list[str]]:
    """The top tens together, no two equivalent; the marks of those already chosen; the tasks."""
    pool: dict[str, str] = {}
    chosen: set[str] = set()
    tasks = []
    for path in studies:
        with Study.open(path) as study:
            tasks.append(study.settings.task)
            for candidate in top(study.history(), RERANKED):
                pool.setdefault(fingerprint(candidate.function), candidate.text)
            chosen |= {fingerprint(parse(row["function"])) for row in study.best(TESTED)}
    if not pool:
        raise PangaeaError("these studies have no function that could be trained")
    return list(pool.values()), chosen, tasks


def _kept(path: Path, task: str) -> Study:
    if path.exists():
        study = Study.resume(path)
        if study.proposed():
            study.close()
            raise PangaeaError(f"{path} is the study of a search: choose another file for the runs")
        return study
    return Study.create(path, defaults(task), {}, find_task(task).data_set.classes)


def _score(study: Study, task: str, function: str) -> float:
    """Mean validation accuracy; a failed run counts as chance."""
    chance = 100 / find_task(task).data_set.classes
    runs = [run for run in study.runs(f"general {task}") if run["function"] == function]
    return fmean(chance if run["accuracy"] is None else run["accuracy"] for run in runs)


def _rows(scores: dict[str, dict[str, float]], chosen: set[str]) -> list[dict[str, Any]]:
    baselines = {
        fingerprint(parse(figure.function))
        for figure in FIGURES
        if figure.group.endswith("baseline") and figure.name not in LEARNABLE
    }
    best = set(pareto({name: list(own.values()) for name, own in scores.items()}))
    rows = []
    for function, own in scores.items():
        mark = fingerprint(parse(function))
        reasons = {
            "dominated": function not in best,
            "a baseline": mark in baselines,
            "already chosen": mark in chosen,
        }
        discarded = next((reason for reason, holds in reasons.items() if holds), None)
        rows.append(
            {
                "function": function,
                "scores": own,
                "general": discarded is None,
                "discarded": discarded,
            }
        )
    return sorted(rows, key=lambda row: (not row["general"], -fmean(row["scores"].values())))

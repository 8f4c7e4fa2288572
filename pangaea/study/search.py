"""A search from Python: `search` begins a study, `resume` goes on with one."""

import re
from collections.abc import Callable, Sequence
from dataclasses import asdict
from itertools import count
from pathlib import Path
from typing import Any

from pangaea.study.loop import Search, Stop, Watch
from pangaea.study.settings import DEFAULT_TASK, settings
from pangaea.study.study import Study
from pangaea.training.tasks import Task
from pangaea.training.tasks import task as find_task
from pangaea.workers.engine import engine
from pangaea.workers.judge import Job, Judge, Result
from pangaea.workers.judge import judge as train_and_judge

Callback = Callable[[dict[str, Any]], None]


def search(
    task: str | None = None,
    *,
    study: Path | str | None = None,
    settings_file: Path | str | None = None,
    workers: int | None = None,
    gpus: str | None = None,
    jobs_per_gpu: int | None = None,
    cluster: str | None = None,
    callback: Callback | None = None,
    watch: Watch | None = None,
    judge: Judge = train_and_judge,
    **given: Any,
) -> Study:
    """Search for activation functions; returns the study, which is also a file.

    `given` are settings: candidates, population, sample, threshold, strategy, scope, epochs, seed,
    timeout, rerank, runs. `callback` is told each result, a row of plain values. A search that was
    interrupted goes on with `resume`.
    """
    chosen = settings(given | {"task": task}, settings_file)
    on = find_task(chosen.task)
    recipes = {
        "search": asdict(on.recipe("search", chosen.epochs)),
        "full": asdict(on.recipe("full")),
    }
    path = free_name(chosen.task) if study is None else Path(study)
    _fetch(on, cluster)
    with (
        Stop() as stop,
        engine(judge, workers, gpus or _gpus(on, workers, cluster), jobs_per_gpu, cluster) as place,
        Study.create(path, chosen, recipes, on.data_set.classes) as made,
    ):
        Search(made, place, watch or _Calling(callback), stop).run()
    return Study.open(path)


def resume(
    study: Path | str,
    *,
    workers: int | None = None,
    gpus: str | None = None,
    jobs_per_gpu: int | None = None,
    cluster: str | None = None,
    callback: Callback | None = None,
    watch: Watch | None = None,
    judge: Judge = train_and_judge,
) -> Study:
    """Go on with a study where it was stopped, here or on another machine."""
    with Study.open(study) as found:
        on = find_task(found.settings.task)
    _fetch(on, cluster)
    with (
        Stop() as stop,
        engine(judge, workers, gpus or _gpus(on, workers, cluster), jobs_per_gpu, cluster) as place,
        Study.resume(study) as found,
    ):
        Search(found, place, watch or _Calling(callback), stop).run()
    return Study.open(study)


def free_name(task: str) -> Path:
    """`mnist1d.study`, or `mnist1d-2.study` if that exists, and so on."""
    stem = re.sub(r"[^A-Za-z0-9.]+", "-", task)
    names = (Path(f"{stem}{'' if n == 1 else f'-{n}'}.study") for n in count(1))
    return next(name for name in names if not name.exists())


def _fetch(task: Task, cluster: str | None) -> None:
    """Download the data once, before several workers of this machine want it."""
    if cluster is None and not task.data_set.here():
        task.data_set.load()


def _gpus(task: Task, workers: int | None, cluster: str | None) -> str | None:
    """Images are trained on the GPUs where there are any; the small default task gains nothing."""
    import torch

    here = workers is None and cluster is None and task.name != DEFAULT_TASK
    return "all" if here and torch.cuda.is_available() else None


class _Calling(Watch):
    def __init__(self, callback: Callback | None) -> None:
        self._callback = callback

    def result(self, study: Study, job: Job, results: Sequence[Result]) -> None:
        if self._callback is not None:
            for result in results:
                self._callback({"stage": job.stage, "number": job.candidate} | result)

"""A search from Python: `search` begins a study, `resume` goes on with one."""

import re
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import fields
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any

from pangaea.errors import PangaeaError
from pangaea.locating import settled
from pangaea.study import settings as told
from pangaea.study.runner import Runner, Stop, Watch
from pangaea.study.search import Search
from pangaea.study.settings import DEFAULT_TASK, Settings
from pangaea.study.study import Run, Study
from pangaea.tasks.finding import task as find_task
from pangaea.tasks.task import Task
from pangaea.workers.engine import engine
from pangaea.workers.judge import Judge, Result
from pangaea.workers.judge import judge as train_and_judge
from pangaea.workers.place import Place

Callback = Callable[[dict[str, Any]], None]
_PLACE = {field.name for field in fields(Place)}


def search(
    task: Task | str | None = None,
    *,
    study: Path | str | None = None,
    settings_file: Path | str | None = None,
    callback: Callback | None = None,
    watch: Watch | None = None,
    judge: Judge = train_and_judge,
    **given: Any,
) -> Study:
    """Search for activation functions; returns the study, which is also a file.

    `given` are settings of the search and its strategy, and where it runs: `pangaea search --help`
    lists them all. `callback` is told each result, a row of plain values. A search that was
    interrupted goes on with `resume`.
    """
    place = Place(**{name: given.pop(name) for name in _PLACE & given.keys()})
    on, settings = chosen_settings(task, given, settings_file)
    path = free_name(on.name) if study is None else Path(study)
    return _drive(
        on,
        place,
        judging(judge, on, settings.task),
        watch or _Calling(callback),
        lambda: Study.create(path, settings, on.about()),
    )


def resume(
    study: Path | str,
    *,
    task: Task | None = None,
    callback: Callback | None = None,
    watch: Watch | None = None,
    judge: Judge = train_and_judge,
    **given: Any,
) -> Study:
    """Go on with a study where it was stopped, here or on another machine.

    A task that was given as an object, and stands in no file, is given again.
    """
    unknown = given.keys() - _PLACE
    if unknown:
        raise TypeError(f"resume() got an unexpected keyword argument {min(unknown)!r}")
    with Study.open(study) as opened:
        name = opened.settings.task
        if task is not None and task.name != opened.task["name"]:
            raise PangaeaError(f"{study} searches on {opened.task['name']!r}, not on {task.name!r}")
    on = find_task(name) if task is None else task
    return _drive(
        on,
        Place(**given),
        judging(judge, on, name),
        watch or _Calling(callback),
        lambda: Study.resume(study),
    )


def chosen_settings(
    task: Task | str | None, given: dict[str, Any], settings_file: Path | str | None = None
) -> tuple[Task, Settings]:
    """The task, and the settings of a search on it."""
    file = {} if settings_file is None else told.read(settings_file)
    where = file.get("task", DEFAULT_TASK) if task is None else task
    on = find_task(where)
    name = settled(where) if isinstance(where, str) else on.name
    return on, told.settings(given | {"task": name}, on, file)


def judging(judge: Judge, task: Task, name: str) -> Judge:
    """The judge; with the task itself, if no worker would find it by its name."""
    if judge is not train_and_judge:
        return judge
    try:
        findable = find_task(name) is not None
    except PangaeaError:
        findable = False
    return judge if findable else partial(train_and_judge, given=task)


def _drive(
    task: Task, place: Place, judge: Judge, watch: Watch, opened: Callable[[], Study]
) -> Study:
    """Prepare, start the workers, search to the end."""
    if place.cluster is None:
        task.prepare()
    with ExitStack() as stack:
        stop = stack.enter_context(Stop())
        workers = stack.enter_context(engine(judge, place.suited(task)))
        study = stack.enter_context(opened())
        Search(study, runner(study, workers, watch, stop)).run()
    return Study.open(study.path)


def runner(study: Study, workers: Any, watch: Watch, stop: Stop) -> Runner:
    """With the precision and time limit that the study's settings ask for."""
    settings = study.settings
    seconds = None
    if settings.timeout is not None:
        seconds = settings.timeout / (settings.budget or study.task["budgets"]["search"])
    return Runner(study, workers, watch, stop, precision=settings.precision, seconds=seconds)


def free_name(task: str) -> Path:
    """`mnist1d.study`, or `mnist1d-2.study` if that exists, and so on."""
    stem = re.sub(r"[^A-Za-z0-9.]+", "-", task)
    names = (Path(f"{stem}{'' if n == 1 else f'-{n}'}.study") for n in count(1))
    return next(name for name in names if not name.exists())


class _Calling(Watch):
    def __init__(self, callback: Callback | None) -> None:
        self._callback = callback

    def result(self, study: Study, run: Run, result: Result) -> None:
        if self._callback is not None:
            asked = run.wanted._asdict() | {"run": run.number, "number": run.wanted.candidate}
            self._callback(asked | {k: v for k, v in result.items() if k != "curves"})

"""A search from Python: `search` begins a study, `resume` goes on with one."""

import re
import socket
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import Any

from pangaea.errors import PangaeaError
from pangaea.locating import loading, settled
from pangaea.study import settings as told
from pangaea.study.dry_run import DryRun
from pangaea.study.file import check_free
from pangaea.study.runner import Runner, Stop, Watch
from pangaea.study.schema import functions_of
from pangaea.study.search import Search
from pangaea.study.settings import Settings
from pangaea.study.stages import GENERAL, PAPER, PROPOSED
from pangaea.study.study import Run, Study
from pangaea.study.timing import Limited, ask_again, left_out, spent
from pangaea.tasks.finding import built_in, name_of
from pangaea.tasks.finding import task as find_task
from pangaea.tasks.goal import Goal
from pangaea.tasks.own import OwnTask
from pangaea.tasks.task import DEFAULT, Task
from pangaea.training.how import How
from pangaea.wording import counted
from pangaea.workers import parcel
from pangaea.workers.cluster import exposed
from pangaea.workers.engine import engine
from pangaea.workers.judge import Judge, Result
from pangaea.workers.judge import judge as train_and_judge
from pangaea.workers.place import Place

Callback = Callable[[dict[str, Any]], None]


def search(
    task: Task | str | None = None,
    *,
    study: Path | str | None = None,
    settings_file: Path | str | None = None,
    callback: Callback | None = None,
    watch: Watch | None = None,
    judge: Judge = train_and_judge,
    dry_run: bool = True,
    **given: Any,
) -> Study:
    """Search for activation functions; returns the study, which is also a file.

    `given` are settings of the search and its strategy, and where it runs: `pangaea search --help`
    lists them all. `callback` is told each result, a row of plain values. A search that was
    interrupted goes on with `resume`. A task that is not built in is tried for a moment first,
    unless `dry_run` is false.
    """
    if (file := loading()) is not None:
        raise PangaeaError(
            f"{file.name} begins a search while it is being loaded: put that under "
            "`if __name__ == '__main__':`"
        )
    place = Place.taken(given)
    on, settings = chosen_settings(task, given, settings_file)
    path = free_name(on.name) if study is None else Path(study)
    check_free(path)
    foreign = built_in(settings.task) is None and judge is train_and_judge
    return _drive(
        on,
        place,
        judging(judge, carried(on, settings.task), place),
        watch or _Calling(callback),
        lambda: Study.create(path, settings, on.about()),
        settings if dry_run and foreign else None,
    )


def resume(
    study: Path | str,
    *,
    task: Task | str | None = None,
    callback: Callback | None = None,
    watch: Watch | None = None,
    judge: Judge = train_and_judge,
    **given: Any,
) -> Study:
    """Go on with a study where it was stopped, here or on another machine.

    A task that was given as an object, and stands in no file, is given again; one whose file was
    moved is named by where it stands now, and the study keeps that. `given` says where it runs, and
    what is to be another from now on: with more `candidates` or `minutes` a finished study goes on;
    `runs`, `against`, `rerank` and `timeout` may change, too.
    """
    place = Place.taken(given)
    given = {name: value for name, value in given.items() if value is not None}  # as it is
    with Study.open(study) as opened:
        _check_search(opened)
        name = opened.settings.task
        on = known_task(name, study) if task is None else find_task(task)
        _check_same(opened, on)
        # An object that stands in no file has no place: the study keeps its own.
        stands = name_of(on) if task is not None and ":" in name_of(on) else name
        settings = told.possible(replace(_changed(opened, given), task=stands), on)
    watch = watch or _Calling(callback)
    return _drive(
        on,
        place,
        judging(judge, {} if task is None else carried(on, stands), place),
        watch,
        lambda: _resumed(study, settings, given),
    )


def _check_search(study: Study) -> None:
    """Files of other runs are gone on with by what began them."""
    for stage, command in {GENERAL: "general", PAPER: "paper run"}.items():
        if study.asked([stage.name]) and not study.proposed():
            raise PangaeaError(
                f"{study.path} is no search: it goes on with the `pangaea {command}` that began it"
            )


def _changed(study: Study, given: dict[str, Any]) -> Settings:
    """The study's settings with these changes, which must be of those that it can go on with."""
    names = [declared.name for declared in told.LATER]
    if fixed := given.keys() - {*names}:
        if not fixed <= told.known().keys():
            raise TypeError(f"resume() got an unexpected keyword argument {min(fixed)!r}")
        raise PangaeaError(
            f"{min(fixed)} cannot change while a study goes on; {', '.join(names)} can"
        )
    settings = told.flat(study.settings.as_dict() | _room(study, given) | given)
    if "minutes" in given and settings.minutes and 60 * settings.minutes <= spent(study):
        raise PangaeaError(
            f"{study.path} has run for {spent(study) / 60:.1f} minutes already: minutes must be "
            f"more than that, got {settings.minutes:g}"
        )
    tried = study.asked(PROPOSED)
    if settings.candidates < min(tried, study.settings.candidates):
        raise PangaeaError(
            f"{study.path} has tried {counted(tried, 'candidate')} already: candidates must be at "
            f"least {tried}, got {settings.candidates}"
        )
    return settings


def _room(study: Study, given: Mapping[str, Any]) -> dict[str, Any]:
    """What more minutes have room for: what there was no time for, and any number of candidates."""
    if given.get("minutes") is None:
        return {}
    endless = {} if study.settings.minutes else {"candidates": told.MOST_CANDIDATES}
    return endless | left_out(study)


def _resumed(path: Path | str, settings: Settings, given: Mapping[str, Any]) -> Study:
    study = Study.resume(path)
    try:
        ask_again(study, given.keys())
        if settings != study.settings:
            study.change(settings)
    except BaseException:
        study.close()
        raise
    return study


def chosen_settings(
    task: Task | str | None, given: dict[str, Any], settings_file: Path | str | None = None
) -> tuple[Task, Settings]:
    """The task, and the settings of a search on it."""
    file = {} if settings_file is None else told.read(settings_file)
    where = file.get("task", DEFAULT) if task is None else task
    on = find_task(where)
    name = settled(where) if isinstance(where, str) else name_of(on)
    if isinstance(on, OwnTask) and built_in(name) is not None:
        raise PangaeaError(f"{name} is the name of a task that is built in: choose another")
    return on, told.settings(given | {"task": name}, on, file)


def carried(task: Task, name: str) -> dict[str, Task]:
    """The task itself by its name, if no worker would find it by that."""
    try:
        same = find_task(name)
    except PangaeaError:
        return {name: task}
    alike = ":" not in name and same.about() == task.about()
    return {} if same is task or alike else {name: task}


def known_task(name: str, study: Path | str) -> Task:
    """The task of a study by the name that it keeps."""
    if ":" not in name and built_in(name) is None:
        raise PangaeaError(
            f"{study} searches on the task {name}, which stands in no file: in Python, give it "
            "again with task=…"
        )
    where = name.rpartition(":")[0]
    if where.endswith(".py") and not Path(where).is_file():
        raise PangaeaError(
            f"{study} searches on {name}, but there is no such file on {socket.gethostname()}: if "
            "it was moved, say where it is with --task FILE:NAME, in Python task='FILE:NAME'"
        )
    return find_task(name)


def _check_same(study: Study, task: Task) -> None:
    """A task that has become another one since the study was begun would spoil it."""
    if task.name != study.task["name"]:
        raise PangaeaError(
            f"{study.path} searches on {study.task['name']!r}, not on {task.name!r}: begin a new "
            "study, or give the task its former name"
        )
    before, now = study.goal, task.goal
    if (before.label(), before.maximised) != (now.label(), now.maximised):
        raise PangaeaError(
            f"{study.path} was begun to {before.verb} {before.label()}, but {task.name} is now to "
            f"{now.verb} {now.label()}: begin a new study, or bring the former goal back"
        )


@contextmanager
def judging(judge: Judge, tasks: Mapping[str, Task], place: Place) -> Iterator[Judge]:
    """The judge that was asked for, or the one that trains, with these tasks."""
    if judge is train_and_judge:
        with parcel.judging(tasks, place) as judge:
            yield judge
    else:
        yield judge


def prepare(tasks: Iterable[Task], place: Place, watch: Watch) -> None:
    """Say who may run programs here, and fetch the data once, before the workers need it."""
    if (danger := exposed(place.cluster)) is not None:
        watch.note(danger)
    if place.cluster is None:
        for task in tasks:
            task.prepare()


def _drive(
    task: Task,
    place: Place,
    judge: AbstractContextManager[Judge],
    watch: Watch,
    opened: Callable[[], Study],
    rehearsed: Settings | None = None,
) -> Study:
    """Prepare, start the workers, try the task with these settings, search to the end."""
    began = time.monotonic() if watch.asked_at is None else watch.asked_at
    prepare([task], place, watch)
    with ExitStack() as stack:
        stop = stack.enter_context(Stop())
        ready = stack.enter_context(judge)
        suited = place.suited(task)
        workers = stack.enter_context(engine(ready, suited))
        if rehearsed is not None:
            watch.note(DryRun(task, rehearsed, workers, stop).run())
        study = stack.enter_context(opened())
        with functions_of(study.path):
            running = runner(study, workers, watch, stop)
            limit = None
            if study.settings.minutes is not None:
                sharing = suited.sharing()
                limit = Limited(study, running, began, effort=task.effort, sharing=sharing)
            Search(study, running, limit).run()
    return Study.open(study.path)


def runner(study: Study, workers: Any, watch: Watch, stop: Stop) -> Runner:
    """With the precision and time limit that the study's settings ask for."""
    settings = study.settings
    seconds = None
    if settings.timeout is not None:
        seconds = settings.timeout / (settings.budget or study.task["budgets"]["search"])
    how = How(precision=settings.precision)
    return Runner(study, workers, watch, stop, how=how, seconds=seconds)


def free_name(task: str) -> Path:
    """`mnist1d.study`, or `mnist1d-2.study` if that exists, and so on."""
    stem = re.sub(r"[^A-Za-z0-9.]+", "-", task)
    names = (Path(f"{stem}{'' if n == 1 else f'-{n}'}.study") for n in count(1))
    return next(name for name in names if not name.exists())


class Told(dict[str, Any]):
    """A result as a row of plain values; printed, it is one line for people."""

    def __init__(self, goal: Goal, row: Mapping[str, Any]) -> None:
        super().__init__(row)
        self._goal = goal

    def __str__(self) -> str:
        score, number = self.get("score"), self["number"]
        told = f"failed: {self['failure']}" if score is None else self._goal.shown(score)
        who = self["stage"] if number is None else f"{self['stage']} #{number}"
        return f"{who}: {told}  {self['function']}"


class _Calling(Watch):
    def __init__(self, callback: Callback | None) -> None:
        self._callback = callback

    def result(self, study: Study, run: Run, result: Result) -> None:
        if self._callback is not None:
            asked = run.wanted._asdict() | {"run": run.number, "number": run.wanted.candidate}
            plain = {k: v for k, v in result.items() if k != "curves"}
            self._callback(Told(study.goal, asked | plain))

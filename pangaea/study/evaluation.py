"""Functions judged side by side on one task: on the workers of a search, every run recorded."""

import hashlib
import json
import shlex
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from pangaea.activation.module import SCOPES, FunctionLike, Scope
from pangaea.errors import PangaeaError, UnknownNameError
from pangaea.functions.catalog import resolve
from pangaea.study.about import versions
from pangaea.study.driver import carried, judging, prepare
from pangaea.study.origin import begin, commit
from pangaea.study.runner import Runner, Stop, Watch
from pangaea.study.settings import settings
from pangaea.study.stages import EVALUATION
from pangaea.study.study import Run, Study, Wanted
from pangaea.tasks.evaluate import Evaluation, budgeted, checked_runs, own_seeds, way
from pangaea.tasks.finding import name_of
from pangaea.tasks.finding import task as find_task
from pangaea.tasks.task import DEFAULT, PARTS, Task
from pangaea.training import checkpoint
from pangaea.training.how import How
from pangaea.training.recipes import Recipe
from pangaea.training.result import TrainingResult
from pangaea.training.train import choose_device
from pangaea.workers.cluster import cores
from pangaea.workers.engine import engine
from pangaea.workers.judge import Judge, Result
from pangaea.workers.judge import judge as train_and_judge
from pangaea.workers.place import Place

_KEPT = ("function", "scope", "budget", "seed", "part", "score", "failure", "detail", "values")


def evaluate(
    function: FunctionLike,
    task: Task | str = DEFAULT,
    runs: int = 10,
    recipe: Recipe | str = "full",
    data: str = "test",
    *,
    seed: int = 0,
    scope: Scope | None = None,
    epochs: int | None = None,
    progress: Callable[[float], None] | None = None,
    **given: Any,
) -> Evaluation:
    """Train a function `runs` times, and say how good it is.

    Every run has a seed of its own, drawn from `seed` and the function, so that two evaluations are
    independent. `given`: how it is trained (device, precision, compile, checkpoints); and where, as
    for a search (workers, gpus, jobs_per_gpu, cluster), or else in this process.
    """
    place = Place.taken(given)
    asked = Comparison([function], task, runs, recipe, data, seed=seed, scope=scope, epochs=epochs)
    how = way(**given)
    if place in (Place(), Place(workers=0)):
        return asked.trained(asked.functions[0], how, progress or (lambda share: None))
    with ExitStack() as stack:
        folder = how.checkpoints or stack.enter_context(TemporaryDirectory(prefix="pangaea-"))
        asked.run(place, how, Path(folder), None if progress is None else _Telling(progress))
    return asked.evaluations[0]


class Comparison:
    """Several runs of several functions; what has ended is in `evaluations`, also if it stops."""

    def __init__(
        self,
        functions: Sequence[FunctionLike],
        task: Task | str = DEFAULT,
        runs: int = 10,
        recipe: Recipe | str = "full",
        data: str = "test",
        *,
        seed: int = 0,
        scope: str | None = None,
        epochs: int | None = None,
    ) -> None:
        self.functions = list(dict.fromkeys(str(resolve(function)) for function in functions))
        self.task, self.budget = budgeted(find_task(task), recipe, epochs)
        self.runs, self.part, self.scope, self.seed = checked_runs(runs), data, scope, seed
        if data not in PARTS:
            raise UnknownNameError("part of the data", data, PARTS)
        if scope is not None and scope not in SCOPES:
            raise UnknownNameError("scope", scope, SCOPES)
        self.evaluations: list[Evaluation] = []

    @property
    def total(self) -> int:
        """How many runs there are to do."""
        return self.runs * len(self.functions)

    @property
    def ended(self) -> int:
        return sum(len(judged.results) for judged in self.evaluations)

    def belongs_here(self, place: Place, how: How) -> bool:
        """Where nobody says: a GPU trains several runs in one process; one run needs no worker."""
        if place != Place():
            return False
        return choose_device(how.device).type == "cuda" or min(self.total, cores()) == 1

    def run_here(self, how: How, folder: Path, tell: Callable[..., None]) -> None:
        """Train in this process; `tell` is told how many runs are done, and of which function."""
        for function in self.functions:
            before = self.ended
            tell(before, resolve(function).readable())
            # Every function has a folder of its own for checkpoints.
            mark = hashlib.sha256(function.encode()).hexdigest()[:16]
            checkpoint.check(folder)

            def share_of_all(share: float, before: int = before) -> None:
                tell(before + share * self.runs)

            own_folder = replace(how, checkpoints=str(folder / mark))
            self.evaluations.append(self.trained(function, own_folder, share_of_all))

    def trained(self, function: str, how: How, tell: Callable[[float], None]) -> Evaluation:
        """All runs of one function, in this process; `tell` is told what part of them is done."""
        seeds = own_seeds(self.seed, function, self.runs)
        about = (function, self.scope, self.budget, seeds, self.part)
        return self._evaluation(function, self.task.train_seeds(*about, tell, how))

    def run(
        self,
        place: Place,
        how: How,
        folder: Path,
        watch: Watch | None = None,
        judge: Judge = train_and_judge,
    ) -> None:
        """Train on these workers; the runs are kept in the folder, where the same goes on."""
        _check_device(how, place)
        checkpoint.check(folder)
        place = self._enough(place)
        name = name_of(self.task)
        watch = watch or Watch()
        prepare([self.task], place, watch)
        stop = Stop()
        with ExitStack() as stack:
            if place.workers != 0:  # a run in this process is stopped at once
                stack.enter_context(stop)
            ready = stack.enter_context(judging(judge, carried(self.task, name), place))
            workers = stack.enter_context(engine(ready, place))
            study = stack.enter_context(self._kept(folder, name, how))
            stack.callback(self._read, study)
            with study.transaction():
                begin(study, self._source(place, how))
            how = replace(how, checkpoints=None)
            runner = Runner(study, workers, watch, stop, how=how)
            runner.complete([want for text in self.functions for want in self._wanted(name, text)])
            runner.clear()

    def _source(self, place: Place, how: How) -> dict[str, Any]:
        """Where the results come from: a command that makes them again, among others."""
        words = ["pangaea", "evaluate", *self.functions, "--task", name_of(self.task)]
        words += ["--runs", str(self.runs), "--budget", str(self.budget), "--data", self.part]
        words += [] if self.scope is None else ["--scope", self.scope]
        words += [] if how.precision is None else ["--precision", how.precision]
        words += ["--seed", str(self.seed)]
        line = f"{shlex.join(words)} {place.options()}".rstrip()
        return {"command": line, "commit": commit(), "versions": versions()}

    def _enough(self, place: Place) -> Place:
        """No more workers on this machine's cores than there are runs."""
        return Place(workers=min(cores(), self.total)) if place == Place() else place

    def _wanted(self, name: str, function: str) -> list[Wanted]:
        about = (EVALUATION.name, None, function, name, self.scope, self.budget)
        return [
            Wanted(*about, seed, self.part) for seed in own_seeds(self.seed, function, self.runs)
        ]

    def _kept(self, folder: Path, name: str, how: How) -> Study:
        """The file of these runs; other questions have other files."""
        about = self.task.about()
        question = [name, about, self.budget, self.part, self.scope, self.seed, how.precision]
        mark = hashlib.sha256(json.dumps(question, default=str).encode()).hexdigest()[:16]
        path = folder / f"evaluation-{mark}.study"
        if path.exists():
            return Study.resume(path)
        return Study.create(path, settings({"task": name}, self.task), about)

    def _read(self, study: Study) -> None:
        """What the study holds of the functions, each in the order of its seeds."""
        rows: dict[str, list[dict[str, Any]]] = {}
        for row in study.runs(EVALUATION.name):
            rows.setdefault(row["function"], []).append(row)
        self.evaluations = [
            self._evaluation(
                function, [_result(self.task, row, study) for row in self._ordered(rows[function])]
            )
            for function in self.functions
            if function in rows
        ]

    def _evaluation(self, function: str, results: Sequence[TrainingResult]) -> Evaluation:
        task = self.task
        return Evaluation(function, task.name, task.goal, tuple(results), task.drops_failures)

    def _ordered(self, rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
        seeds = own_seeds(self.seed, rows[0]["function"], self.runs)
        places = {seed: place for place, seed in enumerate(seeds)}
        return sorted((r for r in rows if r["seed"] in places), key=lambda r: places[r["seed"]])


def _result(task: Task, row: dict[str, Any], study: Study) -> TrainingResult:
    curves = study.curves(row["run"])
    validation, test = (
        {int(epoch): score for epoch, score in curves.pop(part, {}).items()}
        for part in ("validation", "test")
    )
    return TrainingResult(
        task=task.name,
        validation=validation,
        test=test,
        seconds=row["seconds"],
        peak_memory=row["peak_memory"],
        device=row["device"] or "",
        **{name: row[name] for name in _KEPT},
        **curves,
    )


def _check_device(how: How, place: Place) -> None:
    cuda = (how.device or "").startswith("cuda")
    if cuda and place.gpus is None and place.cluster is None and place.workers != 0:
        raise PangaeaError(
            f"--device {how.device} is of this process: workers get their GPUs by --gpus all"
        )


class _Telling(Watch):
    """Tells what part of the runs has ended."""

    def __init__(self, tell: Callable[[float], None]) -> None:
        self._tell, self._done, self._total = tell, 0, 1

    def stage(self, study: Study, name: str, done: int, total: int) -> None:
        self._done, self._total = done, total

    def result(self, study: Study, run: Run, result: Result) -> None:
        self._done += 1
        self._tell(self._done / self._total)

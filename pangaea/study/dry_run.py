"""A dry run before a search on somebody's own task: mistakes show in seconds, before any study.

The baseline and another function are trained for one unit of budget, where the search would train.
"""

import math
import os
import tempfile
from collections.abc import Sequence
from pathlib import Path

from pangaea.errors import PangaeaError
from pangaea.functions.equivalence import fingerprint
from pangaea.functions.parser import parse
from pangaea.study.runner import Stop
from pangaea.study.search import BASELINE_RUNS
from pangaea.study.settings import Settings
from pangaea.tasks.task import Task
from pangaea.training.how import How
from pangaea.wording import counted
from pangaea.workers.engine import Engine
from pangaea.workers.judge import Job, Result

# With a parameter, as most candidates have; the second is for a task whose baseline is the first.
_OTHERS = ("tanh(alpha*x)", "alpha*swish(x)")
# What no network learns through: if this scores as the baseline does, nothing is put through it.
_NOTHING = "zero(x)"
# The first run of a process loads libraries and data: what is shorter than this is timed again.
_SHORT_SECONDS = 30.0
_FAULTS = ("exception", "no score", "worker killed")  # of a task, whatever the function


class DryRun:
    """What the first runs of a task say about it."""

    def __init__(self, task: Task, settings: Settings, engine: Engine, stop: Stop) -> None:
        self.task, self.settings, self.engine, self.stop = task, settings, engine, stop
        self.budget = settings.budget or task.budgets["search"]

    def run(self) -> str:
        """Raise what is wrong with the task; or tell how long the search will take."""
        baseline, other = self.task.baseline, _other(self.task.baseline)
        results = self._trained((baseline, other), budget=1)
        self._check(baseline, results[0], strict=True)
        self._check(other, results[1])
        if results[0].get("score") == results[1].get("score"):
            self._refuse_if_ignored()
        return self._told(results)

    def _trained(self, functions: Sequence[str], budget: int) -> list[Result]:
        """One run of each, at the same seed."""
        folder = Path(tempfile.gettempdir()) / f"pangaea-dry-run-{os.getpid()}"
        jobs = [
            Job(
                run=number,
                stage="dry run",
                task=self.settings.task,
                function=function,
                scope=self.settings.scope,
                budget=budget,
                seed=self.settings.seed,
                part="validation",
                limit=self.settings.timeout,
                how=How(precision=self.settings.precision),
                checkpoints=str(folder / str(number)),
            )
            for number, function in enumerate(functions)
        ]
        self.engine.submit(jobs)
        results: dict[int, Result] = {}
        while len(results) < len(jobs):
            results |= {job.run: result for job, result in self.engine.wait(1.0)}
            if self.stop.asked:
                raise KeyboardInterrupt
        return [results[job.run] for job in jobs]

    def _check(self, function: str, result: Result, *, strict: bool = False) -> None:
        """A function may diverge, but not the baseline; nothing may be wrong with the task."""
        failure = result.get("failure")
        if failure is None or (failure not in _FAULTS and not strict):
            return
        why = result.get("told") or f"{failure}: {result.get('detail')}"
        raise PangaeaError(
            f"the task {self.task.name} cannot be searched on, for a dry run with {function} "
            f"failed: {why}"
        )

    def _refuse_if_ignored(self) -> None:
        """Two functions score alike to the last digit: by luck, or are they not used at all?"""
        baseline, nothing = self._trained((self.task.baseline, _NOTHING), self.budget)
        self._check(self.task.baseline, baseline, strict=True)
        score = baseline["score"]
        if score == nothing.get("score"):
            raise PangaeaError(
                f"the task {self.task.name} scores {self.task.goal.shown(score)} with "
                f"{self.task.baseline} and with {_NOTHING}, alike to the last digit: the network "
                "must be built with the activation() that train is given, and learn something "
                f"within the search's budget ({self.budget} {self.task.unit}); --no-dry-run or "
                "dry_run=False searches all the same"
            )

    def _told(self, results: Sequence[Result]) -> str:
        """How long the search will take, as far as short runs show; if nobody has said it."""
        if self.settings.minutes is not None:
            return f"the dry run found nothing wrong with {self.task.name}"
        candidate = min(result["seconds"] for result in results) * self.budget
        for budget in (1, self.budget):
            if candidate * budget / self.budget < _SHORT_SECONDS:
                (again,) = self._trained((self.task.baseline,), budget)
                candidate = again["seconds"] * self.budget / budget
        workers = max(1, self.engine.slots())
        seconds = candidate * self._candidates() / workers
        return (
            f"the dry run found nothing wrong with {self.task.name}; the search will take "
            f"{duration(seconds)} on {counted(workers, 'worker')}"
        )

    def _candidates(self) -> float:
        """All that is trained, counted in candidates."""
        settings, full = self.settings, self.task.budgets["full"]
        again = sum(count * (budget or full) for count, budget in settings.again)
        tests = (settings.tested + 1 + len(settings.further)) * settings.runs
        after = again * settings.rerank + full * tests
        return settings.candidates + BASELINE_RUNS + after / self.budget


def _other(baseline: str) -> str:
    """A function that is not the baseline."""
    try:
        mark = fingerprint(parse(baseline))
    except PangaeaError:  # a learnable baseline is no expression
        return _OTHERS[0]
    return next(text for text in _OTHERS if fingerprint(parse(text)) != mark)


def duration(seconds: float) -> str:
    """`about 12 minutes`."""
    units = (("second", 1), ("minute", 60), ("hour", 3600), ("day", 86_400))
    name, size = next((n, s) for n, s in reversed(units) if s == 1 or seconds >= 1.5 * s)
    count = max(1, math.ceil(seconds / size))
    return f"about {count} {name}{'' if count == 1 else 's'}"

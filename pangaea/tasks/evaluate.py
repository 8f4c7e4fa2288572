"""Judging functions: several runs each, on validation or test data."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from pangaea.activation.module import FunctionLike, Scope
from pangaea.errors import PangaeaError
from pangaea.functions.catalog import resolve
from pangaea.tasks.classification import Classification
from pangaea.tasks.finding import task as find_task
from pangaea.tasks.goal import Goal
from pangaea.tasks.task import Task
from pangaea.training import checkpoint
from pangaea.training.how import How
from pangaea.training.recipes import Recipe
from pangaea.training.result import TrainingResult
from pangaea.training.train import Progress


@dataclass(frozen=True)
class Evaluation:
    """Several runs of one function. A failed run counts as what the goal says it is worth."""

    function: str
    task: str
    goal: Goal
    results: tuple[TrainingResult, ...]
    drop_failures: bool = False  # the paper's PAU set-up alone leaves them out

    def __repr__(self) -> str:
        mean, goal = self.mean, self.goal
        score = "no score" if mean is None else goal.shown_mean(mean, self.sd) + goal.suffix
        failed = f", {self.failures} failed" if self.failures else ""
        return (
            f"Evaluation({self.function!r} on {self.task}: {goal.called(self.part)} {score}, "
            f"n = {len(self.results)}{failed})"
        )

    @property
    def part(self) -> str:
        """Of the data, on which it was judged."""
        return self.results[0].part

    @property
    def scores(self) -> list[float]:
        return self.goal.worths(
            [r.score for r in self.results if not (self.drop_failures and r.failure)]
        )

    @property
    def mean(self) -> float | None:
        """None if every run failed and failures are left out."""
        return self.goal.mean(self.scores)

    @property
    def sd(self) -> float | None:
        """Sample standard deviation; None for a single run."""
        return self.goal.sd(self.scores)

    @property
    def failures(self) -> int:
        return sum(result.failure is not None for result in self.results)

    @property
    def seconds(self) -> float:
        """Of the quickest run with a score: the first one of a process also loads data and code."""
        ended = [result.seconds for result in self.results if result.failure is None]
        return min(ended or [result.seconds for result in self.results])


def train(
    task: Task | str,
    function: FunctionLike,
    recipe: Recipe | str = "full",
    seed: int = 0,
    **options: Any,
) -> TrainingResult:
    """Train once; what happened is in the result, failures included. Options: see `train_seeds`.

    With `keep_model=True` the result's `model` is the trained network; of a task of one's own, what
    its training function returns as `model`.
    """
    return train_seeds(task, function, recipe, [seed], **options)[0]


def train_seeds(
    task: Task | str,
    function: FunctionLike,
    recipe: Recipe | str,
    seeds: Sequence[int],
    *,
    scope: Scope | None = None,
    epochs: int | None = None,
    data: str = "validation",
    progress: Progress | None = None,
    **how: Any,
) -> list[TrainingResult]:
    """Train once for each of these seeds, several at a time where that is faster.

    Scores are of the last epoch on `data`, which is validation or test. With a folder for
    `checkpoints`, the same call after an interruption goes on where it was.
    """
    on, budget = budgeted(find_task(task), recipe, epochs)
    tell = progress or (lambda share: None)
    return on.train_seeds(str(resolve(function)), scope, budget, seeds, data, tell, way(**how))


def way(**given: Any) -> How:
    """A `How` from what was given; paths and torch's devices are texts there."""
    if "compiled" in given:  # a former name
        given["compile"] = given.pop("compiled")
    known = {field.name for field in fields(How)}
    for name in given:
        if name not in known:
            raise TypeError(f"unexpected keyword argument {name!r}")
    texts = {
        name: str(given[name])
        for name in ("device", "checkpoints")
        if given.get(name) is not None and not isinstance(given[name], str)
    }
    how = How(**given | texts)
    if how.checkpoints is not None:
        checkpoint.check(Path(how.checkpoints))
    return how


def own_seeds(seed: int, function: str, runs: int) -> list[int]:
    """Seeds that no other function has, so that its runs are independent of all others."""
    if isinstance(seed, bool) or not isinstance(seed, int) or seed < 0:
        raise PangaeaError(f"a seed is a whole number from 0, got {seed!r}")
    texts = (f"{seed}/{function}/{k}" for k in range(runs))
    return [int.from_bytes(hashlib.sha256(t.encode()).digest()[:4]) >> 1 for t in texts]


def checked_runs(runs: int) -> int:
    if isinstance(runs, bool) or not isinstance(runs, int) or runs < 1:
        raise PangaeaError(f"a function is judged by at least one run, got {runs!r}")
    return runs


def budgeted(task: Task, recipe: Recipe | str, epochs: int | None) -> tuple[Task, int]:
    """The task with its recipe, and how long to train."""
    if isinstance(task, Classification):
        task = task.with_recipe(recipe)
        name = recipe if recipe == "search" else "full"
    elif isinstance(recipe, str):
        name = recipe
    else:
        raise PangaeaError(f"{task.name} has budgets ({', '.join(task.budgets)}), not recipes")
    return task, task.budget(name if epochs is None else epochs)

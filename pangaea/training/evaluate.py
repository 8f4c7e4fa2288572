"""Judging functions: several runs each, on validation or test data."""

import math
import statistics
from dataclasses import dataclass
from pathlib import Path

import torch

from pangaea.activation.module import Scope, Spec, resolve
from pangaea.errors import PangaeaError
from pangaea.training.recipes import Recipe
from pangaea.training.result import TrainingResult
from pangaea.training.tasks import DEFAULT, Task
from pangaea.training.tasks import task as find_task
from pangaea.training.train import Progress, train_seeds


@dataclass(frozen=True)
class Evaluation:
    """Several runs of one function. A failed run counts as chance, as in the paper's tables."""

    function: str
    task: str
    classes: int
    results: tuple[TrainingResult, ...]
    drop_failures: bool = False  # the paper's PAU set-up alone leaves them out

    @property
    def accuracies(self) -> list[float]:
        chance = 100 / self.classes
        return [
            chance if result.accuracy is None else result.accuracy
            for result in self.results
            if not (self.drop_failures and result.failure)
        ]

    @property
    def mean(self) -> float:
        return statistics.fmean(self.accuracies) if self.accuracies else math.nan

    @property
    def sd(self) -> float | None:
        """Sample standard deviation; None for a single run."""
        return statistics.stdev(self.accuracies) if len(self.accuracies) > 1 else None

    @property
    def failures(self) -> int:
        return sum(result.failure is not None for result in self.results)

    @property
    def seconds(self) -> float:
        """Seconds a run, on average."""
        return statistics.fmean(result.seconds for result in self.results)


def evaluate(
    function: Spec,
    task: Task | str = DEFAULT,
    runs: int = 10,
    recipe: Recipe | str = "full",
    data: str = "test",
    *,
    seed: int = 0,
    scope: Scope | None = None,
    epochs: int | None = None,
    device: str | torch.device | None = None,
    precision: str | None = None,
    compiled: bool = False,
    checkpoints: Path | str | None = None,
    progress: Progress | None = None,
) -> Evaluation:
    """Train a function `runs` times with the seeds from `seed` on, and say how good it is."""
    if isinstance(runs, bool) or not isinstance(runs, int) or runs < 1:
        raise PangaeaError(f"a function is judged by at least one run, got {runs!r}")
    on = find_task(task)
    chosen = on.recipe(recipe, epochs)
    results = train_seeds(
        on,
        function,
        chosen,
        range(seed, seed + runs),
        scope=scope,
        data=data,
        device=device,
        precision=precision,
        compiled=compiled,
        checkpoints=checkpoints,
        progress=progress,
    )
    return Evaluation(
        function=str(resolve(function)),
        task=on.name,
        classes=on.data_set.classes,
        results=tuple(results),
        drop_failures=chosen.valid_above > 0,
    )

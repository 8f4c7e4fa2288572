"""Short runs, and what of them must be the same."""

from dataclasses import replace
from functools import cache
from typing import Any

import pangaea as pg
from pangaea.tasks.classification import Classification
from pangaea.training.recipes import Recipe
from pangaea.training.result import TrainingResult

A = "log(sigmoid(alpha*x)) * beta*asinh(x)"


@cache
def run(function: str = A, seed: int = 0, **options: Any) -> TrainingResult:
    """A short run of the default task, taken once."""
    return pg.train("mnist1d", function, seed=seed, **{"epochs": 2, **options})


def story(result: TrainingResult) -> dict[str, Any]:
    """All of a result but how long it took and how much memory."""
    return {k: v for k, v in result.as_dict().items() if k not in ("seconds", "peak_memory")}


def short(task: Classification, epochs: int, **changes: Any) -> Recipe:
    return replace(task.recipes["full"].compressed(epochs), **changes)

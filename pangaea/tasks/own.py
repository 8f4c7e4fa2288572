"""The user's own training function as a task."""

import math
import time
from collections.abc import Callable, Mapping
from typing import Any, cast

import torch

from pangaea.activation.module import Activation, Scope, resolve
from pangaea.errors import PangaeaError
from pangaea.tasks.goal import Goal
from pangaea.tasks.task import Task, Tell
from pangaea.training.how import How
from pangaea.training.result import TrainingResult

Train = Callable[..., Any]


class OwnTask(Task):
    """`train(activation, budget, seed)` gives a score, or a dict with `score`, `test` and more.

    `activation()` makes a module with the function that is tried, one for each place; its arguments
    are those of `Activation` behind the function and scope.
    """

    def __init__(
        self,
        name: str,
        train: Train,
        *,
        goal: Goal,
        baseline: str = "relu",
        budgets: Mapping[str, int] | None = None,
        unit: str = "epochs",
        prepare: Callable[[], object] | None = None,
        defaults: Mapping[str, Any] | None = None,
    ) -> None:
        if not callable(train):
            raise PangaeaError(f"a task's train is a function, got {type(train).__name__}")
        if not isinstance(goal, Goal):
            raise PangaeaError(
                "a task's goal is maximize(…) or minimize(…), such as minimize('validation loss'), "
                f"got {goal!r}"
            )
        self.name, self.goal, self.unit = name, goal, unit
        self.baseline = str(resolve(baseline))
        self.budgets = dict(budgets or {"search": 1, "full": 1})
        if not {"search", "full"} <= set(self.budgets):
            raise PangaeaError(
                f"a task has the budgets search and full, got {', '.join(self.budgets) or 'none'}"
            )
        for value in self.budgets.values():
            self.budget(value)
        self.defaults = dict(defaults or {})
        self._train, self._prepare = train, prepare

    def prepare(self) -> None:
        if self._prepare is not None:
            self._prepare()

    def train(
        self,
        function: str,
        scope: str | None,
        budget: int,
        seed: int,
        part: str,
        tell: Tell,
        how: How,
    ) -> TrainingResult:
        result = TrainingResult(
            task=self.name, function=function, scope=scope, budget=budget, seed=seed, part=part
        )
        resolved = resolve(function)

        def activation(*args: Any, **more: Any) -> Activation:
            tell(0.0)
            return Activation(resolved, cast("Scope | None", scope), *args, **more)

        started = time.perf_counter()
        torch.manual_seed(seed)
        answer = self._train(activation, budget, seed)
        result.seconds = time.perf_counter() - started
        values = dict(answer) if isinstance(answer, Mapping) else {"score": answer}
        if part == "test" and "test" in values:
            values["validation"] = values.pop("score", None)
            values["score"] = values.pop("test")
        self._judge(result, values)
        return result

    def _judge(self, result: TrainingResult, values: dict[str, Any]) -> None:
        """The score, or why it is none; whatever else is a number is kept beside it."""
        score = _number(values.pop("score", None))
        result.values = {
            str(name): number
            for name, value in values.items()
            if (number := _number(value)) is not None and math.isfinite(number)
        }
        if score is None:
            result.failure = "no score"
            result.detail = f"train returned no number for the {self.goal.name}"
        elif not math.isfinite(score):
            result.failure, result.detail = "diverged", f"the {self.goal.name} was {score}"
        else:
            result.score = score


def _number(value: Any) -> float | None:
    """A plain number, a NumPy one or a tensor of one element; None for anything else."""
    if isinstance(value, str | bytes | bool) or value is None:
        return None
    try:
        return float(value)
    except (TypeError, ValueError, RuntimeError, OverflowError):
        return None

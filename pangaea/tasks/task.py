"""What a function is judged on: the interface that every task has."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from pangaea.errors import PangaeaError, UnknownNameError
from pangaea.tasks.goal import Goal
from pangaea.training.how import How
from pangaea.training.result import TrainingResult

Tell = Callable[[float], None]
"""Told now and then what part of a run is done; it raises if the run has to stop."""

PARTS = ("validation", "test")
DEFAULT = "mnist1d"  # the task that is meant where none is named


class Task(ABC):
    """A goal, its baseline function, budgets, and how to train."""

    name: str
    goal: Goal
    baseline: str  # the function to compare with, as text or name
    budgets: Mapping[str, int]  # `search` and `full`, in the task's own unit
    unit: str = "epochs"
    defaults: Mapping[str, Any] = {}  # settings of a search that suit this task
    fast_on_gpu: bool = True  # is a GPU worth it?
    drops_failures: bool = False  # a failed run counts for nothing, instead of the worst

    def prepare(self) -> None:  # noqa: B027 (there may be nothing to bring)
        """Bring the data to this machine, once, before several workers want it."""

    @abstractmethod
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
        """Train once, and judge on this part of the data."""

    def train_seeds(
        self,
        function: str,
        scope: str | None,
        budget: int,
        seeds: Sequence[int],
        part: str,
        tell: Tell,
        how: How,
    ) -> list[TrainingResult]:
        """Train once for each seed: one after another, unless the task knows a faster way."""
        results = []
        for done, seed in enumerate(seeds):
            before = done / len(seeds)
            results.append(
                self.train(
                    function,
                    scope,
                    budget,
                    seed,
                    part,
                    lambda share, before=before: tell(before + share / len(seeds)),  # type: ignore[misc]
                    how,
                )
            )
        return results

    def effort(self, budget: int) -> float:
        """How long a training takes, beside others, in units of the full one."""
        return budget

    def budget(self, name: str | int) -> int:
        """A budget by its name, or as it is given."""
        if isinstance(name, str):
            if name not in self.budgets:
                raise UnknownNameError("budget", name, self.budgets)
            return self.budgets[name]
        if isinstance(name, bool) or not isinstance(name, int) or name < 1:
            raise PangaeaError(f"a budget is at least one of the task's {self.unit}, got {name!r}")
        return name

    def about(self) -> dict[str, Any]:
        """What a study keeps of its task: plain data."""
        return {
            "name": self.name,
            "goal": self.goal.as_dict(),
            "baseline": self.baseline,
            "budgets": dict(self.budgets),
            "unit": self.unit,
        }

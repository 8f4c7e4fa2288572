"""What a search relies on in a task."""

import json
import math
import random
from typing import Any

import numpy as np
import pytest
import torch

from pangaea.errors import PangaeaError
from pangaea.functions.catalog import resolve
from pangaea.study.settings import settings
from pangaea.tasks.goal import Goal
from pangaea.tasks.task import Task
from pangaea.training.how import How
from pangaea.training.result import TrainingResult
from pangaea.workers.judge import Job, judge

# Constant, infinite, and no number for most inputs.
_HOPELESS = ("zero(x)", "exp(exp(square(x)))", "pow(x, x)")


class _StopError(Exception):
    """Raised by a `tell`, as a time limit is."""


class TaskContract:
    """Subclass it with a fixture `task`; the other values may be others.

    Runs are on the CPU and short: about ten of `budget`.
    """

    budget = 1  # the smallest that gives a score
    repeatable = True  # the same seed gives the same score, to the last digit
    functions = ("tanh(x)", "alpha*swish(beta*x)")  # that do not score alike
    scopes = ("layer", "channel", "neuron")

    _results: dict[Any, TrainingResult]

    def __init_subclass__(cls) -> None:
        cls._results = {}

    @pytest.fixture
    def task(self) -> Task:
        raise NotImplementedError("a fixture `task` gives it: return pg.task('my_task.py:task')")

    def trained(self, task: Task, function: str | None = None, **changes: Any) -> TrainingResult:
        """A run, as a worker asks for it."""
        given: dict[str, Any] = {
            "scope": None,
            "budget": self.budget,
            "seed": 3,
            "part": "validation",
            "tell": lambda share: None,
            "how": How(device="cpu"),
        }
        return task.train(function or task.baseline, **given | changes)

    def known(self, task: Task, function: str | None = None, **changes: Any) -> TrainingResult:
        """The same, trained once for all tests."""
        key = (task.name, function, *changes.items())
        if key not in self._results:
            self._results[key] = self.trained(task, function, **changes)
        return self._results[key]

    def test_it_says_what_it_is(self, task: Task) -> None:
        assert task.name.strip()
        assert ":" not in task.name
        assert isinstance(task.goal, Goal)
        assert task.unit.strip()
        assert 1 <= task.budget("search") <= task.budget("full")
        resolve(task.baseline)
        settings({}, task)  # its defaults are settings that there are

    def test_what_a_study_keeps_of_it_is_plain_data(self, task: Task) -> None:
        about = json.loads(json.dumps(task.about()))
        assert (about["name"], about["unit"]) == (task.name, task.unit)
        assert about["budgets"] == dict(task.budgets)
        assert Goal(**about["goal"]) == task.goal

    def test_the_baseline_has_a_score(self, task: Task) -> None:
        result = self.known(task)
        assert result.failure is None, result.detail
        assert result.score is not None
        assert math.isfinite(result.score)
        assert (result.task, result.part, result.seed) == (task.name, "validation", 3)
        assert (result.budget, result.scope) == (self.budget, None)
        assert json.loads(json.dumps(result.as_dict()))["score"] == result.score

    def test_the_same_seed_gives_the_same_run_whatever_was_drawn_before(self, task: Task) -> None:
        if not self.repeatable:
            pytest.skip("this task does not repeat itself")
        first = self.known(task)
        torch.rand(7), np.random.rand(7), random.random()
        again = self.trained(task)
        assert (again.score, again.loss) == (first.score, first.loss)

    def test_another_seed_gives_another_run(self, task: Task) -> None:
        """Or the mean of several would be the mean of one."""
        assert _told(self.known(task, seed=4)) != _told(self.known(task))

    def test_the_function_makes_a_difference(self, task: Task) -> None:
        one, other = (self.known(task, function) for function in self.functions)
        assert _told(one) != _told(other)
        assert (one.function, other.function) == self.functions

    def test_a_run_leaves_every_generator_as_it_was(self, task: Task) -> None:
        before = _states()
        self.trained(task)
        assert _states() == before

    def test_the_test_part_changes_the_judging_alone(self, task: Task) -> None:
        search, test = self.known(task), self.known(task, part="test")
        assert test.failure is None, test.detail
        assert test.part == "test"
        if self.repeatable:
            assert test.loss == search.loss
            assert test.values.get("validation", search.score) == search.score

    def test_a_run_ends_when_it_is_told_to(self, task: Task) -> None:
        shares: list[float] = []

        def tell(share: float) -> None:
            shares.append(share)
            if len(shares) == 2:
                raise _StopError

        try:
            self.trained(task, tell=tell)
        except (_StopError, PangaeaError):  # where the training is the user's, in their sentence
            assert len(shares) == 2
        else:
            assert len(shares) < 2, "the run went on"
            pytest.skip("it tells nothing: only a time limit in a worker of its own ends it")
        assert shares == sorted(shares)
        assert all(0 <= share <= 1 for share in shares)

    def test_every_scope_can_be_trained(self, task: Task) -> None:
        for scope in self.scopes:
            result = self.known(task, self.functions[1], scope=scope)
            assert result.score is not None, f"{scope}: {result.failure} {result.detail}"

    @pytest.mark.parametrize("function", _HOPELESS)
    def test_whatever_the_function_a_run_is_a_score_or_a_reason(
        self, task: Task, function: str
    ) -> None:
        result = self.known(task, function)
        if result.failure is None:
            assert result.score is not None
            assert math.isfinite(result.score)
        else:
            assert result.score is None
            assert result.failure.strip()

    def test_a_worker_gives_the_same_result_as_plain_data(self, task: Task) -> None:
        job = Job(
            run=1,
            stage="search",
            task=task.name,
            function=task.baseline,
            scope=None,
            budget=self.budget,
            seed=3,
            part="validation",
            limit=None,
            how=How(device="cpu"),
            checkpoints="",
        )
        result = json.loads(json.dumps(judge(job, {task.name: task})))
        assert result["failure"] is None, result["detail"]
        if self.repeatable:
            assert result["score"] == self.known(task).score

    @pytest.mark.parametrize(
        ("changes", "sentence"),
        [
            ({"part": "training"}, "part of the data"),
            ({"seed": -1}, "a seed is a whole number"),
            ({"budget": 0}, "at least one"),
        ],
    )
    def test_what_cannot_be_trained_is_said(
        self, task: Task, changes: dict[str, Any], sentence: str
    ) -> None:
        with pytest.raises(PangaeaError, match=sentence):
            self.trained(task, **changes)


def _told(result: TrainingResult) -> tuple[Any, ...]:
    """What two runs that differ in anything differ in."""
    return result.score, result.failure, result.loss


def _states() -> tuple[Any, ...]:
    numpy = np.random.get_state()[1].tolist()  # type: ignore[index]
    return random.getstate(), numpy, torch.get_rng_state().tolist(), torch.get_num_threads()

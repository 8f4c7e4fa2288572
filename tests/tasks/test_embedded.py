"""What all embedded tasks have in common: found, deterministic, interruptible, honest."""

import math
from typing import Any

import pytest

import pangaea as pg
from pangaea.functions.catalog import resolve
from pangaea.tasks.embedded import EmbeddedTask
from pangaea.training.how import How
from pangaea.training.result import TrainingResult

TASKS = ("charlm", "charlm-gated", "pinn", "tabular", "tabular-2", "tabular-3")
LISTED = (*TASKS, "charlm-large")
EXPLODING = "exp(exp(square(x)))"  # no gain mends it: its second moment is infinite


def trained(
    task: str, function: str = "swish(x)", *, budget: int = 1, seed: int = 0, **changes: Any
) -> TrainingResult:
    settings = {"scope": None, "part": "validation", "tell": lambda share: None} | changes
    return pg.task(task).train(
        function, budget=budget, seed=seed, how=How(device="cpu"), **settings
    )


@pytest.mark.parametrize("name", LISTED)
def test_a_task_is_listed_found_and_complete(name: str) -> None:
    task = pg.task(name)
    assert name in pg.tasks()
    assert isinstance(task, EmbeddedTask)
    assert task.name == name
    assert 1 <= task.budgets["search"] < task.budgets["full"]
    resolve(task.baseline)
    assert task.about()["recipe"]["epochs"] == task.budgets["full"]
    assert task.defaults["strategy"] == "thrifty"


def test_the_default_task_stays_the_first() -> None:
    assert pg.tasks()[0] == "mnist1d"


@pytest.mark.parametrize(("name", "budget"), [(name, 3) for name in TASKS])
def test_a_tiny_budget_beats_the_trivial_predictor(name: str, budget: int) -> None:
    goal = pg.task(name).goal
    result = trained(name, budget=budget)
    assert result.failure is None
    assert result.score is not None
    assert goal.failure is not None
    assert goal.gain(result.score, than=goal.failure) > 0
    assert len(result.loss) == budget
    assert result.validation[budget] == result.score


@pytest.mark.parametrize("name", TASKS)
def test_the_threshold_lies_between_failing_and_the_baseline(name: str) -> None:
    task = pg.task(name)
    assert task.goal.failure is not None
    assert task.goal.threshold is not None
    assert task.goal.gain(task.goal.threshold, than=task.goal.failure) > 0


@pytest.mark.parametrize("name", TASKS)
def test_a_function_that_explodes_is_a_failure_with_a_reason_and_no_score(name: str) -> None:
    result = trained(name, EXPLODING)
    assert result.score is None
    assert result.failure in ("diverged", "exploded")
    assert result.detail is not None
    assert "the loss after" in result.detail


@pytest.mark.parametrize("name", TASKS)
def test_the_test_part_changes_the_judging_alone(name: str) -> None:
    search, test = trained(name), trained(name, part="test")
    assert test.loss == search.loss
    assert test.values["validation"] == search.score
    assert test.score != search.score
    assert search.values == {}


@pytest.mark.parametrize("name", TASKS)
def test_test_data_is_not_touched_by_a_run_on_validation(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    task = pg.task(name)
    score = type(task).score
    parts: list[str] = []

    def noting(self: Any, model: Any, part: str, device: Any) -> float:
        parts.append(part)
        return score(self, model, part, device)

    monkeypatch.setattr(type(task), "score", noting)
    trained(name)
    assert set(parts) == {"validation"}


@pytest.mark.parametrize("name", ["charlm", "pinn", "tabular"])
def test_parameters_are_noted_by_epoch_and_layer(name: str) -> None:
    result = trained(name, "alpha*swish(beta*x)", budget=2)
    layers = {"charlm": 2, "pinn": 3, "tabular": 3}[name]
    assert list(result.parameters) == ["alpha", "beta"]
    assert len(result.counts) == layers
    for epochs in result.parameters.values():
        assert [len(values) for values in epochs] == [layers] * 3
        assert epochs[0] == [1.0] * layers
        assert epochs[-1] != epochs[0]


@pytest.mark.parametrize("name", ["charlm", "pinn", "tabular"])
def test_evaluate_counts_failed_runs_as_the_goal_says(name: str) -> None:
    judged = pg.evaluate(EXPLODING, name, runs=2, epochs=1, data="validation", device="cpu")
    assert judged.failures == 2
    assert judged.mean == pg.task(name).goal.failure


def test_the_schedule_is_compressed_not_cut_off() -> None:
    full = pg.task("pinn").full  # type: ignore[attr-defined]
    short = full.compressed(4)
    for share in (0.0, 0.05, 0.5, 0.99):
        assert math.isclose(short.rate_at(share), full.rate_at(share))

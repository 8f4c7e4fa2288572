"""Judging a function: what several runs add up to, failed ones included."""

import math
from pathlib import Path
from typing import Any

import pytest
import torch

import pangaea as pg
from pangaea.data.batches import judging_batches
from pangaea.errors import PangaeaError
from pangaea.tasks.classification import Classification
from pangaea.tasks.evaluate import Evaluation, own_seeds
from pangaea.training import start
from pangaea.training.result import TrainingResult

GOAL = pg.task("mnist1d").goal


def result(accuracy: float | None, seed: int = 0, **changes: Any) -> TrainingResult:
    failure = "diverged" if accuracy is None else None
    settings = {"score": accuracy, "failure": failure, "seconds": 2.0, **changes}
    return TrainingResult(
        task="mnist1d",
        function="relu(x)",
        scope=None,
        budget=40,
        seed=seed,
        part="test",
        **settings,
    )


def judged(*accuracies: float | None, **changes: Any) -> Evaluation:
    return Evaluation(
        function="relu(x)",
        task="mnist1d",
        goal=GOAL,
        results=tuple(map(result, accuracies)),
        **changes,
    )


def test_mean_and_sample_standard_deviation_are_those_of_the_runs() -> None:
    evaluation = judged(70.0, 72.0, 77.0)
    assert evaluation.scores == [70.0, 72.0, 77.0]
    assert evaluation.mean == pytest.approx(73)
    assert evaluation.sd == pytest.approx(math.sqrt((9 + 1 + 16) / 2))
    assert evaluation.failures == 0


def test_a_failed_run_counts_as_chance() -> None:
    evaluation = judged(70.0, None, 80.0)
    assert evaluation.scores == [70.0, 10.0, 80.0]
    assert evaluation.mean == pytest.approx(160 / 3)
    assert evaluation.sd == pytest.approx(math.sqrt((50**2 + 130**2 + 80**2) / 9 / 2))
    assert evaluation.failures == 1


def test_chance_depends_on_the_classes() -> None:
    evaluation = Evaluation(
        function="relu(x)",
        task="x/cifar100",
        goal=pg.task("wrn-10-4/cifar100").goal,
        results=(result(None), result(3.0)),
    )
    assert evaluation.scores == [1.0, 3.0]


def test_failures_are_dropped_where_the_paper_drops_them() -> None:
    evaluation = judged(70.0, None, 80.0, drop_failures=True)
    assert evaluation.scores == [70.0, 80.0]
    assert evaluation.mean == 75
    assert evaluation.sd == pytest.approx(math.sqrt(50))
    assert evaluation.failures == 1


def test_of_a_single_run_the_deviation_is_not_known() -> None:
    assert judged(70.0).sd is None
    assert judged(70.0).mean == 70
    assert judged(None).mean == 10
    assert judged(70.0, None, drop_failures=True).sd is None


def test_where_every_run_is_dropped_there_is_no_mean() -> None:
    evaluation = judged(None, None, drop_failures=True)
    assert evaluation.scores == []
    assert evaluation.mean is None
    assert evaluation.sd is None
    assert evaluation.failures == 2


@pytest.mark.parametrize(
    ("runs", "seconds"),
    [([(1.0, 3.0), (1.0, 2.0), (None, 0.1)], 2.0), ([(None, 0.2), (None, 0.1)], 0.1)],
)
def test_seconds_are_those_of_the_quickest_run_that_ended_well(
    runs: list[tuple[float | None, float]], seconds: float
) -> None:
    results = tuple(result(score, seconds=took) for score, took in runs)
    evaluation = Evaluation(function="relu(x)", task="mnist1d", goal=GOAL, results=results)
    assert evaluation.seconds == seconds


def test_a_function_is_judged_on_test_data_by_seeds_of_its_own() -> None:
    evaluation = pg.evaluate("relu", "mnist1d", runs=2, epochs=2, seed=5)
    assert (evaluation.function, evaluation.task, evaluation.goal) == ("relu(x)", "mnist1d", GOAL)
    seeds = [r.seed for r in evaluation.results]
    assert seeds == own_seeds(5, "relu(x)", 2)
    assert not {*seeds} & {*own_seeds(5, "tanh(x)", 2)}  # independent of another function's
    assert {r.part for r in evaluation.results} == {"test"}
    assert [len(r.loss) for r in evaluation.results] == [2, 2]
    assert evaluation.scores == [r.score for r in evaluation.results]
    assert evaluation.sd is not None
    assert evaluation.sd > 0
    assert not evaluation.drop_failures
    alone = pg.train("mnist1d", "relu", seed=seeds[1], epochs=2, data="test")
    assert evaluation.results[1].score == pytest.approx(alone.score, abs=1)


def test_the_default_task_is_judged_by_default() -> None:
    evaluation = pg.evaluate("relu", runs=1, epochs=1, data="validation", scope="layer")
    assert evaluation.task == "mnist1d"
    (only,) = evaluation.results
    assert (only.part, only.scope, only.seed) == (
        "validation",
        "layer",
        own_seeds(0, "relu(x)", 1)[0],
    )


def test_the_set_up_of_pau_drops_failures() -> None:
    evaluation = pg.evaluate("PAU", runs=1, recipe="pau", epochs=1)
    assert evaluation.drop_failures
    assert evaluation.failures == 1
    assert evaluation.scores == []


def test_an_interrupted_evaluation_repeats_no_finished_run(tmp_path: Path) -> None:
    heard: list[float] = []

    def stop(part: float) -> None:
        heard.append(part)
        if part > 0.5:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        pg.evaluate("relu", runs=3, epochs=1, checkpoints=tmp_path, progress=stop)
    assert heard == pytest.approx([1 / 3, 2 / 3])
    heard.clear()
    evaluation = pg.evaluate("relu", runs=3, epochs=1, checkpoints=tmp_path, progress=heard.append)
    assert heard == pytest.approx([2 / 3, 1])
    assert [r.seed for r in evaluation.results] == own_seeds(0, "relu(x)", 3)
    assert all(r.failure is None for r in evaluation.results)


@pytest.mark.parametrize("runs", [0, -1, True, 1.5, "3", None])
def test_a_function_is_judged_by_at_least_one_run(runs: object) -> None:
    with pytest.raises(PangaeaError, match="at least one run") as caught:
        pg.evaluate("relu", runs=runs)  # type: ignore[arg-type]
    assert repr(runs) in str(caught.value)


@pytest.mark.parametrize(
    "options", [{"task": "mnist2d"}, {"recipe": "ful"}, {"data": "tset"}, {"function": "rleu"}]
)
def test_wrong_names_are_answered_with_near_ones(options: dict[str, Any]) -> None:
    with pytest.raises(PangaeaError, match="did you mean"):
        pg.evaluate(**{"function": "relu", "runs": 1, "epochs": 1, **options})


# What people see, and what they get on request.


def test_evaluations_and_results_are_one_short_line() -> None:
    evaluation = pg.evaluate("alpha*swish(x)", runs=2, epochs=1)
    line = repr(evaluation)
    assert line.startswith("Evaluation('alpha*swish(x)' on mnist1d: test accuracy ")
    assert line.endswith("%, n = 2)")
    only = evaluation.results[0]
    assert repr(only) == (
        f"TrainingResult('alpha*swish(x)' on mnist1d, budget 1, seed {only.seed}: "
        f"test score {only.score:.6g})"
    )
    assert "no score, n = 1, 1 failed" in repr(pg.evaluate("PAU", runs=1, recipe="pau", epochs=1))


@pytest.mark.parametrize("precision", ["fp32", "bf16"])
def test_the_trained_network_is_there_on_request(precision: str, tmp_path: Path) -> None:
    given: dict[str, Any] = {"epochs": 2, "seed": 1, "precision": precision}
    result = pg.train("mnist1d", "alpha*swish(x)", **given, keep_model=True, checkpoints=tmp_path)
    model = result.model
    assert {p.dtype for p in model.parameters()} == {torch.float32}
    assert not model.training
    acts = [m for m in model.modules() if isinstance(m, pg.Activation)]
    means = [act.alpha.mean().item() for act in acts]
    assert means == pytest.approx(result.parameters["alpha"][-1])
    assert "model" not in result.as_dict()
    assert accuracy(model) == pytest.approx(result.score, abs=0 if precision == "fp32" else 1.5)
    again = pg.train("mnist1d", "alpha*swish(x)", **given, keep_model=True, checkpoints=tmp_path)
    for one, other in zip(model.parameters(), again.model.parameters(), strict=True):
        assert torch.equal(one, other)
    assert pg.train("mnist1d", "relu", epochs=1).model is None


def accuracy(model: torch.nn.Module) -> float:
    """Of a network on the validation data of the default task."""
    task = pg.task("mnist1d")
    assert isinstance(task, Classification)
    cpu = torch.device("cpu")
    _, validation, _, normal = start.parts(task.data_set, task.full, cpu, with_test=False)
    right = total = 0
    with torch.no_grad():
        for inputs, labels in judging_batches(validation, normal, torch.float32):
            right += int((model(inputs).argmax(1) == labels).sum())
            total += len(labels)
    return 100 * right / total


@pytest.mark.parametrize("name", ["tabular", "pinn"])
def test_so_it_is_of_the_other_tasks(name: str) -> None:
    result = pg.train(name, "tanh(alpha*x)", epochs=1, keep_model=True, device="cpu")
    acts = [m for m in result.model.modules() if isinstance(m, pg.Activation)]
    assert [act.alpha.mean().item() for act in acts] == pytest.approx(
        result.parameters["alpha"][-1]
    )


def test_a_task_of_one_s_own_may_return_its_network() -> None:
    def train(activation: Any, budget: int, seed: int) -> dict[str, Any]:
        return {"score": 1.0, "model": torch.nn.Sequential(activation(shape=1))}

    task = pg.Task("mine", train, goal=pg.maximize("score"), budgets={"search": 1, "full": 2})
    assert isinstance(pg.train(task, "relu", keep_model=True).model[0], pg.Activation)
    assert pg.train(task, "relu").model is None

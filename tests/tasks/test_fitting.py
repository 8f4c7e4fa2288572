"""Tasks from a model, data, a loss and a metric."""

from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from torch.utils.data import DataLoader, Dataset, TensorDataset

import pangaea as pg
from pangaea.data.given import given_batches
from pangaea.errors import PangaeaError, UserCodeError
from pangaea.tasks.own import OwnTask
from pangaea.training.fit import AdamRecipe
from pangaea.training.result import TrainingResult

torch.manual_seed(0)
X = torch.randn(240, 4)
Y = (X[:, 0] * X[:, 1] > 0).long()
PAIRS = {"train": (X[:160], Y[:160]), "validation": (X[160:200], Y[160:200])}
TEST = (X[200:], Y[200:])


def build(activation: Any) -> nn.Module:
    return nn.Sequential(nn.Linear(4, 16), activation(), nn.Linear(16, 2))


def accuracy(outputs: Tensor, targets: Tensor) -> Tensor:
    return 100 * (outputs.argmax(1) == targets).double().mean()


def task(**changes: Any) -> OwnTask:
    given: dict[str, Any] = {
        "model": build,
        "loss": nn.functional.cross_entropy,
        "metric": accuracy,
        "goal": pg.maximize("accuracy", unit="%"),
        "budgets": {"search": 2, "full": 20},
        "batch": 32,
        "rate": 2e-2,
    }
    return pg.fit_task("signs", **PAIRS | given | changes)


def trained(on: OwnTask, function: str = "relu", **more: Any) -> TrainingResult:
    return pg.train(on, function, **more)


def test_it_learns_and_says_how() -> None:
    result = trained(task(), "alpha*swish(x)", recipe="full")
    assert result.score is not None
    assert result.score > 80
    assert len(result.loss) == 20
    assert result.loss[-1] < result.loss[0] / 1.5
    assert [*result.validation] == [*range(2, 21, 2)]
    assert result.validation[20] == result.score
    assert len(result.parameters["alpha"]) == 21
    assert len(result.parameters["alpha"][0]) == 1


def test_the_same_seed_gives_the_same_score_and_another_one_another() -> None:
    one, same, other = (trained(task(), recipe="search", seed=seed) for seed in (1, 1, 2))
    assert one.loss == same.loss
    assert one.loss != other.loss


def test_without_a_metric_the_score_is_the_mean_loss_over_samples() -> None:
    on = task(metric=None, goal=None)
    assert (on.goal.name, on.goal.maximised) == ("loss", False)
    result = trained(on, recipe="search")
    uneven = task(
        metric=None, goal=None, validation=DataLoader(TensorDataset(*PAIRS["validation"]), 33)
    )
    assert trained(uneven, recipe="search").score == pytest.approx(result.score, rel=1e-5)


def test_the_metric_sees_all_outputs_at_once() -> None:
    sizes = []

    def metric(outputs: Tensor, targets: Tensor) -> float:
        sizes.append((tuple(outputs.shape), tuple(targets.shape)))
        return 1.0

    loader = DataLoader(TensorDataset(*PAIRS["validation"]), 7)
    trained(task(metric=metric, validation=loader), recipe="search")
    assert sizes == [((40, 2), (40,))] * 2


def test_test_data_is_looked_at_in_a_test_run_alone() -> None:
    class Watched(Dataset[Any]):
        looked = 0

        def __len__(self) -> int:
            return len(TEST[0])

        def __getitem__(self, i: int) -> Any:
            self.looked += 1
            return TEST[0][i], TEST[1][i]

    data = Watched()
    result = trained(task(test=data), recipe="search")
    assert data.looked == 0
    tested = trained(task(test=data), recipe="search", data="test")
    assert data.looked == len(TEST[0])
    assert tested.values["validation"] == result.score


SHAPES = {
    "tensors": PAIRS["train"],
    "arrays": (X[:160].double().numpy(), Y[:160].numpy()),
    "dataset": TensorDataset(*PAIRS["train"]),
    "samples": [(x, int(y)) for x, y in zip(*PAIRS["train"], strict=True)],
    "loader": DataLoader(TensorDataset(*PAIRS["train"]), 32, shuffle=True),
    "loader with its own generator": DataLoader(
        TensorDataset(*PAIRS["train"]), 32, shuffle=True, generator=torch.Generator()
    ),
}


@pytest.mark.parametrize("data", SHAPES.values(), ids=SHAPES.keys())
def test_data_may_be_whatever_people_have(data: Any) -> None:
    first, again = (trained(task(train=data), recipe="full", epochs=8) for _ in range(2))
    assert first.score is not None
    assert first.score > 65
    assert first.loss == again.loss


def test_several_inputs_and_dicts_reach_the_network() -> None:
    class Two(nn.Module):
        def __init__(self, activation: Any) -> None:
            super().__init__()
            self.layers = build(activation)

        def forward(self, left: Tensor, right: Tensor, y: Tensor | None = None) -> Any:
            outputs = self.layers(torch.cat([left, right], 1))
            return outputs if y is None else {"loss": nn.functional.cross_entropy(outputs, y)}

    halves = ((X[:, :2], X[:, 2:]), Y)
    assert trained(task(model=Two, train=halves, validation=halves), recipe="search").score
    rows = [{"left": x[:2], "right": x[2:], "y": y} for x, y in zip(X, Y, strict=True)]
    on = task(
        model=Two,
        train=rows,
        validation=rows,
        loss=lambda outputs, batch: outputs["loss"],
        metric=None,
        goal=None,
    )
    assert trained(on, recipe="search").score == pytest.approx(0.69, abs=0.1)


def test_sgd_learns_too() -> None:
    result = trained(task(optimizer="sgd", rate=0.2), recipe="full")
    assert result.score is not None
    assert result.score > 80


def test_a_smaller_budget_is_the_same_schedule_compressed() -> None:
    full = AdamRecipe(epochs=20, rate=1.0, warmup=0.1, judge_every=10)
    short = full.compressed(2)
    rates = [short.rate_at(step / 40) for step in range(40)]
    assert rates == [full.rate_at(step / 40) for step in range(40)]
    assert (rates[0], max(rates)) == (0.0, 1.0)
    assert rates[-1] < 0.01
    assert (short.epochs, short.judge_every) == (2, 1)


def test_a_diverged_training_is_a_failure_with_its_curves() -> None:
    result = trained(task(loss=lambda o, t: (o - o.detach() + torch.nan).mean()), recipe="search")
    assert result.failure == "diverged"
    assert result.detail == "the loss after 1 steps of epoch 1 was nan"
    assert result.score is None


def test_a_builder_that_leaves_the_activation_out_is_told() -> None:
    on = task(model=lambda activation: nn.Linear(4, 2))
    with pytest.raises(UserCodeError, match=r"the Linear that build\(activation\) made has no"):
        trained(on, recipe="search")


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"goal": None}, "a metric needs a goal"),
        ({"loss": 3}, "a loss is a function of outputs and targets, got 3"),
        (
            {"loss": lambda a, b, c: a},
            r"called as loss\(outputs, targets\), but yours takes \(a, b",
        ),
        ({"loss": nn.MSELoss}, r"of outputs and targets: MSELoss\(\), not MSELoss"),
        ({"metric": lambda a: 1.0}, r"as metric\(outputs, targets\), but yours takes \(a\)"),
        ({"metric": "accuracy"}, "a metric is a function of outputs and targets, got 'accuracy'"),
        ({"optimizer": "adam"}, "did you mean adamw"),
        ({"batch": 0}, "a batch has at least one sample, got 0"),
        ({"budgets": None}, "needs its budgets"),
        ({"model": 3}, "a model is a torch.nn.Module, or a function"),
        ({"model": lambda a, b: None}, r"called as build\(activation\), but yours needs a, b"),
    ],
)
def test_what_is_wrong_is_said_when_it_is_made(changes: dict[str, Any], words: str) -> None:
    with pytest.raises(PangaeaError, match=words):
        task(**changes)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"train": 3}, r"data is a pair \(x, y\).*got int"),
        ({"train": []}, "with something in it; got list"),
        ({"train": (X[:3], Y[:2])}, "one row for each sample.*got 2 and 3 rows"),
        ({"model": lambda activation: 3}, "returns a torch.nn.Module, got int"),
        ({"loss": nn.CrossEntropyLoss(reduction="none")}, "a loss returns a tensor of one number"),
        ({"metric": lambda outputs, targets: None}, "a metric returns a number, got nothing"),
        ({"metric": lambda outputs, targets: "1"}, "a metric returns a number, got '1'"),
        ({"metric": lambda outputs, targets: targets}, "a metric returns a number, got tensor"),
        ({"metric": None, "train": DataLoader(X, 32)}, r"a batch is \(inputs, targets\)"),
    ],
)
def test_what_is_wrong_with_data_and_models_is_said(changes: dict[str, Any], words: str) -> None:
    with pytest.raises(UserCodeError, match=rf"^train failed with relu\(x\): .*{words}") as caught:
        trained(task(**changes), recipe="search")
    assert "\n" not in str(caught.value)
    assert caught.value.brief in str(caught.value)


def test_arrays_keep_whole_numbers_and_become_single_precision() -> None:
    data = (np.zeros((4, 2)), np.zeros(4, dtype=np.int64))
    ((x, y),) = given_batches(data, 8, torch.device("cpu"))
    assert (x.dtype, y.dtype) == (torch.float32, torch.int64)


def test_a_model_or_a_builder_of_it_is_operated_on() -> None:
    model = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 2))
    before = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    scores = {
        function: trained(task(model=model), function, recipe="search").loss
        for function in ("relu", "tanh(x)", "alpha*swish(x)")
    }
    assert len({tuple(loss) for loss in scores.values()}) == 3
    assert all(torch.equal(model.state_dict()[name], tensor) for name, tensor in before.items())
    assert isinstance(model[1], nn.ReLU)
    built = task(model=lambda: nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 2)))
    assert trained(built, "tanh(x)", recipe="search").score is not None

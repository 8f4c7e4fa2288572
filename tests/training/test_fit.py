"""The plain loop: any network, any batches, any loss."""

import json
import math
from dataclasses import asdict, replace
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from torch.utils.data import DataLoader, TensorDataset

import pangaea as pg
from pangaea.errors import PangaeaError
from pangaea.training.fit import AdamRecipe, Course, SGDRecipe, fit

RECIPE = AdamRecipe(epochs=4, rate=0.05)


def line() -> DataLoader[Any]:
    x = torch.linspace(-1, 1, 64)[:, None]
    return DataLoader(TensorDataset(x, 3 * x + 1), batch_size=16)


def squared(model: nn.Module, batch: list[Tensor]) -> Tensor:
    return (model(batch[0]) - batch[1]).square().mean()


def fitted(**changes: Any) -> Course:
    settings: dict[str, Any] = {
        "model": nn.Linear(1, 1),
        "batches": line(),
        "loss": squared,
        "recipe": RECIPE,
    }
    return fit(**settings | changes)


def test_a_data_loader_will_do_and_the_loss_falls() -> None:
    course = fitted(recipe=AdamRecipe(epochs=60, rate=0.1))
    assert (course.failure, course.detail) == (None, None)
    assert len(course.loss) == 60
    assert course.loss[-1] < 1e-3 < course.loss[0]


def test_the_score_is_noted_now_and_then_and_at_the_end() -> None:
    scores = iter(range(10))
    recipe = AdamRecipe(epochs=5, rate=0.1, judge_every=2)
    course = fitted(recipe=recipe, judge=lambda: float(next(scores)))
    assert course.validation == {2: 0.0, 4: 1.0, 5: 2.0}


def test_judging_happens_in_evaluation_mode_and_training_goes_on_in_the_other() -> None:
    model = nn.Sequential(nn.Linear(1, 1), nn.Dropout(0.5))
    modes: list[tuple[str, bool]] = []

    def loss(model: nn.Module, batch: list[Tensor]) -> Tensor:
        modes.append(("training", model.training))
        return squared(model, batch)

    def judge() -> float:
        modes.append(("judging", model.training))
        return 0.0

    fitted(model=model, loss=loss, judge=judge)
    assert set(modes) == {("training", True), ("judging", False)}


def test_the_rate_rises_and_falls_along_a_cosine() -> None:
    recipe = AdamRecipe(epochs=10, rate=0.2, warmup=0.1)
    assert recipe.rate_at(0.0) == 0.0
    assert recipe.rate_at(0.05) == pytest.approx(0.1)
    assert recipe.rate_at(0.1) == pytest.approx(0.2)
    assert recipe.rate_at(0.55) == pytest.approx(0.1)
    assert recipe.rate_at(1.0) == pytest.approx(0.0)
    assert AdamRecipe(epochs=1, rate=0.2, warmup=0.0).rate_at(0.0) == 0.2


def test_every_step_has_the_rate_of_its_own_place_in_the_schedule(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    seen: list[float] = []
    step = torch.optim.AdamW.step

    def noting(optimizer: torch.optim.AdamW, *args: Any) -> Any:
        seen.append(optimizer.param_groups[0]["lr"])
        return step(optimizer, *args)

    monkeypatch.setattr(torch.optim.AdamW, "step", noting)
    fitted()
    assert seen == pytest.approx([RECIPE.rate_at(i / 16) for i in range(16)])  # 4 epochs of 4
    assert len(set(seen[:4])) == 4


def test_compressing_keeps_the_number_of_points() -> None:
    recipe = AdamRecipe(epochs=50, rate=0.1, judge_every=10)
    assert recipe.compressed(10).judge_every == 2
    assert recipe.compressed(1).judge_every == 1
    assert recipe.compressed(100).judge_every == 10
    with pytest.raises(PangaeaError, match="at least one epoch"):
        recipe.compressed(0)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("clip", 0.0),
        ("warmup", 1.0),
        ("weight_decay", -1.0),
        ("rate", 0.0),
        ("rate", math.nan),
        ("rate", "1e-3"),
    ],
)
def test_a_recipe_that_could_not_train_is_refused(name: str, value: Any) -> None:
    with pytest.raises(PangaeaError, match=f"{name} is .*, got {value!r}"):
        replace(AdamRecipe(epochs=5, rate=0.1), **{name: value})
    with pytest.raises(PangaeaError, match="momentum is a number from 0 to below 1, got 1"):
        SGDRecipe(epochs=5, rate=0.1, momentum=1)


def test_numpys_numbers_are_numbers() -> None:
    recipe = AdamRecipe(epochs=np.int64(5), rate=np.float32(0.5))
    assert json.dumps(asdict(recipe)) == json.dumps(asdict(AdamRecipe(epochs=5, rate=0.5)))


def test_only_weights_decay() -> None:
    model = nn.Sequential(nn.Linear(1, 4), pg.Activation("alpha*tanh(x)", "layer"), nn.Linear(4, 1))

    def nothing(model: nn.Module, batch: list[Tensor]) -> Tensor:
        return 0 * squared(model, batch)

    nn.init.ones_(model[0].bias)  # type: ignore[arg-type]
    before = [p.detach().clone() for p in model.parameters()]
    fitted(model=model, loss=nothing, recipe=AdamRecipe(epochs=4, rate=0.1, weight_decay=1.0))
    moved = [not torch.equal(p, b) for p, b in zip(model.parameters(), before, strict=True)]
    assert moved == [p.dim() == 2 for p in model.parameters()]


@pytest.mark.parametrize(
    ("loss", "reason"),
    [(math.nan, "diverged"), (math.inf, "diverged"), (1e9, "exploded")],
)
def test_a_loss_that_is_not_sane_ends_the_training(loss: float, reason: str) -> None:
    def broken(model: nn.Module, batch: list[Tensor]) -> Tensor:
        return 0 * squared(model, batch) + loss

    course = fitted(loss=broken)
    assert course.failure == reason
    assert course.detail is not None
    assert "after 1 steps of epoch 1" in course.detail
    assert course.loss == []


def test_parameters_are_kept_as_long_as_they_are_finite() -> None:
    model = nn.Sequential(nn.Linear(1, 4), pg.Activation("alpha*tanh(x)", "layer"), nn.Linear(4, 1))
    steps = 0

    def breaking(model: nn.Module, batch: list[Tensor]) -> Tensor:
        nonlocal steps
        steps += 1
        loss = squared(model, batch)
        if steps == 12:  # the last of an epoch: what it does to alpha the next one shows
            model[1].alpha.register_hook(lambda slope: math.nan * slope)  # type: ignore[index,union-attr]
        return loss

    course = fitted(model=model, loss=breaking, recipe=AdamRecipe(epochs=5, rate=0.1, clip=None))
    assert (course.failure, len(course.loss)) == ("diverged", 3)
    assert len(course.parameters["alpha"]) == 3
    json.dumps(vars(course), allow_nan=False)


def test_a_score_that_is_no_number_ends_the_training() -> None:
    course = fitted(judge=lambda: math.nan)
    assert course.failure == "diverged"
    assert course.validation == {}


@pytest.mark.parametrize(
    ("message", "reason"),
    [
        ("derivative for aten::special_i1e is not implemented", "not differentiable"),
        ("[enforce fail] DefaultCPUAllocator: can't allocate memory", "out of memory"),
    ],
)
def test_what_is_wrong_with_a_function_is_a_failure(message: str, reason: str) -> None:
    def unable(model: nn.Module, batch: list[Tensor]) -> Tensor:
        raise RuntimeError(f"{message}\nException raised from somewhere in torch")

    course = fitted(loss=unable)
    assert course.failure == reason
    assert course.detail == message


def test_too_little_memory_on_a_gpu_is_a_failure_too() -> None:
    def large(model: nn.Module, batch: list[Tensor]) -> Tensor:
        raise torch.OutOfMemoryError(
            "CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 1 GiB."
        )

    course = fitted(loss=large)
    assert course.failure == "out of memory"
    assert course.detail == "CUDA out of memory. Tried to allocate 2.00 GiB"


def test_what_is_wrong_with_the_code_around_it_is_not() -> None:
    with pytest.raises(RuntimeError, match="cannot be multiplied"):
        fitted(model=nn.Linear(2, 1))


def test_a_function_without_second_derivative_is_said_to_have_none() -> None:
    class Stubborn(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Tensor) -> Tensor:
            return x.clone()

        @staticmethod
        @torch.autograd.function.once_differentiable
        def backward(ctx: Any, gradient: Tensor) -> Tensor:
            return gradient

    def slope(model: nn.Module, batch: list[Tensor]) -> Tensor:
        x = batch[0].requires_grad_()
        y = Stubborn.apply(model(x)).square().sum()  # type: ignore[no-untyped-call]
        (slopes,) = torch.autograd.grad(y, x, create_graph=True)
        result: Tensor = slopes.square().mean()
        return result

    assert fitted(loss=slope).failure == "not differentiable"


def test_whoever_is_told_may_stop_it() -> None:
    def tell(share: float) -> None:
        if share > 0.5:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fitted(tell=tell)

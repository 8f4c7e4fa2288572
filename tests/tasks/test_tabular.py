"""Regression: Friedman's formulas, their parts, and how they are scored."""

import math

import numpy as np
import pytest
import torch
from torch import Tensor

import pangaea as pg
from pangaea.data.friedman import PROBLEMS, SIZES, rows
from pangaea.tasks.tabular import Tabular

CPU = torch.device("cpu")


def test_the_functions_are_friedmans() -> None:
    first = PROBLEMS[1].function(np.array([[0.5, 0.5, 1.0, 0.1, 0.2, 9, 9, 9, 9, 9]]))
    assert first[0] == pytest.approx(10 * math.sin(math.pi / 4) + 5 + 1 + 1)
    circuit = np.array([[30.0, 500.0, 0.1, 2.0]])
    reactance = 500 * 0.1 - 1 / (500 * 2)
    assert PROBLEMS[2].function(circuit)[0] == pytest.approx(math.hypot(30, reactance))
    assert PROBLEMS[3].function(circuit)[0] == pytest.approx(math.atan(reactance / 30))


@pytest.mark.parametrize("number", PROBLEMS)
def test_parts_are_drawings_of_their_own(number: int) -> None:
    parts = [rows(number, part) for part in SIZES]
    assert [len(part.inputs) for part in parts] == list(SIZES.values())
    every = torch.cat([part.inputs for part in parts])
    assert len(every.unique(dim=0)) == len(every)


@pytest.mark.parametrize("number", PROBLEMS)
def test_only_the_training_part_is_standardized_by_itself(number: int) -> None:
    training, validation = rows(number, "training"), rows(number, "validation")
    for values in (training.inputs, training.targets):
        torch.testing.assert_close(values.mean(0), torch.zeros_like(values[0]), atol=1e-5, rtol=0)
        torch.testing.assert_close(values.std(0), torch.ones_like(values[0]), atol=1e-3, rtol=0)
    assert float(validation.inputs.mean(0).abs().max()) > 1e-4


def test_the_mean_scores_nothing_and_the_function_itself_everything() -> None:
    task = Tabular("tabular", 1)
    judged = rows(1, "validation")

    class Constant(torch.nn.Module):
        def forward(self, inputs: Tensor) -> Tensor:
            return judged.targets.mean().expand(len(inputs), 1)

    class Oracle(torch.nn.Module):
        def forward(self, inputs: Tensor) -> Tensor:
            return judged.targets[:, None]

    assert task.score(Constant(), "validation", CPU) == pytest.approx(0.0, abs=1e-6)
    assert task.score(Oracle(), "validation", CPU) == pytest.approx(1.0)
    assert task.goal.failure == 0.0


def test_inputs_without_a_say_are_there() -> None:
    task = pg.task("tabular")
    assert isinstance(task, Tabular)
    model = task.build(pg.parse("relu(x)"), lambda shape: pg.Activation("relu(x)"))
    assert model[0].in_features == 10  # type: ignore[index]

"""What a search relies on, in every kind of task."""

from typing import Any

import pytest
import torch
from torch import nn

import pangaea as pg
from pangaea.tasks.task import Task
from pangaea.testing import TaskContract

X = torch.linspace(-2, 2, 64).unsqueeze(1)


class TestMnist1d(TaskContract):
    @pytest.fixture
    def task(self) -> Task:
        return pg.task("mnist1d")


class TestEmbedded(TaskContract):
    @pytest.fixture(params=["charlm", "charlm-gated", "pinn", "tabular", "tabular-2", "tabular-3"])
    def task(self, request: pytest.FixtureRequest) -> Task:
        return pg.task(request.param)


def train(activation: Any, budget: int, seed: int, tell: Any) -> float:
    model = nn.Sequential(nn.Linear(1, 16), activation(), nn.Linear(16, 1))
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    for step in range(20 * budget):
        tell(step / (20 * budget))
        optimizer.zero_grad()
        nn.functional.mse_loss(model(X), X**2).backward()
        optimizer.step()
    return nn.functional.mse_loss(model(X), X**2).item()


class TestOwn(TaskContract):
    @pytest.fixture
    def task(self) -> Task:
        goal, budgets = pg.minimize("squared error"), {"search": 2, "full": 6}
        return pg.Task("parabola", train, goal=goal, budgets=budgets)


class TestFitted(TaskContract):
    @pytest.fixture
    def task(self) -> Task:
        return pg.fit_task(
            "parabola",
            model=nn.Sequential(nn.Linear(1, 16), nn.Tanh(), nn.Linear(16, 1)),
            train=(X[::2], X[::2] ** 2),
            validation=(X[1::2], X[1::2] ** 2),
            test=(X[1:9], X[1:9] ** 2),
            loss=nn.functional.mse_loss,
            budgets={"search": 2, "full": 6},
            batch=8,
        )

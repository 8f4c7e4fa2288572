"""A physics-informed network (Raissi et al., arXiv:1711.10561) that learns a wave.

u_t + β·u_x = 0 for t in [0, 1], periodic in x, u(x, 0) = sin x. The solution is sin(x − βt); no
value of it is shown in training. Convection is a known difficulty of such networks (Krishnapriyan
et al., arXiv:2109.01050).
"""

import math
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

import torch
from torch import Tensor, nn

from pangaea.functions.expression import Function
from pangaea.functions.learnable import Learnable
from pangaea.networks.gain import gain
from pangaea.networks.layers import ActivationFactory
from pangaea.networks.mlp import mlp
from pangaea.tasks.embedded import EmbeddedTask
from pangaea.tasks.goal import minimize
from pangaea.training.fit import AdamRecipe, Batches

WIDTHS = (32, 32, 32)
SPEED = 5.0  # β
COUNTS = {"training": 256, "validation": 2048, "test": 4096}
_FIRST = {"training": 0, "validation": 10_000, "test": 20_000}  # points of the sequence
STEPS = 50  # of an epoch, each with every point


class Pinn(EmbeddedTask):
    """Convection, judged by how far the network is from the solution."""

    name = "pinn"
    baseline = "tanh(x)"
    # Zero everywhere has an error of 1, the score 0.
    goal = minimize("log₁₀ relative error", failure=0.0, threshold=-0.1, digits=3)
    # The baseline's best: -1.66, -1.82, -2.00 and -1.97 at 5e-3, 1e-2, 2e-2 and 4e-2 (3 seeds).
    full = AdamRecipe(epochs=40, rate=2e-2, clip=None, judge_every=4)
    search_epochs = 16
    defaults: Mapping[str, Any] = {
        "strategy": "thrifty",
        "candidates": 200,
        "population": 20,
        "sample": 5,
    }

    def build(self, function: Function | Learnable, activation: ActivationFactory) -> nn.Module:
        return Wave(mlp(activation, 3, WIDTHS, 1, gain(function)))

    def batches(self, generator: torch.Generator, device: torch.device) -> Batches:
        return _FullBatch(places("training").to(device))

    def loss(self, model: nn.Module, batch: Tensor) -> Tensor:
        """How wrong the equation is."""
        points = batch.detach().requires_grad_()
        (slopes,) = torch.autograd.grad(
            model(points).sum(), points, create_graph=True, materialize_grads=True
        )
        return (slopes[:, 1] / SPEED + slopes[:, 0]).square().mean()

    def score(self, model: nn.Module, part: str, device: torch.device) -> float:
        points = places(part)
        u = solution(points.double())
        wrong = model(points.to(device)).double().cpu() - u
        return math.log10(max(float(wrong.norm() / u.norm()), 1e-12))


class Wave(nn.Module):
    """sin x + t·N(cos x, sin x, t): periodic, and right at t = 0, whatever the network N is."""

    def __init__(self, network: nn.Module) -> None:
        super().__init__()
        self.network = network

    def forward(self, points: Tensor) -> Tensor:
        x, t = points.unbind(1)
        # Each with a standard deviation of 1.
        inputs = [math.sqrt(2) * x.cos(), math.sqrt(2) * x.sin(), math.sqrt(12) * (t - 0.5)]
        y: Tensor = x.sin() + t * self.network(torch.stack(inputs, 1))[:, 0]
        return y


def solution(points: Tensor) -> Tensor:
    return torch.sin(points[:, 0] - SPEED * points[:, 1])


@cache
def places(part: str) -> Tensor:
    """Points (x, t) spread evenly: each part is a stretch of one low-discrepancy sequence, R₂."""
    golden = 1.32471795724474602596  # the plane's golden ratio, the root of r³ = r + 1
    numbers = torch.arange(1, COUNTS[part] + 1, dtype=torch.float64) + _FIRST[part]
    unit = torch.stack([(numbers / golden) % 1, (numbers / golden**2) % 1], 1)
    return (unit * torch.tensor([2 * math.pi, 1.0], dtype=torch.float64)).float()


class _FullBatch:
    """The same points in every step."""

    def __init__(self, points: Tensor) -> None:
        self.points = points

    def __len__(self) -> int:
        return STEPS

    def __iter__(self) -> Iterator[Tensor]:
        for _ in range(STEPS):
            yield self.points


def names() -> tuple[str, ...]:
    return (Pinn.name,)


def find(name: str) -> Pinn | None:
    return Pinn() if name == Pinn.name else None

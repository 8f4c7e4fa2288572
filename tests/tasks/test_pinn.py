"""The wave: its equation, its points, and functions whose slopes are differentiated again."""

import math

import pytest
import torch
from torch import Tensor

import pangaea as pg
from pangaea.functions.learnable import LEARNABLE
from pangaea.functions.operators import OPERATORS
from pangaea.tasks.pinn import COUNTS, Pinn, places, solution

TASK = Pinn()
# A power's base is positive here: of a negative one it is no number.
FUNCTIONS = [
    f"{name}(x)" if operator.arity == 1 else f"{name}(softplus(x), tanh(x))"
    for name, operator in OPERATORS.items()
]


def wave(function: str) -> torch.nn.Module:
    torch.manual_seed(0)
    resolved = pg.parse(function) if function not in LEARNABLE else LEARNABLE[function]
    return TASK.build(resolved, lambda shape: pg.Activation(function, None, shape, channel_dim=-1))


class Exact(torch.nn.Module):
    def forward(self, points: Tensor) -> Tensor:
        return solution(points)


def test_the_solution_solves_the_equation_and_has_no_error() -> None:
    assert TASK.loss(Exact(), places("training")).item() < 1e-12
    assert TASK.score(Exact(), "validation", torch.device("cpu")) < -6


def test_zero_everywhere_scores_what_a_failure_is_worth() -> None:
    class Nothing(torch.nn.Module):
        def forward(self, points: Tensor) -> Tensor:
            return points[:, 0] * 0

    assert TASK.score(Nothing(), "validation", torch.device("cpu")) == pytest.approx(0.0)
    assert TASK.goal.failure == 0.0


def test_every_network_is_periodic_and_right_at_the_start() -> None:
    model = wave("tanh(x)")
    x = torch.linspace(0, 6, 9)
    start = torch.stack([x, torch.zeros(9)], 1)
    later = torch.stack([x, torch.full((9,), 0.7)], 1)
    period = torch.tensor([2 * math.pi, 0.0])
    with torch.no_grad():
        torch.testing.assert_close(model(start), torch.sin(x))
        torch.testing.assert_close(model(later), model(later + period), atol=1e-5, rtol=0)


def test_parts_have_points_of_their_own_inside_the_domain() -> None:
    points = {part: places(part) for part in COUNTS}
    for part, own in points.items():
        assert own.shape == (COUNTS[part], 2)
        assert own.min() >= 0
        assert (own <= torch.tensor([2 * math.pi, 1.0])).all()
    every = torch.cat(list(points.values()))
    assert len(every.unique(dim=0)) == len(every)


@pytest.mark.parametrize("function", [*FUNCTIONS, *LEARNABLE])
def test_the_slopes_of_every_operator_can_be_differentiated(function: str) -> None:
    """The weights' gradient of the loss, against a small step along it."""
    model = wave(function).double()
    points = places("training")[:32].double()
    loss = TASK.loss(model, points)
    loss.backward()  # type: ignore[no-untyped-call]
    weights = [(p, p.grad.clone()) for p in model.parameters() if p.grad is not None]
    slope = math.sqrt(sum(g.square().sum().item() for _, g in weights))
    step = 1e-6 * loss.item() / slope

    def moved(by: float) -> float:
        with torch.no_grad():
            for p, gradient in weights:
                p += by * gradient / slope
        return TASK.loss(model, points).item()

    above, below = moved(step), moved(-2 * step)
    assert (above - below) / (2 * step) == pytest.approx(slope, rel=0.02)


def test_a_function_without_a_slope_is_judged_like_any_other() -> None:
    judged = pg.evaluate("one(x)", "pinn", runs=1, epochs=1, data="validation", device="cpu")
    assert judged.failures == 0

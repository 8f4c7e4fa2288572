"""The learnable baselines: the paper's formulas and starting values."""

import copy
from typing import Any

import pytest
import torch
from torch import Tensor

import pangaea as pg
from pangaea.errors import PangaeaError
from pangaea.functions.learnable import LEARNABLE

X = torch.linspace(-4, 4, 81, dtype=torch.float64)[:, None]


def start(name: str) -> pg.Activation:
    return pg.Activation(name, scope="layer").double()


def test_prelu_starts_at_a_quarter() -> None:
    assert torch.equal(start("prelu")(X), torch.where(X >= 0, X, 0.25 * X))


def test_pswish_is_x_times_sigmoid_of_beta_x() -> None:
    torch.testing.assert_close(start("pswish")(X), torch.nn.functional.silu(X))


def test_apl_has_seven_distinct_hinges_and_starts_as_relu() -> None:
    module = start("apl")
    assert torch.equal(module(X), torch.relu(X))
    hinges = [getattr(module, f"b{s}").item() for s in range(1, 8)]
    assert hinges == pytest.approx([-2 + 2 * s / 3 for s in range(7)])
    with torch.no_grad():
        module.a3.fill_(0.5)
        module.b3.fill_(1.5)
    torch.testing.assert_close(module(X), torch.relu(X) + 0.5 * torch.relu(1.5 - X))


def test_pau_starts_near_leaky_relu() -> None:
    module = start("pau")
    leaky = torch.where(X >= 0, X, 0.01 * X)
    assert (module(X) - leaky)[X.abs() <= 3].abs().max() < 0.07
    a = torch.tensor([0.02979246, 0.61837738, 2.32335207, 3.05202660, 1.48548002, 0.25103717])
    b = torch.tensor([1.14201226, 4.39322834, 0.87154450, 0.34720652])
    powers = X.float() ** torch.arange(6)
    expected = (a * powers).sum(1) / (1 + (b * powers[:, 1:5]).sum(1).abs())
    torch.testing.assert_close(module(X)[:, 0].float(), expected, rtol=1e-4, atol=1e-4)


def test_splash_starts_as_relu_with_hinges_0_1_2_and_2_5() -> None:
    module = start("splash")
    assert torch.equal(module(X), torch.relu(X))
    with torch.no_grad():
        module.up4.fill_(2.0)
        module.down2.fill_(3.0)
    expected = torch.relu(X) + 2 * torch.relu(X - 2.5) + 3 * torch.relu(-X - 1)
    torch.testing.assert_close(module(X), expected)


@pytest.mark.parametrize("name", LEARNABLE)
def test_value_and_slope_before_training(name: str) -> None:
    baseline = LEARNABLE[name]
    for x in (-1.3, 0.4, 2.1):
        assert baseline(x) == pytest.approx(
            start(name)(torch.tensor([[x]]).double()).item(), rel=1e-5
        )
        numeric = (baseline(x + 1e-6) - baseline(x - 1e-6)) / 2e-6
        assert baseline.slope(x) == pytest.approx(numeric, rel=1e-5, abs=1e-8)


def prelu(x: Tensor, alpha: Tensor) -> Tensor:
    return torch.where(x >= 0, x, alpha * x)


def apl(x: Tensor, *parameters: Tensor) -> Tensor:
    slopes, hinges = parameters[:7], parameters[7:]
    parts = [a * torch.relu(b - x) for a, b in zip(slopes, hinges, strict=True)]
    return torch.relu(x) + sum(parts)


def pau(x: Tensor, *parameters: Tensor) -> Tensor:
    above = sum(a * x**j for j, a in enumerate(parameters[:6]))
    return above / (1 + abs(sum(b * x**k for k, b in enumerate(parameters[6:], 1))))


def splash(x: Tensor, *parameters: Tensor) -> Tensor:
    hinges = (0.0, 1.0, 2.0, 2.5)
    ups = sum(a * torch.relu(x - b) for a, b in zip(parameters[:4], hinges, strict=True))
    return ups + sum(a * torch.relu(-x - b) for a, b in zip(parameters[4:], hinges, strict=True))


@pytest.mark.parametrize("formula", [prelu, apl, pau, splash])
@pytest.mark.parametrize("scope", ["layer", "channel", "neuron"])
def test_values_and_gradients_are_those_of_the_papers_formula(formula: Any, scope: Any) -> None:
    torch.manual_seed(0)
    module = pg.Activation(formula.__name__, scope, shape=(3, 4)).double()
    for parameter in module.parameters():
        torch.nn.init.normal_(parameter)
    x = 2 * torch.randn(50, 3, 4, dtype=torch.float64)
    x[0] = 0.0
    x.requires_grad_()
    leaves = [x, *module.parameters()]
    aligned = [p.view(3, 1) if scope == "channel" else p for p in module.parameters()]
    y, expected = module(x), formula(x, *aligned)
    torch.testing.assert_close(y, expected)
    dy = torch.randn_like(y)
    gradients = torch.autograd.grad(y, leaves, dy)
    torch.testing.assert_close(gradients, torch.autograd.grad(expected, leaves, dy))


@pytest.mark.parametrize("name", LEARNABLE)
@pytest.mark.parametrize("scope", ["layer", "channel", "neuron"])
def test_every_parameter_learns_in_every_scope(name: str, scope: str) -> None:
    torch.manual_seed(0)
    module = pg.Activation(name, scope=scope, shape=(3, 4))  # type: ignore[arg-type]
    optimizer = torch.optim.SGD(module.parameters(), lr=0.01)
    x = 3 * torch.randn(64, 3, 4)
    for _ in range(2):
        optimizer.zero_grad()
        module(x).sin().sum().backward()
        optimizer.step()
    for parameter, first in zip(module.parameters(), LEARNABLE[name].initial.values(), strict=True):
        assert (parameter != first).any()


def test_baselines_can_be_keys_and_are_the_same_after_a_copy() -> None:
    for baseline in LEARNABLE.values():
        assert copy.deepcopy(baseline) == baseline
        assert {baseline: 1}[copy.deepcopy(baseline)] == 1
    assert len(set(LEARNABLE.values())) == len(LEARNABLE)
    assert repr(LEARNABLE["prelu"]) == "Learnable('prelu')"


def test_value_and_slope_at_parameters_of_ones_choice() -> None:
    prelu = LEARNABLE["prelu"]
    assert (prelu(-2.0, alpha=0.5), prelu.slope(-2.0, alpha=0.5)) == (-1.0, 0.5)
    assert LEARNABLE["splash"](-2.0, down1=3.0) == 6.0
    with pytest.raises(PangaeaError, match="no parameter of prelu is called 'beta'"):
        prelu(1.0, beta=1.0)

"""The learnable baselines: the paper's formulas and starting values."""

import copy

import pytest
import torch

import pangaea as pg
from pangaea.activation.learnable import LEARNABLE
from pangaea.errors import PangaeaError
from pangaea.functions import catalog

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


def test_the_catalog_leaves_out_exactly_these() -> None:
    assert set(LEARNABLE) == set(catalog.LEARNABLE)


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

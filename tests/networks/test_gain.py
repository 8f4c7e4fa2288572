"""The gain that a function's own statistics ask for."""

import math
from collections.abc import Callable

import pytest
import torch

import pangaea as pg
from pangaea.networks.gain import gain
from pangaea.networks.mlp import mlp


@pytest.mark.parametrize(
    ("function", "expected"),
    [("x", 1.0), ("relu(x)", math.sqrt(2)), ("square(x)", 1 / math.sqrt(3)), ("x + x", 1 / 2)],
)
def test_known_moments_give_known_gains(function: str, expected: float) -> None:
    assert gain(pg.parse(function)) == pytest.approx(expected, rel=1e-4)


@pytest.mark.parametrize(
    "function",
    [
        lambda x: 0.0,
        lambda x: math.inf,
        lambda x: math.nan,
        lambda x: math.exp(x * x * x * x),
        lambda x: 1e300 * x,
    ],
)
def test_a_function_that_no_gain_can_mend_keeps_its_size(
    function: Callable[[float], float],
) -> None:
    assert gain(function) == 1.0


@pytest.mark.parametrize("function", ["relu(x)", "tanh(x)", "swish(x)", "erfc(x)", "softsign(x)"])
def test_every_layer_sees_inputs_of_size_one(function: str) -> None:
    network = mlp(
        lambda shape: pg.Activation(function), 20, (1000,) * 3, 1000, gain(pg.parse(function))
    )
    x = torch.randn(100, 20)
    with torch.no_grad():
        for layer in network:
            x = layer(x)
            if isinstance(layer, torch.nn.Linear):
                assert float(x.square().mean().sqrt()) == pytest.approx(1.0, rel=0.2)

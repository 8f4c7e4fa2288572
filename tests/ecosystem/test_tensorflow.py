"""Exported TensorFlow source, where TensorFlow is installed: `pip install tensorflow-cpu`."""

from typing import Any

import numpy as np
import pytest
import torch

import pangaea as pg
from tests.export.truth import (
    FUNCTIONS,
    all_operators,
    check_function,
    execute,
    operator_text,
    trained,
)

tf = pytest.importorskip("tensorflow")
pytestmark = pytest.mark.ecosystem


def evaluate(function: Any) -> Any:
    def run(*inputs: np.ndarray) -> tuple[Any, ...]:
        tensors = [tf.constant(values) for values in inputs]
        with tf.GradientTape() as tape:
            tape.watch(tensors)
            value = function(*tensors)
        slopes = tape.gradient(value, tensors, unconnected_gradients="zero")
        return value.numpy(), *(slope.numpy() for slope in slopes)

    return run


@all_operators()
def test_tensorflow_source_computes_the_truth(name: str, check: Any) -> None:
    function = execute(pg.export(operator_text(name), to="tensorflow", name="f"))["f"]
    # Below, TensorFlow takes a number for 0 in some of its slopes.
    check(name, np.float32, evaluate(function), sizes=(1e-30, np.inf))


@pytest.mark.parametrize("name", FUNCTIONS)
def test_tensorflow_source_agrees_on_whole_functions(name: str) -> None:
    exported = execute(pg.export(FUNCTIONS[name], to="tensorflow", name="f"))["f"]
    check_function(FUNCTIONS[name], evaluate(exported), dtype=np.float32)


def test_a_tensorflow_module_has_trained_values_and_learns() -> None:
    module = trained("wrn-1", "channel", channel_dim=-1)
    x = torch.randn(4, 6, 3)
    exported = execute(pg.export(module, to="tensorflow"))["Wrn1"]()
    np.testing.assert_allclose(
        exported(tf.constant(x.numpy())), module(x).detach().numpy(), rtol=1e-5, atol=1e-6
    )
    fresh = execute(pg.export("wrn-1", to="tensorflow"))["Wrn1"](shape=(3,))
    target = 2 * fresh(tf.constant(x.numpy()))
    losses = []
    for _ in range(20):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((fresh(tf.constant(x.numpy())) - target) ** 2)
        for variable, slope in zip(
            fresh.variables, tape.gradient(loss, fresh.variables), strict=True
        ):
            variable.assign_sub(0.3 * slope)
        losses.append(float(loss))
    assert losses[-1] < 0.7 * losses[0]

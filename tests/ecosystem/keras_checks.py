"""All checks of the Keras layer, with the backend that KERAS_BACKEND names."""

import tempfile
from pathlib import Path
from typing import Any

import keras
import numpy as np
import torch

import pangaea as pg
from pangaea.functions.operators import BINARY, OPERATORS
from tests.export.truth import (
    FUNCTIONS,
    check_binary,
    check_function,
    check_unary,
    execute,
    operator_text,
    trained,
)


def evaluate(function: Any) -> Any:
    if keras.backend.backend() == "jax":
        import jax
        import jax.numpy as jnp

        def with_jax(*inputs: np.ndarray) -> tuple[Any, ...]:
            value, pull = jax.vjp(function, *map(jnp.asarray, inputs))
            return value, *pull(jnp.ones_like(value))

        return with_jax

    def with_torch(*inputs: np.ndarray) -> tuple[Any, ...]:
        tensors = [torch.tensor(values, requires_grad=True) for values in inputs]
        value = function(*tensors)
        total = (value + 0 * tensors[0]).sum()
        return value.detach(), *torch.autograd.grad(total, tensors)

    return with_torch


def operators() -> None:
    for name in OPERATORS:
        function = execute(pg.export(operator_text(name), to="keras", name="f"))["f"]
        check = check_binary if name in BINARY else check_unary
        check(name, np.float32, evaluate(function))


def whole_functions() -> None:
    for function in FUNCTIONS.values():
        exported = execute(pg.export(function, to="keras", name="f"))["f"]
        check_function(function, evaluate(exported), dtype=np.float32)


def layers() -> None:
    layer = execute(pg.export("wrn-1", to="keras"))["Wrn1"]
    x = np.random.default_rng(0).normal(size=(64, 5, 3)).astype(np.float32)
    shapes = {"layer": (1, 1), "channel": (1, 3), "neuron": (5, 3)}
    for scope, shape in shapes.items():
        model = keras.Sequential([keras.Input((5, 3)), layer(scope=scope), keras.layers.Dense(1)])
        assert model.layers[0].alpha.shape == shape
        model.compile(optimizer=keras.optimizers.SGD(0.1), loss="mse")
        target = x.sum(-1, keepdims=True)
        losses = model.fit(x, target, epochs=5, verbose=0).history["loss"]
        assert losses[-1] < losses[0]
        assert np.abs(np.asarray(keras.ops.convert_to_numpy(model.layers[0].alpha)) - 1).max() > 0
        with tempfile.TemporaryDirectory() as folder:
            model.save(Path(folder) / "model.keras")
            loaded = keras.saving.load_model(Path(folder) / "model.keras")
        np.testing.assert_allclose(
            loaded.predict(x, verbose=0), model.predict(x, verbose=0), rtol=1e-5, atol=1e-6
        )
    config = layer(scope="channel", axis=1).get_config()
    assert (config["scope"], config["axis"]) == ("channel", 1)
    assert layer.from_config(config).axis == 1


def trained_values() -> None:
    for scope, shape in (("channel", (6, 3)), ("neuron", (6, 3)), ("layer", (6, 3))):
        module = trained("wrn-1", scope, shape, channel_dim=-1)
        x = torch.randn(4, *shape)
        layer = execute(pg.export(module, to="keras"))["Wrn1"]
        value = layer(scope=scope)(x.numpy())
        np.testing.assert_allclose(
            keras.ops.convert_to_numpy(value), module(x).detach().numpy(), rtol=1e-5, atol=1e-6
        )


if __name__ == "__main__":
    for part in (operators, whole_functions, layers, trained_values):
        part()
        print(part.__name__)
    print(keras.backend.backend())

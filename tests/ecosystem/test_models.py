"""A model with our activations goes to `torch.export` and to ONNX as it is, and runs there."""

import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

import pangaea as pg
from pangaea.functions.learnable import LEARNABLE
from pangaea.functions.operators import OPERATORS
from tests.activation import models

onnxruntime = pytest.importorskip("onnxruntime")
pytestmark = pytest.mark.ecosystem


def onnx_output(model: nn.Module, x: Tensor, path: Path, **options: Any) -> np.ndarray:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torch's own, while it exports
        torch.onnx.export(model, (x,), path, dynamo=True, verbose=False, **options)
    session = onnxruntime.InferenceSession(path)
    (output,) = session.run(None, {session.get_inputs()[0].name: x.numpy()})
    return output


@pytest.mark.parametrize("name", OPERATORS)
def test_every_operator_goes_to_onnx(name: str, tmp_path: Path) -> None:
    # A power's base is positive: whether -2^-1 is a number hangs on the last bit of tanh.
    inputs = {"pow": "abs(alpha*x), tanh(beta*x)"}.get(name, "alpha*x, tanh(beta*x)")
    inputs = "alpha*x" if OPERATORS[name].arity == 1 else inputs
    module = pg.Activation(f"{name}({inputs})", shape=(3,))
    points = torch.cat([torch.linspace(-30, 30, 121), torch.tensor([0, 1e-6, 2.5, 80, -80])])
    x = points[:, None].repeat(1, 3)
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.copy_(torch.tensor([1.0, 0.9, 1.1]))
        expected = module(x).numpy()
    output = onnx_output(module, x, tmp_path / "module.onnx")
    # Torch takes log1p and expm1 apart, and onnxruntime's sigmoid is wrong by 1e-7 in its tail.
    np.testing.assert_allclose(output, expected, rtol=3e-6, atol=5e-6)


@pytest.mark.parametrize("spec", ["log(sigmoid(alpha*x)) * beta*asinh(x)", "gelu", *LEARNABLE])
def test_a_convolutional_model_goes_to_onnx_with_its_batch_left_open(
    spec: str, tmp_path: Path
) -> None:
    model = nn.Sequential(nn.Conv2d(3, 4, 1), pg.Activation(spec, shape=(4, 5, 5)), nn.Flatten())
    x = torch.randn(2, 3, 5, 5)
    batch = ({0: torch.export.Dim("batch")},)
    output = onnx_output(model, x, tmp_path / "model.onnx", dynamic_shapes=batch)
    np.testing.assert_allclose(output, model(x).detach().numpy(), rtol=1e-4, atol=1e-5)
    session = onnxruntime.InferenceSession(tmp_path / "model.onnx")
    (many,) = session.run(None, {session.get_inputs()[0].name: torch.randn(7, 3, 5, 5).numpy()})
    assert many.shape == (7, 100)


@pytest.mark.parametrize(
    ("kind", "shape"),
    [(models.ResNet, (4, 3, 8, 8)), (models.MLP, (4, 4)), (models.Encoder, (4, 5, 8))],
    ids=["repeated modules", "calls", "attributes"],
)
def test_a_model_that_was_operated_on_goes_to_onnx(
    kind: Callable[[], nn.Module], shape: tuple[int, ...], tmp_path: Path
) -> None:
    model, x = kind().eval(), torch.randn(shape)
    before = model(x).detach().numpy()
    pg.replace_activations(model, "alpha*x - beta*log(sigmoid(gamma*x))", example=x)
    expected = model(x).detach().numpy()
    assert not np.allclose(expected, before, atol=1e-3)
    output = onnx_output(model, x, tmp_path / "model.onnx")
    np.testing.assert_allclose(output, expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("function", ["wrn-1", "alpha*bessel_i1e(beta*x) - gamma*x"])
def test_a_network_of_ours_goes_to_onnx_and_torch_export_as_training_left_it(
    function: str, tmp_path: Path
) -> None:
    model = pg.train("mnist1d", function, epochs=1, keep_model=True, device="cpu").model
    activation = next(m for m in model.modules() if isinstance(m, pg.Activation))
    assert len(activation.alpha.unique()) > 1
    x = torch.randn(3, 1, 40)
    expected = model(x).detach().numpy()
    output = onnx_output(model, x, tmp_path / "model.onnx")
    np.testing.assert_allclose(output, expected, rtol=1e-4, atol=1e-5)
    exported = torch.export.export(model, (x,)).module()
    np.testing.assert_allclose(exported(x).detach().numpy(), expected, rtol=1e-5, atol=1e-6)

"""Operated models in ONNX."""

import warnings

import numpy as np
import pytest
import torch
from torch import nn

import pangaea as pg
from tests.activation import models

pytestmark = [pytest.mark.ecosystem, pytest.mark.filterwarnings("ignore")]

runtime = pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")
pytest.importorskip("onnxscript", reason="onnxscript is not installed")

MODELS = [
    (models.ResNet, (4, 3, 8, 8)),
    (models.MobileNet, (4, 3, 8, 8)),
    (models.UNet, (4, 3, 8, 8)),
    (models.Encoder, (4, 5, 8)),
    (models.MLP, (4, 4)),
]


@pytest.mark.parametrize(
    ("kind", "shape"), MODELS, ids=lambda value: getattr(value, "__name__", "")
)
def test_onnx_computes_the_same(kind: type[nn.Module], shape: tuple[int, ...]) -> None:
    model, x = kind().eval(), torch.randn(shape)
    pg.replace_activations(model, "alpha*x - beta*log(sigmoid(gamma*x))", example=x)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        program = torch.onnx.export(model, (x,), dynamo=True, verbose=False)
    assert program is not None
    session = runtime.InferenceSession(program.model_proto.SerializeToString())
    (given,) = session.get_inputs()
    (values,) = session.run(None, {given.name: x.numpy()})
    np.testing.assert_allclose(values, model(x).detach().numpy(), rtol=1e-3, atol=1e-5)

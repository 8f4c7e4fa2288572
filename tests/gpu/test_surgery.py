"""A model on a GPU whose activations were replaced: the same values, and it learns."""

import warnings

import pytest
import torch
from torch import Tensor, nn

import pangaea as pg
from tests.activation.test_operated_models import FUNCTION, SHAPES, trained

pytestmark = pytest.mark.gpu
Case = tuple[nn.Module, Tensor]


@pytest.fixture(params=SHAPES, ids=lambda kind: kind.__name__)
def case(request: pytest.FixtureRequest) -> Case:
    torch.manual_seed(0)
    kind: type[nn.Module] = request.param
    return kind().cuda(), torch.randn(SHAPES[kind], device="cuda")


def test_the_functions_parameters_are_where_the_model_is(case: Case) -> None:
    model, x = case
    pg.replace_activations(model, FUNCTION, example=x)
    assert all(parameter.is_cuda for parameter in model.parameters())
    losses = trained(model, x)
    assert losses[-1] < 0.5 * losses[0]


def test_it_gives_what_it_gives_on_the_cpu(case: Case) -> None:
    model, x = case
    pg.replace_activations(model.eval(), FUNCTION, example=x)
    y = model(x)
    torch.testing.assert_close(y.cpu(), model.cpu()(x.cpu()), rtol=1e-3, atol=1e-3)


def test_compiled_and_in_half_precision_it_gives_finite_gradients(case: Case) -> None:
    model, x = case
    pg.replace_activations(model.eval(), FUNCTION, example=x)
    expected = model(x)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torch's own, while it compiles
        torch.testing.assert_close(torch.compile(model)(x), expected, rtol=1e-3, atol=1e-3)
    with torch.autocast("cuda", dtype=torch.bfloat16):
        y = model(x)
    y.float().sum().backward()
    gradients = [p.grad for p in model.parameters() if p.grad is not None]
    assert gradients
    assert all(gradient.isfinite().all() for gradient in gradients)

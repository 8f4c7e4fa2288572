"""`f(x)` of numbers, arrays and tensors."""

import random
import subprocess
import sys
from typing import Any

import numpy as np
import pytest
import torch

import pangaea as pg
from pangaea.errors import PangaeaError
from tests.strategies import random_function

A = pg.parse("alpha*x - log(sigmoid(beta*x))")
XS = [-3.0, -0.5, 0.0, 1.25, 40.0]


def test_a_number_gives_a_number() -> None:
    for x in (1, 1.0, True, np.float64(1.0)):
        assert type(A(x)) is float


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.float16])
def test_an_array_gives_an_array_of_its_shape_and_type(dtype: Any) -> None:
    x = np.array(XS, dtype=dtype).reshape(5, 1)
    y = A(x, alpha=0.5)
    assert isinstance(y, np.ndarray)
    assert (y.shape, y.dtype) == (x.shape, x.dtype)
    exact = np.array([A(float(v), alpha=0.5) for v in x.ravel()])
    assert np.array_equal(y.ravel(), exact.astype(dtype))


def test_integers_and_single_elements_of_numpy_are_taken() -> None:
    assert A(np.array([0, 1])).tolist() == [A(0), A(1)]
    assert A(np.array([0, 1])).dtype == np.float64
    assert A(np.float32(1)) == np.float32(A(1.0))
    assert A(np.zeros((0, 3))).shape == (0, 3)


def test_a_tensor_gives_a_tensor_of_its_shape_and_type() -> None:
    rng = random.Random(0)
    for _ in range(50):
        f = random_function(rng, rng.randrange(1, 8))
        values = {name: rng.uniform(0.5, 2) for name in f.parameters}
        y = f(torch.tensor([XS], dtype=torch.float64), **values)
        assert (y.shape, y.dtype) == ((1, 5), torch.float64)
        exact = [f(x, **values) for x in XS]
        assert y[0].tolist() == pytest.approx(exact, rel=1e-7, abs=1e-12, nan_ok=True)
    assert A(torch.tensor(XS, dtype=torch.bfloat16)).dtype == torch.bfloat16
    assert A(torch.tensor([0, 1])).dtype == torch.float32


def test_a_tensors_value_can_be_differentiated_by_x_and_the_parameters() -> None:
    x = torch.tensor(XS, dtype=torch.float64, requires_grad=True)
    beta = torch.tensor(1.5, dtype=torch.float64, requires_grad=True)
    by_x, by_beta = torch.autograd.grad(A(x, beta=beta).sum(), [x, beta])
    assert by_x.tolist() == pytest.approx([A.slope(v, beta=1.5) for v in XS])
    step = sum(A(v, beta=1.5 + 1e-6) - A(v, beta=1.5 - 1e-6) for v in XS) / 2e-6
    assert by_beta.item() == pytest.approx(step, rel=1e-5)


@pytest.mark.parametrize(
    ("x", "parameters", "message"),
    [
        ([1.0, 2.0], {}, "a number, an array or a tensor, got list"),
        ("1", {}, "a number, an array or a tensor, got str"),
        (np.array(["a"]), {}, "real numbers, got <U1"),
        (np.array([1j]), {}, "real numbers, got complex128"),
        (torch.tensor([1j]), {}, r"real numbers, got torch\.complex64"),
        (torch.ones(2), {"alpha": torch.ones(2)}, "one number here"),
        (torch.ones(2), {"gamma": 1.0}, "no parameter of .* 'gamma'"),
        (np.ones(2), {"gamma": 1.0}, "no parameter of .* 'gamma'"),
    ],
)
def test_what_is_no_input_is_refused(x: Any, parameters: dict[str, Any], message: str) -> None:
    with pytest.raises(PangaeaError, match=message):
        A(x, **parameters)


def test_arrays_do_not_wait_for_torch() -> None:
    code = (
        "import sys, numpy, pangaea; pangaea.parse('relu')(numpy.ones(3));"
        "print('torch' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"

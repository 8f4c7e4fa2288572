"""The operators in torch: the same names, and right to a few units in the last place."""

import contextlib
import math

import pytest
import torch
from torch import Tensor

from pangaea.activation.module import Activation
from pangaea.activation.operators import OPERATORS as TORCH
from pangaea.activation.operators import node
from pangaea.activation.program import INDIFFERENT
from pangaea.functions.operators import BINARY, OPERATORS

UNARY_NAMES = [name for name, row in OPERATORS.items() if row.arity == 1]
DTYPES = [torch.float32, torch.float64, torch.bfloat16, torch.float16]

# Units in the last place. Bessel functions are torch's own to 8 in value, and in float64 their
# slopes are a difference whose terms are up to 60 times as large.
# GELU's tail is the exponential of a cubic, whose rounding counts as often as the cubic is large.
LIMITS = {"bessel_i0e": 10, "bessel_i1e": 10, "gelu": 600}
SLOPE_LIMITS_64 = {"bessel_i0e": 600, "bessel_i1e": 600, "gelu": 600}


def inputs(dtype: torch.dtype) -> Tensor:
    info = torch.finfo(dtype)
    ends = math.log10(info.tiny), math.log10(info.max)
    far = torch.logspace(*ends, 481, dtype=torch.float64).clamp_max(info.max)
    middle = torch.linspace(-105, 105, 701, dtype=torch.float64)
    near = torch.linspace(-12, 12, 961, dtype=torch.float64)
    x = torch.cat([near, middle, far, -far, torch.zeros(1)]).to(dtype)
    return x[x.isfinite()]


def ulps(got: Tensor, want: Tensor, scale: Tensor) -> Tensor:
    """The error in units in the last place; up to 128 times the least normal number it is none."""
    info = torch.finfo(got.dtype)
    error = (got.double() - want).abs()
    return torch.where(error <= 128 * info.tiny, 0, error / (scale.clamp_min(info.tiny) * info.eps))


def test_what_does_not_ask_for_its_inputs_is_known() -> None:
    """The values before it are then not kept for the way back."""
    indifferent, g = [], torch.ones(2)
    for name, (_, pull) in TORCH.items():
        with contextlib.suppress(TypeError, AttributeError):
            pull(g, *[None] * OPERATORS[name].arity)
            indifferent.append(name)
    assert sorted(indifferent) == sorted(INDIFFERENT)


def test_the_backend_has_exactly_the_tables_operators() -> None:
    assert TORCH.keys() == OPERATORS.keys()


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("name", UNARY_NAMES)
def test_value_and_slope_are_right_wherever_they_are_representable(
    name: str, dtype: torch.dtype
) -> None:
    x = inputs(dtype).requires_grad_()
    y = Activation(f"{name}(x)")(x)
    (slope,) = torch.autograd.grad(y.sum(), x)
    row, points = OPERATORS[name], x.double().tolist()
    value_truth = torch.tensor([row.value(p) for p in points], dtype=torch.float64)
    slope_truth = torch.tensor([row.slopes(p)[0] for p in points], dtype=torch.float64)
    largest = torch.finfo(dtype).max
    asked = (value_truth.abs() <= largest) & (slope_truth.abs() <= largest)
    assert asked.sum() > 300
    assert y[asked].isfinite().all()
    assert slope[asked].isfinite().all()
    assert y.dtype == slope.dtype == dtype
    limit = LIMITS.get(name, 4)
    # A product x·w has the slope w + x·w', which cannot be better than its larger term.
    steepness = (value_truth / x.detach().double()).nan_to_num(0, 0, 0).abs()
    scale = torch.maximum(slope_truth.abs(), steepness)
    slope_limit = SLOPE_LIMITS_64.get(name, 6) if dtype == torch.float64 else max(limit, 6)
    assert ulps(y.detach(), value_truth, value_truth.abs())[asked].max() <= limit
    assert ulps(slope, slope_truth, scale)[asked].max() <= slope_limit


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("name", BINARY)
def test_binary_values_and_slopes(name: str, dtype: torch.dtype) -> None:
    points = torch.tensor([-3.0, -1.0, -0.25, 0.0, 0.5, 1.0, 2.0, 7.0])
    a, b = (t.reshape(-1).to(dtype) for t in torch.meshgrid(points, points, indexing="ij"))
    wide = dtype if dtype in (torch.float32, torch.float64) else torch.float32
    a, b = a.to(wide).requires_grad_(), b.to(wide).requires_grad_()
    y = node(name, a, b)
    slopes = torch.autograd.grad(y.sum(), (a, b))
    row = OPERATORS[name]
    pairs = list(zip(a.tolist(), b.tolist(), strict=True))
    truth = torch.tensor([row.value(*pair) for pair in pairs])
    torch.testing.assert_close(y.detach().to(truth.dtype), truth, equal_nan=True)
    for i, slope in enumerate(slopes):
        by = torch.tensor([row.slopes(*pair)[i] for pair in pairs])
        kept = truth.isfinite() & by.isfinite()
        assert kept.sum() > 40
        torch.testing.assert_close(slope.to(by.dtype)[kept], by[kept], rtol=1e-5, atol=1e-6)


def test_a_zero_divisor_gives_zero_and_no_nan() -> None:
    for text in ("x/zero(x)", "1/x", "x/x", "reciprocal(x)"):
        x = torch.zeros(4, requires_grad=True)
        y = Activation(text)(x)
        y.sum().backward()
        assert torch.equal(y.detach(), torch.zeros(4))
        assert x.grad is not None
        assert torch.equal(x.grad, torch.zeros(4))


def test_nan_and_infinity_propagate() -> None:
    x = torch.tensor([math.nan, math.inf, -math.inf])
    for name in UNARY_NAMES:
        y = TORCH[name].value(x)
        if name not in ("zero", "one"):
            assert y[0].isnan(), name
    for name in ("max", "min"):
        assert TORCH[name].value(x[:1], torch.ones(1)).isnan().all()
        assert TORCH[name].value(torch.ones(1), x[:1]).isnan().all()


def test_the_first_input_has_the_slope_where_both_are_equal() -> None:
    module = Activation("min(logsigmoid(x), alpha*logsigmoid(beta*x))", scope="layer")
    module(torch.randn(9)).sum().backward()
    assert not module.alpha.grad.any()


def test_a_negative_base_with_a_fractional_exponent_is_nan() -> None:
    power = Activation("x^tanh(x)")(torch.tensor([-0.5]))
    assert power.isnan().all()


@pytest.mark.parametrize("name", [n for n in OPERATORS if n not in ("abs", "relu", "max", "min")])
def test_second_derivatives_agree_with_differences(name: str) -> None:
    points = torch.tensor([-1.9, -0.7, 0.6, 1.4, 2.2], dtype=torch.float64, requires_grad=True)
    text = f"{name}(x)" if OPERATORS[name].arity == 1 else f"{name}(exp(x), x)"
    assert torch.autograd.gradcheck(Activation(text), points)
    assert torch.autograd.gradgradcheck(Activation(text), points)

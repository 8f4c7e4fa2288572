"""Bounds, direction, kinks and jumps of known functions."""

import math

import pytest

from pangaea.functions.catalog import parse
from pangaea.functions.shape import Shape, shape


def seen(text: str) -> Shape:
    f = parse(text)
    return shape(f, f.slope)


@pytest.mark.parametrize(
    ("text", "lower", "upper"),
    [
        ("relu(x)", 0.0, math.inf),
        ("tanh(x)", -1.0, 1.0),
        ("atan(x)", -math.pi / 2, math.pi / 2),
        ("asinh(x)", -math.inf, math.inf),
        ("swish(x)", -0.278465, math.inf),
        ("logsigmoid(x)", -math.inf, 0.0),
        ("exp(exp(x))", 1.0, math.inf),
        ("bessel_i0e(x)", 0.0, 1.0),
        ("softsign(x)", -1.0, 1.0),
        ("0", 0.0, 0.0),
    ],
)
def test_bounds(text: str, lower: float, upper: float) -> None:
    assert seen(text).lower == pytest.approx(lower, abs=1e-4)
    assert seen(text).upper == pytest.approx(upper, abs=1e-4)


@pytest.mark.parametrize(
    ("text", "direction"),
    [
        ("tanh(x)", "increasing"),
        ("-x", "decreasing"),
        ("1", "constant"),
        ("swish(x)", None),
        ("relu(x)", "increasing"),
    ],
)
def test_direction(text: str, direction: str | None) -> None:
    assert seen(text).direction == direction


@pytest.mark.parametrize(
    ("text", "kinks"),
    [
        ("relu(x)", (0.0,)),
        ("hard_sigmoid(x)", (-2.5, 2.5)),
        ("elu(x)", ()),
        ("selu(x)", (0.0,)),
        ("swish(x)", ()),
        ("exp(x)", ()),
        ("max(x, 1)", (1.0,)),
        ("|x - 1| + relu(x + 1)", (-1.0, 1.0)),
    ],
)
def test_kinks(text: str, kinks: tuple[float, ...]) -> None:
    assert seen(text).kinks == pytest.approx(kinks, abs=1e-6)
    assert seen(text).jumps == ()


def test_jumps_and_undefined_values() -> None:
    assert seen("x/|x|").jumps == pytest.approx((0.0,), abs=1e-6)
    assert not seen("x/|x|").undefined
    assert seen("pow(x, tanh(x))").undefined

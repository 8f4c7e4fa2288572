"""The operator table: the paper's 34 rows, TensorFlow's semantics, exact slopes."""

import math

import mpmath
import numpy as np
import pytest
from matplotlib.mathtext import MathTextParser

from pangaea.functions.expression import Expression, Function, X
from pangaea.functions.operators import (
    BINARY,
    CONSTANTS,
    EXACT,
    OPERATORS,
    ROUGH,
    SMOOTH,
    SPECIAL,
    UNARY,
)

POINTS = (-30.0, -7.3, -2.2, -0.4, -1e-3, 1e-3, 0.3, 1.7, 2.4, 6.1, 29.0)


def test_the_search_space_has_27_unary_and_7_binary_operators() -> None:
    assert (len(UNARY), len(BINARY), len(set(OPERATORS))) == (27, 7, 38)
    assert all(OPERATORS[name].arity == 1 for name in UNARY)
    assert all(OPERATORS[name].arity == 2 for name in BINARY)


@pytest.mark.parametrize("name", [name for name in OPERATORS if OPERATORS[name].arity == 1])
@pytest.mark.parametrize("x", POINTS)
def test_unary_slopes_are_the_derivatives(name: str, x: float) -> None:
    row = OPERATORS[name]
    step = 1e-5 * max(1.0, abs(x)) if abs(x) > 0.1 else 1e-6
    numeric = (row.value(x + step) - row.value(x - step)) / (2 * step)
    assert row.slopes(x)[0] == pytest.approx(numeric, rel=1e-5, abs=1e-9)


@pytest.mark.parametrize("name", BINARY)
@pytest.mark.parametrize("a", [0.4, 1.3, 5.0])
@pytest.mark.parametrize("b", [-2.5, 0.7, 3.1])
def test_binary_slopes_are_the_derivatives(name: str, a: float, b: float) -> None:
    row, step = OPERATORS[name], 1e-6
    by_a = (row.value(a + step, b) - row.value(a - step, b)) / (2 * step)
    by_b = (row.value(a, b + step) - row.value(a, b - step)) / (2 * step)
    assert row.slopes(a, b) == pytest.approx((by_a, by_b), rel=1e-6, abs=1e-8)


@pytest.mark.parametrize("name", BINARY)
@pytest.mark.parametrize("x", POINTS)
def test_the_partner_makes_an_inserted_binary_operator_the_identity(name: str, x: float) -> None:
    row = OPERATORS[name]
    partner = x if row.partner == "copy" else {"zero": 0.0, "one": 1.0}[str(row.partner)]
    assert row.value(x, partner) == x


@pytest.mark.parametrize("name", OPERATORS)
def test_no_operator_ever_raises(name: str) -> None:
    row = OPERATORS[name]
    extreme = [s * v for v in (0.0, 1e-300, 0.5, 1e30, 1e300, math.inf) for s in (1, -1)]
    for a in [*extreme, math.nan]:
        for rest in [()] if row.arity == 1 else [(b,) for b in [*extreme, math.nan]]:
            assert isinstance(row.value(a, *rest), float)
            assert len(row.slopes(a, *rest)) == row.arity


def test_tensorflow_semantics() -> None:
    def value(name: str, *inputs: float) -> float:
        return OPERATORS[name].value(*inputs)

    assert value("hard_sigmoid", 1.0) == pytest.approx(0.7)
    assert (value("hard_sigmoid", -2.5), value("hard_sigmoid", 2.5)) == (0.0, 1.0)
    assert value("gelu", 1.0) == pytest.approx(0.8411919906)
    assert value("div", 3.0, 0.0) == 0.0
    assert OPERATORS["div"].slopes(3.0, 0.0) == (0.0, 0.0)
    assert value("reciprocal", 0.0) == 0.0
    assert math.isnan(value("pow", -2.0, 0.5))
    assert value("pow", -2.0, 3.0) == -8.0
    assert value("pow", 0.0, 0.0) == 1.0
    assert OPERATORS["pow"].slopes(0.0, 0.0)[0] == OPERATORS["pow"].slopes(3.0, 0.0)[0] == 0.0
    assert value("selu", -1.0) == pytest.approx(1.05070098 * 1.67326324 * math.expm1(-1))
    assert value("leaky_relu", -3.0) == pytest.approx(-0.03)


def test_nothing_overflows_on_the_way() -> None:
    for name in ("elu", "selu", "softplus", "swish", "logsigmoid", "mish", "elish", "gelu"):
        for x in (-1e30, 1e30):
            row = OPERATORS[name]
            assert math.isfinite(row.value(x)), name
            assert math.isfinite(row.slopes(x)[0]), name


@pytest.mark.parametrize("name", [name for name in OPERATORS if OPERATORS[name].arity == 1])
@pytest.mark.parametrize("side", [1, -1])
def test_what_levels_off_has_its_limit_at_infinity(name: str, side: int) -> None:
    row, levelled = OPERATORS[name], 0
    for measure in (row.value, lambda x: row.slopes(x)[0]):
        far = measure(side * 1e30)
        if abs(far) < 2:
            levelled += 1
            assert measure(side * math.inf) == pytest.approx(far, abs=1e-12)
    assert levelled or abs(row.value(side * math.inf)) == math.inf


@pytest.mark.parametrize("base", [0.0, 0.5, 2.0, 1e300, math.inf])
@pytest.mark.parametrize("exponent", [-1e3, -3.0, -2.0, -0.3, 0.0, 0.3, 2.0, 3.0, 1e3])
def test_powers_are_those_of_c_where_they_overflow_too(base: float, exponent: float) -> None:
    for signed in (base, -base):
        with np.errstate(all="ignore"):
            truth = float(np.power(signed, exponent))
        power = OPERATORS["pow"].value(signed, exponent)
        assert power == pytest.approx(truth, rel=1e-15, nan_ok=True)
        assert math.isnan(truth) or math.copysign(1, power) == math.copysign(1, truth)


@pytest.mark.parametrize("order", [0, 1])
@pytest.mark.parametrize("x", [1e-9, 0.3, 2.0, 7.0, 29.9, 30.1, 45.0, 1e5])
def test_bessel_functions_agree_with_mpmath(order: int, x: float) -> None:
    with mpmath.workdps(40):
        scale = mpmath.exp(-mpmath.mpf(x))
        i0, i1 = mpmath.besseli(0, x) * scale, mpmath.besseli(1, x) * scale
        truth = (float(i0), float(i1 - i0)) if order == 0 else (float(i1), float(i0 - i1 - i1 / x))
    row = OPERATORS[f"bessel_i{order}e"]
    assert row.value(x) == pytest.approx(truth[0], rel=4e-15)
    assert row.slopes(x)[0] == pytest.approx(truth[1], rel=2e-13, abs=1e-17)
    sign = (1, -1)[order]
    assert row.value(-x) == sign * row.value(x)
    assert row.slopes(-x)[0] == -sign * row.slopes(x)[0]


@pytest.mark.parametrize("name", OPERATORS)
def test_every_operator_has_a_text_and_latex_of_its_arity(name: str) -> None:
    row = OPERATORS[name]
    f = Function(Expression(name, (X,) * row.arity))
    for style in (row.readable, row.latex):
        assert style.template.count("%s") == (0 if name in ("zero", "one") else row.arity)
    assert f.readable()
    assert f.latex().count("{") == f.latex().count("}")


@pytest.mark.parametrize("name", OPERATORS)
def test_latex_uses_only_commands_that_exist(name: str) -> None:
    MathTextParser("path").parse(f"${OPERATORS[name].latex_formula()}$")


@pytest.mark.parametrize("name", [name for name in OPERATORS if OPERATORS[name].arity == 1])
def test_an_operator_is_smooth_where_slope_and_curvature_are_continuous(name: str) -> None:
    """Every break of a unary operator is at 0, or at ±2.5, and of the second order at most."""
    row, step = OPERATORS[name], 1e-5

    def breaks(place: float) -> bool:
        left, right = ((row.slopes(place + s * step)[0]) for s in (-1, 1))
        curvatures = [
            (row.slopes(place + s * 2 * step)[0] - row.slopes(place + s * step)[0]) / (s * step)
            for s in (-1, 1)
        ]
        return abs(right - left) > 0.01 or abs(curvatures[1] - curvatures[0]) > 0.01

    assert any(breaks(place) for place in (-2.5, 0.0, 2.5)) == (name in ROUGH)


def test_facts_are_about_operators_that_exist() -> None:
    for names in (CONSTANTS, EXACT, ROUGH, SMOOTH, SPECIAL):
        assert names <= set(OPERATORS)
    assert set(BINARY) & SMOOTH == {"add", "sub", "mul"}


@pytest.mark.parametrize("name", OPERATORS)
def test_exact_operators_are_those_that_only_copy_negate_and_choose(name: str) -> None:
    """Of numbers with few digits they give numbers with few digits."""
    row = OPERATORS[name]
    points = [(a, b)[: row.arity] for a in (-3.1, 0.7, 2.2) for b in (-1.3, 0.9)]
    given = [{0.0, 1.0, *inputs, *(-x for x in inputs)} for inputs in points]
    values = [row.value(*inputs) for inputs in points]
    copied = all(v in possible for v, possible in zip(values, given, strict=True))
    assert copied == (name in EXACT)


def test_constants_do_not_depend_on_their_input() -> None:
    flat = {
        name
        for name, row in OPERATORS.items()
        if row.arity == 1 and len({row.value(x) for x in POINTS}) == 1
    }
    assert flat == CONSTANTS


def test_formulas_name_the_two_inputs_of_a_binary_operator() -> None:
    assert OPERATORS["sub"].formula() == "x₁ − x₂"
    assert OPERATORS["div"].latex_formula() == r"\frac{x_1}{x_2}"
    assert (OPERATORS["zero"].formula(), OPERATORS["square"].formula()) == ("0", "x^2")

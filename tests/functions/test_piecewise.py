"""The paper's appendix on what its space can express: indicators and pieces, from its operators."""

import math

import pytest

from pangaea.functions.parser import parse

BELOW_1 = "max(1 - x, 0)/(1 - x)"  # equation on the indicator of (−∞, b), with b = 1
ABOVE_0 = "min(0 - x, 0)/(0 - x)"  # of (a, ∞), with a = 0
BETWEEN = f"({BELOW_1}) * ({ABOVE_0})"
BELOW_0 = "max(0 - x, 0)/(0 - x)"
AT_0 = f"(1 - {BELOW_0}) * (1 - {ABOVE_0})"
XS = (-3.0, -1e-9, 0.0, 1e-9, 0.5, 1.0, 1.0 + 1e-9, 4.0)


@pytest.mark.parametrize(
    ("text", "inside"),
    [
        (BELOW_1, lambda x: x < 1),
        (ABOVE_0, lambda x: x > 0),
        (BETWEEN, lambda x: 0 < x < 1),
        (AT_0, lambda x: x == 0),
    ],
)
def test_an_indicator_function_is_in_the_space(text: str, inside: object) -> None:
    f = parse(text)
    assert [f(x) for x in XS] == [float(inside(x)) for x in XS]  # type: ignore[operator]


def test_pieces_of_real_analytic_functions_are_in_the_space() -> None:
    """tanh below 0, 1 at 0, x² + x between 0 and 1, nothing else: as the theorem composes it."""
    f = parse(f"({BELOW_0})*tanh(x) + ({AT_0})*1 + ({BETWEEN})*(square(x) + x)")
    for x in XS:
        wanted = math.tanh(x) if x < 0 else 1.0 if x == 0 else x * x + x if x < 1 else 0.0
        assert f(x) == pytest.approx(wanted)

"""What a function costs, in times of another."""

import pytest

from pangaea.activation.cost import relative


def test_a_function_costs_as_much_as_itself() -> None:
    assert relative("swish(x)", "swish(x)") == 1


@pytest.mark.parametrize("function", ["pow(alpha*x, tanh(x))", "bessel_i0e(erf(beta*x))"])
def test_special_functions_cost_more_than_a_sign(function: str) -> None:
    assert relative(function, "relu(x)") > 1.5


@pytest.mark.parametrize("function", ["one(x)", "x", "prelu", "alpha*x"])
def test_every_kind_of_function_has_a_cost(function: str) -> None:
    assert relative(function, "relu(x)") > 0

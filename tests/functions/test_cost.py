"""What a function costs: every operator has its price, and the sum ranks as the clock does."""

import json
from pathlib import Path

import pytest

from pangaea.errors import ParseError
from pangaea.functions.cost import CALL, COSTS, PARAMETER, cost, relative, steps
from pangaea.functions.learnable import LEARNABLE
from pangaea.functions.operators import OPERATORS
from pangaea.functions.parser import parse

MEASURED = json.loads((Path(__file__).parents[2] / "results/operator-costs.json").read_text())


def test_every_operator_has_a_price() -> None:
    assert COSTS.keys() == {*OPERATORS, CALL, PARAMETER}
    assert all(price >= 0 for price in COSTS.values())


def test_the_prices_are_those_that_were_measured() -> None:
    assert MEASURED["costs"] == COSTS
    assert MEASURED["rank_correlation"] > 0.95
    assert MEASURED["median_error"] < 0.1


def test_what_occurs_twice_is_paid_once() -> None:
    assert list(steps(parse("alpha*add(tanh(x), tanh(x))"))) == ["tanh", "add", PARAMETER]
    assert cost("add(tanh(x), tanh(x))") == cost("tanh(x)") + COSTS["add"]


def test_every_kind_of_function_has_a_cost() -> None:
    assert cost("x") == COSTS[CALL] + COSTS["identity"]
    assert cost("alpha*x") == COSTS[CALL] + COSTS[PARAMETER]
    assert cost("prelu") == sum(COSTS[name] for name in (CALL, *steps(LEARNABLE["prelu"])))
    assert cost("zero(x)") < cost("swish(x)") < cost("pow(swish(alpha*x), bessel_i0e(x))")


def test_what_is_no_function_has_none() -> None:
    with pytest.raises(ParseError):
        cost("nonsense(x)")


def test_a_function_costs_as_much_as_itself() -> None:
    assert relative("swish(x)", "swish(x)") == 1


@pytest.mark.parametrize("function", ["pow(alpha*x, tanh(x))", "bessel_i0e(erf(beta*x))"])
def test_special_functions_cost_more_than_a_sign(function: str) -> None:
    assert relative(function, "relu(x)") > 1.5


@pytest.mark.parametrize("function", ["one(x)", "x", "prelu", "alpha*x"])
def test_every_kind_of_function_costs_something_beside_another(function: str) -> None:
    assert relative(function, "relu(x)") > 0

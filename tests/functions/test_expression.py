"""Expressions and functions are immutable trees with exact counts."""

import math
import pickle

import pytest
from hypothesis import given

from pangaea.errors import PangaeaError
from pangaea.functions.catalog import parse
from pangaea.functions.expression import Expression, Function, X
from pangaea.functions.operators import OPERATORS
from tests.strategies import functions


@given(functions())
def test_edges_are_always_u_plus_2b_plus_1(f: Function) -> None:
    nodes = [node for _, node in f.expression.walk() if node.operator != "x"]
    binary = sum(OPERATORS[node.operator].arity == 2 for node in nodes)
    assert f.nodes == len(nodes)
    assert f.edges == (len(nodes) - binary) + 2 * binary + 1


@given(functions())
def test_functions_are_equal_hashable_and_picklable(f: Function) -> None:
    same = Function(f.expression, f.parameter_edges[::-1])
    assert same == f
    assert hash(same) == hash(f)
    assert pickle.loads(pickle.dumps(f)) == f


@given(functions())
def test_replacing_a_node_by_itself_changes_nothing(f: Function) -> None:
    for path, node in f.expression.walk():
        assert f.expression.at(path) == node
        assert f.expression.replaced(path, node) == f.expression


def test_the_papers_example_has_three_nodes_and_five_edges() -> None:
    f = parse("log(sigmoid(alpha*x)) * beta*asinh(x)")
    assert (f.nodes, f.edges, f.parameters) == (3, 5, ("alpha", "beta"))


def test_a_tree_cannot_be_changed() -> None:
    with pytest.raises(AttributeError):
        X.operator = "relu"  # type: ignore[misc]


def test_a_function_is_evaluated_in_plain_numbers() -> None:
    f = parse("alpha*x - beta*log(sigmoid(gamma*x))")
    assert f(2.0) == pytest.approx(2 + math.log1p(math.exp(-2)))
    assert f(2.0, alpha=3, gamma=-1) == pytest.approx(6 + math.log1p(math.exp(2)))
    assert f.slope(0.0, beta=2.0) == pytest.approx(1 - 2 * 0.5)
    # What stands below a constant has no say, even beyond the largest number.
    assert parse("x + zero(exp(exp(x)))").slope(10.0) == 1


def test_wrong_trees_are_refused_with_the_reason() -> None:
    with pytest.raises(PangaeaError, match="no operator is called 'sin'"):
        Expression("sin", (X,))
    with pytest.raises(PangaeaError, match="add has 2 inputs, got 1"):
        Expression("add", (X,))
    with pytest.raises(PangaeaError, match=r"has no edge \(3,\)"):
        Function(X, ((3,),))
    with pytest.raises(PangaeaError, match="at most one parameter"):
        Function(X, ((), ()))
    with pytest.raises(PangaeaError, match="at most three parameters"):
        Function(parse("relu(elu(tanh(x)))").expression, ((), (0,), (0, 0), (0, 0, 0)))
    with pytest.raises(PangaeaError, match=r"no parameter of .* is called 'beta'"):
        parse("alpha*x")(1.0, beta=2.0)


def test_reprs_are_short() -> None:
    f = parse("alpha*tanh(x)")
    assert repr(f) == "Function('alpha*tanh(x)')"
    assert repr(f.expression) == "Expression('tanh(x)')"
    longest = parse(" + ".join(["tanh(x)"] * 60))
    assert len(repr(longest)) < 120
    assert len(repr(longest.expression)) < 120


def test_notebooks_show_the_formula() -> None:
    assert parse("alpha*tanh(x)")._repr_latex_() == r"$\alpha \tanh(x)$"

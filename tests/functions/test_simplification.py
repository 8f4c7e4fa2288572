"""Simplified functions: shorter, and the same."""

import random
import time

import pytest
from hypothesis import given

from pangaea.functions.catalog import catalog, parse
from pangaea.functions.equivalence import equivalent
from pangaea.functions.expression import Function
from tests.strategies import functions, random_function

SHORTER = [
    # What winners of a search look like.
    ("alpha*swish(x - beta*0)", "alpha*swish(x)"),
    ("softplus(x)*1", "softplus(x)"),
    ("alpha*(beta*asinh(x)*gamma)", "alpha*asinh(x)"),
    # Identities, idempotents and inverses.
    ("identity(x)", "x"),
    ("x + 0", "x"),
    ("x/1", "x"),
    ("pow(tanh(x), one(x))", "tanh(x)"),
    ("-(-x)", "x"),
    ("1/(1/x)", "x"),
    ("|relu(x)|", "relu(x)"),
    ("relu(relu(alpha*x))", "relu(alpha*x)"),
    ("max(tanh(x), tanh(x))", "tanh(x)"),
    ("asinh(sinh(x))", "x"),
    ("elu(relu(beta*x))", "relu(alpha*x)"),
    ("0 - alpha*tanh(x)", "-alpha*tanh(x)"),
    ("max(swish(x), 0)", "relu(swish(x))"),
    ("swish(x) + (-tanh(alpha*x))", "swish(x) - tanh(alpha*x)"),
    ("swish(x) - (-tanh(alpha*x))", "swish(x) + tanh(alpha*x)"),
    # Constants.
    ("cosh(0)*x", "x"),
    ("tanh(x) - tanh(x)", "0"),
    ("exp(zero(tanh(alpha*x)))", "1"),
    ("cosh(one(tanh(alpha*x)))*x", "cosh(1)*x"),
    ("alpha*0", "0"),
    ("tanh(min(zero(alpha*x), beta*exp(x)))", "tanh(min(0, alpha*exp(x)))"),
    # Parameters that do nothing, and those that multiply each other.
    ("max(abs(x), negative(abs(alpha*x)))", "abs(x)"),
    ("alpha*identity(beta*x)", "alpha*x"),
    ("tanh(x)*alpha*1", "alpha*tanh(x)"),
    ("mul(alpha*swish(x), beta*tanh(x))", "mul(alpha*swish(x), tanh(x))"),
    ("alpha*(swish(x)/beta)", "alpha*swish(x)"),
    ("alpha*abs(beta*x)", "alpha*abs(x)"),
    ("alpha*reciprocal(beta*x)", "alpha*reciprocal(x)"),
    ("mul(square(alpha*x), beta*tanh(x))", "mul(square(x), alpha*tanh(x))"),
    ("alpha*identity(-(beta*x))", "alpha*negative(x)"),
]
AS_SHORT_AS_CAN_BE = [
    "x",
    "0",
    "alpha*x",
    "log(sigmoid(alpha*x)) * beta*asinh(x)",
    "alpha*x - beta*log(sigmoid(gamma*x))",
    "min(log(sigmoid(x)), alpha*log(sigmoid(beta*x)))",
    "swish(x)/alpha",
    "abs(alpha*x)",
    "alpha*relu(beta*x)",
    "alpha*square(x + beta*1)",
    "cosh(1)*swish(x)",
    "x/x",
    "0*pow(x, tanh(x))",
    "tanh(exp(exp(x)))",  # all but 1 for most x
    "sigmoid(bessel_i0e(alpha*x))",
    # Every parameter has a say, if only where others are large, small or negative.
    "max(alpha*max(beta*relu(asinh(x)), x), max(gamma*relu(asinh(x)), x))",
    "tanh(min(0, alpha*exp(x)))",
    "min(x, |alpha*x|)",
    "max(alpha*max(beta*x, 1), x)",
]


@pytest.mark.parametrize(("text", "shorter"), SHORTER)
def test_what_changes_nothing_is_left_out(text: str, shorter: str) -> None:
    assert parse(text).simplified() == parse(shorter)


@pytest.mark.parametrize("text", AS_SHORT_AS_CAN_BE)
def test_what_changes_something_stays(text: str) -> None:
    assert parse(text).simplified() == parse(text)


def check(f: Function) -> None:
    g = f.simplified()
    assert g.nodes <= f.nodes
    assert g.edges <= f.edges
    assert len(g.parameters) <= len(f.parameters)
    assert len(str(g)) <= len(str(f))
    assert equivalent(g.form, f.form)
    if g.parameters == f.parameters:
        assert equivalent(f, g)
    assert g.simplified() == g
    assert parse(str(g)) == g


@given(functions())
def test_a_simplified_function_is_shorter_and_the_same(f: Function) -> None:
    check(f)


def test_200_random_functions_of_the_search_are_shorter_and_the_same() -> None:
    rng = random.Random(0)
    drawn = [random_function(rng, rng.randrange(1, 8)) for _ in range(200)]
    for f in drawn:
        check(f)
    assert sum(f.simplified() != f for f in drawn) > 50


def test_every_parameter_that_is_left_does_something_of_its_own() -> None:
    """Trained values of the long form can be had with the short one."""
    f, g = parse("alpha*(beta*asinh(x)*gamma)"), parse("alpha*(beta*asinh(x)*gamma)").simplified()
    for x in (-2.0, 0.3, 5.0):
        assert f(x, alpha=2.0, beta=-0.5, gamma=3.0) == pytest.approx(g(x, alpha=-3.0))


def test_the_papers_functions_keep_their_parameters_but_one() -> None:
    merged = {
        name for name, f in catalog().items() if len(f.simplified().parameters) < len(f.parameters)
    }
    assert merged == {"per-channel-2-2"}  # asinh(αβx)


def test_the_longest_texts_are_answered_in_time() -> None:
    deep = "x"
    for name in ("tanh", "swish", "erf", "-") * 15:
        deep = f"{name}({deep})"
    start = time.perf_counter()
    parse(deep).simplified()
    parse(" + ".join(["tanh(x)"] * 60)).simplified()
    assert time.perf_counter() - start < 20

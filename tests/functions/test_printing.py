"""Functions as text: canonical round-trips exactly, readable means the same."""

import re

import pytest
from hypothesis import assume, given

from pangaea.functions.catalog import catalog, parse
from pangaea.functions.equivalence import equivalent
from pangaea.functions.expression import Expression, Function, X
from pangaea.functions.operators import OPERATORS
from tests.strategies import functions


def plain(latex: str) -> str:
    """LaTeX as a text that people write."""
    text = re.sub(r"\\mathrm\{(.*?)\}", r"\1", latex.replace(r"\_", "_"))
    for command, sign in {
        r"\left|": "abs(",
        r"\right|": ")",
        r"\left(": "(",
        r"\right)": ")",
        r"\{": "(",
        r"\}": ")",
        r"\cdot": "*",
    }.items():
        text = text.replace(command, sign)
    while "{" in text:  # innermost first
        text = re.sub(r"\\frac\{([^{}]*)\}\{([^{}]*)\}", r"((\1)/(\2))", text)
        text = re.sub(r"(?<!\\frac)(?<!\})\{([^{}]*)\}(?!\{)", r"(\1)", text)
    return re.sub(r"(alpha|beta|gamma) ([01])", r"\1*\2", text).replace("\\", "")


@given(functions())
def test_canonical_text_round_trips_exactly(f: Function) -> None:
    assert parse(str(f)) == f
    assert str(parse(str(f))) == str(f)


@given(functions())
def test_readable_text_reads_as_the_same_function(f: Function) -> None:
    assert equivalent(parse(f.readable()), f)


@given(functions())
def test_latex_reads_as_the_same_function(f: Function) -> None:
    g = parse(plain(f.latex()))
    assume(len(g.parameters) == len(f.parameters))  # none is lost in a constant's input
    assert equivalent(g, f)


@pytest.mark.parametrize("name", OPERATORS)
def test_the_formulas_of_an_operator_read_as_the_operator(name: str) -> None:
    row = OPERATORS[name]
    f = Function(Expression(name, (X,) * row.arity))
    readable = row.formula().replace("₁", "").replace("₂", "")
    latex = row.latex_formula().replace("_1", "").replace("_2", "")
    for text in (readable, plain(latex), f.readable(), plain(f.latex())):
        assert equivalent(parse(text), f)


@pytest.mark.parametrize(
    ("text", "canonical", "readable", "latex"),
    [
        (
            "log(sigmoid(alpha*x)) * beta*asinh(x)",
            "mul(logsigmoid(alpha*x), beta*asinh(x))",
            "log(σ(α·x))·β·asinh(x)",
            r"\log(\sigma(\alpha x)) \cdot \beta \mathrm{arcsinh}(x)",
        ),
        (
            "alpha*x - beta*log(sigmoid(gamma*x))",
            "sub(alpha*x, beta*logsigmoid(gamma*x))",
            "α·x − β·log(σ(γ·x))",
            r"\alpha x - \beta \log(\sigma(\gamma x))",
        ),
        ("max(swish(x), 0)", "max(swish(x), zero(x))", "max(swish(x), 0)", None),
        ("swish(x)/gamma", "div(swish(x), alpha*one(x))", "swish(x)/α", None),
        ("cosh(beta)", "cosh(alpha*one(x))", "cosh(α)", r"\cosh(\alpha)"),
        ("asinh(a*b*x)", "asinh(alpha*identity(beta*x))", "asinh(α·β·x)", None),
        ("(x+1)*(x-1)", "mul(add(x, one(x)), sub(x, one(x)))", "(x + 1)·(x − 1)", None),
        ("x-(x-1)", "sub(x, sub(x, one(x)))", "x − (x − 1)", None),
        ("x/(x*tanh(x))", "div(x, mul(x, tanh(x)))", "x/(x·tanh(x))", None),
        ("(-x)^2", "square(negative(x))", "(−x)^2", r"{\left(-x\right)}^2"),
        ("max(x, a*0)", "max(x, alpha*zero(x))", "max(x, α·0)", r"\max\{x, \alpha \cdot 0\}"),
        ("a*0^x", "alpha*pow(zero(x), x)", "α·0^x", r"\alpha \cdot {0}^{x}"),
    ],
)
def test_the_three_forms(text: str, canonical: str, readable: str, latex: str | None) -> None:
    f = parse(text)
    assert str(f) == canonical
    assert f.readable() == readable
    assert latex is None or f.latex() == latex


def test_every_catalog_entry_prints_and_reads_back_in_all_forms() -> None:
    for name, f in catalog().items():
        assert parse(str(f)) == f, name
        assert equivalent(parse(f.readable()), f), name
        assert f.latex(), name

"""The same function, however it is written."""

import random
import subprocess
import sys

import pytest
from hypothesis import given

from pangaea.errors import PangaeaError
from pangaea.functions.catalog import catalog, parse
from pangaea.functions.equivalence import POINTS, equivalent, fingerprint
from pangaea.functions.expression import Expression, Function, Path
from pangaea.functions.operators import OPERATORS
from tests.strategies import expressions, functions, random_function

SAME = [
    ("max(x, 0)", "relu(x)"),
    ("x*sigmoid(x)", "swish(x)"),
    ("x + tanh(x) + exp(x)", "exp(x) + (tanh(x) + x)"),
    ("alpha*x + beta*swish(x)", "alpha*swish(x) + beta*x"),
    ("alpha*tanh(beta*x) + gamma*x", "gamma*tanh(alpha*x) + beta*x"),
    ("cosh(x) - sinh(x)", "exp(-x)"),
    ("elu(x)*sigmoid(x)", "elish(x)"),
    ("x*tanh(softplus(x))", "mish(x)"),
    ("-logsigmoid(-x)", "softplus(x)"),
    ("sub(exp(x), one(x))", "expm1(x)"),
    ("1/(1/x)", "x"),
    ("alpha*0", "0"),
    ("zero(x)*alpha*x", "0"),
    ("relu(swish(x))", "max(swish(x), 0)"),
    ("min(alpha*x, exp(x)^(beta*x))", "min(exp(x)^(alpha*x), beta*x)"),
    ("exp(exp(exp(x))) - exp(exp(exp(x)))", "exp(exp(exp(x))) - max(exp(exp(exp(x))), 0)"),
]
DIFFERENT = [
    ("alpha*x", "x"),
    ("alpha*beta*x", "alpha*x"),
    ("alpha*relu(x)", "relu(alpha*x)"),
    ("relu(x)", "leaky_relu(x)"),
    ("x/x", "1"),
    ("x^tanh(x)", "x"),
    ("exp(exp(exp(x)))", "exp(exp(exp(exp(x))))"),
    ("gelu(x)", "x*(1 + erf(x))"),
    ("tanh(x)", "erf(x)"),
    ("swish(x)/alpha", "alpha*swish(x)"),
    ("0*pow(x, tanh(x))", "0"),
    ("max(x, alpha*relu(beta*x))", "max(x, alpha*relu(x))"),
    ("alpha*relu(beta*logsigmoid(x))", "0"),
]


@pytest.mark.parametrize(("f", "g"), SAME)
def test_the_same_function_written_twice_is_equivalent(f: str, g: str) -> None:
    assert equivalent(parse(f), parse(g))


@pytest.mark.parametrize(("f", "g"), DIFFERENT)
def test_different_functions_are_not_equivalent(f: str, g: str) -> None:
    assert not equivalent(parse(f), parse(g))


@given(functions(), expressions)
def test_sums_and_products_may_stand_in_any_order(f: Function, other: Expression) -> None:
    for operator in ("add", "mul", "max", "min"):
        left = Expression(operator, (f.expression, other))
        right = Expression(operator, (other, f.expression))
        assert equivalent(Function(left), Function(right))


def test_it_does_not_matter_which_parameter_comes_first() -> None:
    """Whether a parameter has a say may hang on its sign and size, and on those of the others."""
    rng = random.Random(0)
    for _ in range(300):
        f = random_function(rng, rng.randrange(2, 9))
        assert equivalent(f, mirrored(f))


def mirrored(f: Function) -> Function:
    """With the inputs of every sum, product, maximum and minimum in the other order."""
    edges: list[Path] = []

    def mirror(node: Expression, path: Path, place: Path) -> Expression:
        if path in f.parameter_edges:
            edges.append(place)
        order = (1, 0) if node.operator in ("add", "mul", "max", "min") else range(len(node.inputs))
        inputs = [
            mirror(node.inputs[old], (*path, old), (*place, new)) for new, old in enumerate(order)
        ]
        return Expression(node.operator, tuple(inputs))

    return Function(mirror(f.expression, (), ()), tuple(edges))


@given(functions())
def test_inserting_a_binary_operator_keeps_the_function(f: Function) -> None:
    for name, row in OPERATORS.items():
        if row.arity == 2:
            for path, node in f.expression.walk():
                partner = node if row.partner == "copy" else parse(f"{row.partner}(x)").expression
                inserted = f.expression.replaced(path, Expression(name, (node, partner)))
                assert equivalent(Function(inserted), f.form)


def test_fingerprints_are_the_same_in_every_run() -> None:
    code = (
        "from pangaea.functions.catalog import catalog;"
        "from pangaea.functions.equivalence import fingerprint;"
        "print(*(fingerprint(f) for f in catalog().values()))"
    )
    runs = {
        subprocess.run(
            [sys.executable, "-c", code],
            env={"PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert len(runs) == 1
    assert runs.pop().split() == [fingerprint(f) for f in catalog().values()]


def test_only_two_functions_of_the_paper_say_the_same_twice() -> None:
    groups: dict[str, list[str]] = {}
    for name, f in catalog().items():
        groups.setdefault(fingerprint(f), []).append(name)
    repeated = sorted(sorted(names) for names in groups.values() if len(names) > 1)
    assert repeated == [["nonparametric-3", "resnet-v1-3"], ["resnet-v1-1-fixed", "softplus"]]


def test_rounding_never_separates_equal_functions() -> None:
    rng = random.Random(0)
    for _ in range(300):
        f = random_function(rng, rng.randrange(1, 8)).form
        twice = Expression("sub", (Expression("add", (f.expression,) * 2), f.expression))
        half = Function(Expression("max", (f.expression, f.expression)))
        assert equivalent(half, f)
        values = [f(x) for x in POINTS]
        if all(abs(v) < 1e100 for v in values):
            assert equivalent(Function(twice), f)


def test_texts_and_names_will_do() -> None:
    assert equivalent("relu", "max(x, 0)")
    assert equivalent(parse("x*sigmoid(x)"), "swish")
    assert not equivalent("relu", "prelu")
    assert equivalent("prelu", "PReLU")
    assert fingerprint("wrn-1") == fingerprint(catalog()["wrn-1"])


@pytest.mark.parametrize("nothing", ["rellu(", 3, None])
def test_what_is_no_function_has_no_fingerprint(nothing: object) -> None:
    with pytest.raises(PangaeaError):
        fingerprint(nothing)  # type: ignore[arg-type]

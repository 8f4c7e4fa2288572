"""The catalog: every function the paper names, as the paper writes it."""

import csv
import math
import re
from collections.abc import Callable
from pathlib import Path

import pytest

import pangaea as pg
from pangaea.functions import paper
from pangaea.functions.catalog import listed, spelled
from pangaea.functions.operators import UNARY

POINTS = (-6.0, -2.5, -1.0, -0.3, 0.0, 0.4, 1.0, 2.5, 6.0)
LEARNABLE = {"prelu", "apl", "pau", "splash"}


def sigma(x: float) -> float:
    return 1 / (1 + math.exp(-x))


# The appendix on baselines, item by item.
BASELINES: dict[str, Callable[[float], float]] = {
    "relu": lambda x: max(x, 0),
    "elish": lambda x: x / (1 + math.exp(-x)) if x >= 0 else (math.exp(x) - 1) * sigma(x),
    "elu": lambda x: x if x >= 0 else math.exp(x) - 1,
    "gelu": lambda x: 0.5 * x * (1 + math.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))),
    "hard_sigmoid": lambda x: max(0, min(1, 0.2 * x + 0.5)),
    "leaky_relu": lambda x: x if x >= 0 else 0.01 * x,
    "mish": lambda x: x * math.tanh(math.log(math.exp(x) + 1)),
    "selu": lambda x: 1.05070098 * (x if x >= 0 else 1.67326324 * (math.exp(x) - 1)),
    "sigmoid": sigma,
    "softplus": lambda x: math.log(math.exp(x) + 1),
    "softsign": lambda x: x / (abs(x) + 1),
    "swish": lambda x: x * sigma(x),
    "tanh": lambda x: (math.exp(x) - math.exp(-x)) / (math.exp(x) + math.exp(-x)),
}

# Read off the paper's LaTeX. A lone γ is γ·1, and α·β·x needs a node between its parameters.
PRINTED = {
    "wrn-1": "mul(logsigmoid(alpha*x), beta*asinh(x))",
    "wrn-2": "mul(logsigmoid(alpha*x), asinh(x))",
    "wrn-3": "negative(swish(swish(alpha*x)))",
    "resnet-v1-1": "sub(alpha*x, beta*logsigmoid(gamma*x))",
    "resnet-v1-2": "sub(alpha*x, logsigmoid(beta*x))",
    "resnet-v1-3": "max(swish(x), zero(x))",
    "resnet-v2-1": "softplus(elu(x))",
    "resnet-v2-2": "min(logsigmoid(x), alpha*logsigmoid(beta*x))",
    "resnet-v2-3": "selu(swish(x))",
    "general-1": "max(swish(x), alpha*logsigmoid(relu(x)))",
    "general-2": "min(swish(x), alpha*elu(relu(beta*x)))",
    "general-3": "logsigmoid(x)",
    "pswish": "mul(x, sigmoid(alpha*x))",
    "random-search-1": "alpha*swish(x)",
    "random-search-2": "mul(softplus(x), atan(alpha*x))",
    "random-search-3": "mul(relu(alpha*asinh(beta*sigmoid(x))), selu(gamma*x))",
    "nonparametric-1": "mul(cosh(one(x)), swish(x))",
    "nonparametric-2": "mul(expm1(one(x)), swish(x))",
    "nonparametric-3": "relu(swish(x))",
    "wrn-1-fixed": "mul(logsigmoid(x), asinh(x))",
    "resnet-v1-1-fixed": "sub(x, logsigmoid(x))",
    "parameterized-leaky-relu": "alpha*leaky_relu(beta*x)",
    "allcnnc-1": "alpha*relu(beta*abs(relu(gamma*x)))",
    "allcnnc-2": "mul(alpha*swish(x), cosh(beta*one(x)))",
    "per-layer-1": "max(swish(x), x)",
    "per-layer-2": "max(x, alpha*logsigmoid(selu(x)))",
    "per-layer-3": "max(alpha*max(beta*relu(asinh(x)), x), max(gamma*relu(asinh(x)), x))",
    "per-channel-1-1": "max(min(alpha*x, elu(x)), zero(x))",
    "per-channel-1-2": "alpha*max(beta*relu(div(swish(x), gamma*one(x))), x)",
    "per-channel-1-3": "max(relu(swish(alpha*x)), beta*x)",
    "per-channel-2-1": "max(swish(alpha*x), x)",
    "per-channel-2-2": "max(swish(x), asinh(alpha*identity(beta*x)))",
    "per-channel-2-3": "max(swish(x), asinh(alpha*x))",
    "per-neuron-1": "alpha*max(beta*swish(gamma*x), swish(x))",
    "per-neuron-2": "sub(alpha*x, beta*swish(gamma*x))",
    "per-neuron-3": "elu(add(elu(alpha*x), logsigmoid(zero(x))))",
    "random-sample-layer": "max(alpha*swish(beta*x), softplus(x))",
    "random-sample-channel": "alpha*square(x)",
    "random-sample-neuron": "add(bessel_i0e(abs(x)), alpha*abs(x))",
    "curves-b": "selu(alpha*tanh(beta*x))",
    "curves-c": "abs(alpha*x)",
    "curves-d": "max(swish(alpha*x), logsigmoid(beta*x))",
    "mutation-parent": "square(add(tanh(x), abs(erf(x))))",
    "mutation-insert": "square(add(swish(tanh(x)), abs(erf(x))))",
    "mutation-remove": "square(abs(erf(x)))",
    "mutation-change": "square(mul(tanh(x), abs(erf(x))))",
    "mutation-regenerate": "negative(max(zero(x), tanh(selu(x))))",
    "parameterization-example": "alpha*sigmoid(sub(beta*abs(x), atan(gamma*x)))",
    "searchspace-2": "mul(alpha*abs(x), sigmoid(beta*x))",
}


@pytest.mark.parametrize("name", BASELINES)
def test_a_fixed_baseline_has_the_value_of_its_formula(name: str) -> None:
    f = pg.catalog()[name]
    assert f.parameters == ()
    for x in POINTS:
        # The paper prints SELU's constants with nine digits.
        assert f(x) == pytest.approx(BASELINES[name](x), rel=1e-8, abs=1e-15), x


@pytest.mark.parametrize("name", PRINTED)
def test_a_function_of_the_paper_is_the_one_it_prints(name: str) -> None:
    assert str(pg.catalog()[name]) == PRINTED[name]


def test_every_function_of_the_file_is_in_the_catalog_and_nothing_else() -> None:
    with (Path(paper.__file__).parent / "paper.csv").open(encoding="utf-8", newline="") as file:
        named = {row["name"] for row in csv.DictReader(file)}
    assert named >= LEARNABLE
    assert set(pg.catalog()) == named - LEARNABLE


def test_a_changed_catalog_changes_no_other() -> None:
    first = pg.catalog()
    first["relu"] = first.pop("tanh")
    assert str(pg.catalog()["relu"]) == "relu(x)"
    assert "tanh" in pg.catalog()


def test_names_are_lowercase_and_cannot_be_confused() -> None:
    names = [*pg.catalog(), *LEARNABLE]
    assert all(re.fullmatch(r"[a-z][a-z0-9]*([-_][a-z0-9]+)*", name) for name in names)
    assert len({name.replace("_", "-") for name in names}) == len(names)


def test_a_name_is_read_as_its_function_however_it_is_capitalized() -> None:
    for name, f in pg.catalog().items():
        assert pg.parse(name) == pg.parse(name.upper()) == f, name


@pytest.mark.parametrize(
    ("name", "latex"),
    [("elish", "ELiSH"), ("gelu", "GELU"), ("leaky_relu", "LeakyReLU"), ("mish", "Mish")],
)
def test_baselines_outside_the_search_space_are_functions_all_the_same(
    name: str, latex: str
) -> None:
    assert name not in UNARY
    f = pg.parse(f"a*{name}(b*x)")
    assert str(f) == f"alpha*{name}(beta*x)"
    assert f.readable() == f"α·{name}(β·x)"
    assert f.latex() == rf"\alpha \mathrm{{{latex}}}(\beta x)"
    assert pg.parse(str(f)) == f
    assert f(0.7, alpha=3.0, beta=-2.0) == pytest.approx(3 * BASELINES[name](-1.4), rel=1e-12)


def test_people_have_names_for_the_fixed_baselines() -> None:
    fixed = [f for f in paper.FIGURES if f.group.endswith("baseline") and f.name not in LEARNABLE]
    assert fixed
    for figure in fixed:
        name = spelled(figure.function)
        assert name.replace(" ", "_").lower() in (figure.name, figure.name.replace("_", ""))
    assert spelled("gelu") == "GELU"
    assert spelled("max(x, tanh(x))") == "max(x, tanh(x))"
    assert spelled("prelu") == "PReLU"
    assert [spelled(name).lower() for name in LEARNABLE] == [*LEARNABLE]


def test_several_functions_are_a_text_with_commas_between_them() -> None:
    text = "swish, PReLU,max(x, tanh(x)), alpha*x,swish(x)"
    assert listed(text) == ("swish(x)", "prelu", "max(x, tanh(x))", "alpha*x")


@pytest.mark.parametrize("text", ["", "swish,", "swish,,gelu", "max(x", "swihs"])
def test_what_is_no_list_of_functions_is_refused(text: str) -> None:
    with pytest.raises(pg.ParseError):
        listed(text)


@pytest.mark.parametrize("name", sorted(LEARNABLE))
def test_the_name_of_a_learnable_baseline_is_said_to_be_one(name: str) -> None:
    with pytest.raises(pg.ParseError) as caught:
        pg.parse(f" {name.upper()} ")
    assert "did you mean" not in str(caught.value)
    assert f"'{name}', a learnable baseline" in str(caught.value)
    assert f'pangaea.Activation("{name}")' in str(caught.value)

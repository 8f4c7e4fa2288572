"""Spaces: plain data that is checked, presets, and what a space holds."""

import json

import pytest

from pangaea.errors import PangaeaError, UnknownNameError
from pangaea.functions.catalog import parse
from pangaea.functions.operators import BINARY, OPERATORS, SMOOTH, UNARY
from pangaea.functions.space import PAPER, PRESETS, Space, space


def test_the_papers_space_is_its_table_one() -> None:
    assert (PAPER.unary, PAPER.binary) == (UNARY, BINARY)
    assert (PAPER.max_nodes, PAPER.parameters, PAPER.levels) == (7, 3, 0)


@pytest.mark.parametrize("name", PRESETS)
def test_a_preset_is_found_by_its_name_and_survives_json(name: str) -> None:
    preset = space(f" {name.upper()} ")
    assert preset is PRESETS[name] is space(preset)
    assert preset.description
    assert Space.from_dict(json.loads(json.dumps(preset.as_dict()))) == preset


def test_an_unknown_preset_is_answered_with_the_nearest() -> None:
    with pytest.raises(UnknownNameError, match="did you mean smooth"):
        space("smoth")


def test_the_order_in_which_operators_are_given_makes_no_difference() -> None:
    mixed = Space("a", unary=("tanh", "relu", "tanh"), binary=("mul", "add"))
    assert mixed == Space("a", unary=("relu", "tanh"), binary=("add", "mul"))
    assert mixed.unary == tuple(name for name in OPERATORS if name in ("relu", "tanh"))
    assert mixed.binary == ("add", "mul")


def test_operators_are_taken_out_and_picked() -> None:
    less = PAPER.without(["bessel_i1e", "bessel_i0e", "min"])
    assert set(PAPER.operators) - set(less.operators) == {"bessel_i0e", "bessel_i1e", "min"}
    assert less.name == "paper without bessel_i0e, bessel_i1e, min"
    assert PAPER.without(["gelu"]) is PAPER is space("paper", exclude="")
    few = PRESETS["s2"].only(["gelu", "add"])
    assert few == space("s2", operators=" Gelu, add,")
    assert few.name == "2 operators in s2"
    assert (few.unary, few.binary, few.levels, few.parameters) == (("gelu",), ("add",), 2, 0)


@pytest.mark.parametrize(
    ("wrong", "why"),
    [
        ({"unary": ("sin",)}, "no operator is called 'sin'; did you mean"),
        ({"unary": ("add",)}, "add is not a unary operator"),
        ({"binary": ("relu",)}, "relu is not a binary operator"),
        ({"unary": ()}, "at least one unary operator"),
        ({"unary": "relu"}, "a list of names"),
        ({"unary": 3}, "a list of names"),
        ({"unary": [["relu"]]}, "no operator is called"),
        ({"max_nodes": 2}, "max_nodes is a whole number in 3…60, got 2"),
        ({"max_nodes": 61}, "got 61"),
        ({"max_nodes": 7.0}, "got 7.0"),
        ({"parameters": 4}, "parameters is a whole number in 0…3, got 4"),
        ({"parameters": True}, "got True"),
        ({"levels": 5}, "levels is a whole number in 0…4, got 5"),
        ({"levels": 1, "binary": ()}, "core units need at least one binary operator"),
        ({"name": 1}, "name is a text"),
        ({"colour": "red"}, "no field of a space is called 'colour'"),
        ({"description": "mine"}, "no field of a space is called 'description'"),
    ],
)
def test_what_is_no_space_is_refused_with_a_reason(wrong: dict[str, object], why: str) -> None:
    with pytest.raises(PangaeaError, match=why):
        Space.from_dict({"name": "mine", **wrong})


@pytest.mark.parametrize("plain", [{}, [], None, "paper", {"unary": ["relu"]}])
def test_a_space_in_a_file_is_a_table_with_a_name(plain: object) -> None:
    with pytest.raises(PangaeaError, match="a table with a name"):
        Space.from_dict(plain)  # type: ignore[arg-type]


def test_what_is_neither_a_name_nor_a_space_is_refused() -> None:
    with pytest.raises(PangaeaError, match="a preset's name, got int"):
        space(3)  # type: ignore[arg-type]


def test_a_space_that_loses_every_unary_operator_is_refused() -> None:
    with pytest.raises(PangaeaError, match="at least one unary operator"):
        PAPER.without(UNARY)


@pytest.mark.parametrize(
    ("name", "text", "held"),
    [
        ("paper", "max(swish(x), alpha*logsigmoid(relu(x)))", True),
        ("paper", "gelu(x)", False),
        ("nonparametric", "relu(x)", True),
        ("nonparametric", "alpha*relu(x)", False),
        ("cheap", "erf(x)", False),
        ("smooth", "tanh(x)*sigmoid(x)", True),
        ("smooth", "max(x, tanh(x))", False),
        ("s1", "sigmoid(x)*erf(x)", True),
        ("s1", "tanh(x)", False),
        ("s1", "x*sigmoid(x)", False),  # x would have to enter the identity
        ("s1", "identity(x)*sigmoid(x)", True),
        ("s1", "identity(x)*sigmoid(min(tanh(x), one(x)))", False),
        ("s2", "abs(min(one(x), cosh(x)))*sigmoid(exp(x) + atan(x))", True),
        ("s2", "relu(relu(tanh(x) + exp(x)))*sigmoid(x)", False),
        ("s2", "tanh(x) + tanh(tanh(x) + tanh(tanh(x) + tanh(x)))", False),
        ("swish", "identity(x)*sigmoid(beta*x)", True),
        ("swish", "max(identity(x), sigmoid(x))", True),
    ],
)
def test_what_a_preset_holds(name: str, text: str, held: bool) -> None:
    assert PRESETS[name].holds(parse(text)) == held


def test_smooth_has_none_of_the_operators_that_are_not() -> None:
    assert set(PRESETS["smooth"].operators) == SMOOTH & set(PAPER.operators)
    assert set(PRESETS["smooth"].binary) == {"add", "sub", "mul"}


def test_the_earlier_spaces_are_described_with_what_they_lack() -> None:
    for name in ("s1", "swish"):
        assert "sin, cos" in PRESETS[name].description


def test_three_spaces_have_no_parameters_and_the_others_up_to_three() -> None:
    numbers = {name: preset.parameters for name, preset in PRESETS.items()}
    fixed = dict.fromkeys(("nonparametric", "s1", "s2"), 0)
    assert numbers == dict.fromkeys(PRESETS, 3) | fixed

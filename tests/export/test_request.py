"""What an export is asked for: names, values, and what it says to mistakes."""

import json
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import pangaea as pg
from pangaea.errors import PangaeaError
from pangaea.export import destinations
from pangaea.functions.learnable import LEARNABLE
from pangaea.functions.operators import OPERATORS
from tests.export.truth import SCOPES, execute, trained

TEXTS = [target for target in destinations() if target != "onnx"]


def test_the_folder_is_the_list_of_targets() -> None:
    wanted = "torch keras jax flax tensorflow numpy onnx c latex sympy json"
    assert set(wanted.split()) <= set(destinations())


@pytest.mark.parametrize("function", ["wrn-1", "prelu", "apl"])
def test_values_of_every_neuron_of_an_image_have_its_shape(function: str) -> None:
    module = trained(function, "neuron", shape=(2, 4, 3))
    x = torch.randn(5, 2, 4, 3)
    exported = execute(pg.export(module, to="numpy", name="f"))["f"]
    np.testing.assert_allclose(exported(x.numpy()), module(x).detach(), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("target", TEXTS)
def test_the_formula_stands_in_every_text(target: str) -> None:
    f = pg.parse("wrn-1")
    text = pg.export(f, to=target)
    assert isinstance(text, str)
    assert (f.latex() if target == "latex" else f.readable()) in text
    assert text.endswith("\n")
    assert "pangaea" not in text


def test_json_is_the_tree_as_plain_data() -> None:
    data = json.loads(pg.export("wrn-1", to="json", parameters={"beta": 0.5}))
    assert data["canonical"] == str(pg.parse("wrn-1"))
    assert data["parameters"] == {"alpha": 1.0, "beta": 0.5}

    def text(node: dict[str, Any]) -> str:
        inputs = ", ".join(map(text, node.get("inputs", ())))
        return (f"{node['times']}*" if "times" in node else "") + (
            f"{node['operator']}({inputs})" if inputs else node["operator"]
        )

    assert text(data["tree"]) == data["canonical"]


@pytest.mark.parametrize(
    ("function", "name", "expected"),
    [
        ("wrn-1", None, ("wrn_1", "Wrn1")),
        ("sub(alpha*x, beta*tanh(gamma*x))", None, ("activation", "Activation")),
        ("wrn-1", "MyBest", ("my_best", "MyBest")),
        ("wrn-1", "f", ("f", "FActivation")),
        ("wrn-1", "x", ("x_activation", "X")),
        ("wrn-1", "lambda", ("lambda_activation", "Lambda")),
        ("gelu", None, ("gelu_activation", "Gelu")),
    ],
)
def test_names_are_the_catalogs_or_the_users_and_clash_with_nothing(
    function: str, name: str | None, expected: tuple[str, str]
) -> None:
    exported = execute(pg.export(function, to="torch", name=name))
    assert all(part in exported for part in expected)


@pytest.mark.parametrize("name", ["wide", "self", "shape", "None", "True", "lambda", "torch"])
@pytest.mark.parametrize("scope", SCOPES)
def test_a_torch_module_may_have_any_name(name: str, scope: str) -> None:
    module = trained("wrn-1", scope)
    exported = execute(pg.export(module, to="torch", name=name)).values()
    (kind,) = (k for k in exported if isinstance(k, type) and issubclass(k, torch.nn.Module))
    x = torch.randn(2, 6, 3)
    torch.testing.assert_close(kind()(x), module(x))


@pytest.mark.parametrize("target", ["keras", "jax", "flax", "tensorflow", "numpy"])
@pytest.mark.parametrize("name", ["self", "None", "True", "lambda", "x"])
def test_any_name_makes_source_that_can_be_read(target: str, name: str) -> None:
    compile(pg.export("wrn-1", to=target, name=name), "exported", "exec")


@pytest.mark.parametrize("name", ["float", "double", "main", "y1", "nan", "expf", "wrn_1"])
def test_any_name_makes_a_header_that_compiles(tmp_path: Path, name: str) -> None:
    (tmp_path / "f.h").write_text(pg.export("wrn-1", to="c", name=name))
    subprocess.run(["gcc", "-Wall", "-Werror", "-fsyntax-only", tmp_path / "f.h"], check=True)


@pytest.mark.parametrize("name", ["swish", "tanh", "exp", "gelu", "relu", "pow"])
def test_a_function_called_like_what_it_uses_still_works(name: str) -> None:
    exported = execute(pg.export("swish(x) + gelu(x)", to="numpy", name=name))
    names = [n for n in (name, f"{name}_activation") if n in exported]
    value = exported[names[-1]](np.array([0.7]))
    assert value == pytest.approx(pg.parse("swish(x) + gelu(x)")(0.7))


@pytest.mark.parametrize("scope", SCOPES)
@pytest.mark.parametrize(
    ("shape", "channel_dim"), [((3,), 1), ((3, 4, 5), 1), ((4, 3), -1), ((4, 3, 5), -2)]
)
def test_trained_values_travel_with_a_torch_source(
    scope: str, shape: tuple[int, ...], channel_dim: int
) -> None:
    module = trained("wrn-1", scope, shape, channel_dim)
    exported = execute(pg.export(module, to="torch"))["Wrn1"]()
    x = torch.randn(2, *shape)
    torch.testing.assert_close(exported(x), module(x))
    for name, parameter in exported.named_parameters():
        assert torch.equal(parameter.flatten(), getattr(module, name).flatten())


def test_a_layer_of_a_model_or_of_its_state_dict_is_exported_with_its_values() -> None:
    first, second = (trained("wrn-1", "channel", (3,)) for _ in range(2))
    model = torch.nn.Sequential(torch.nn.Linear(3, 3), first, torch.nn.Linear(3, 3), second)
    x = torch.randn(5, 3)
    for source in (model, model.state_dict()):
        for layer, ours in ((1, first), ("3", second)):
            exported = execute(pg.export(source, to="torch", layer=layer))["Wrn1"]()
            torch.testing.assert_close(exported(x), ours(x))
    with pytest.raises(PangaeaError, match="2 activations in it"):
        pg.export(model, to="torch")
    with pytest.raises(PangaeaError, match="wrn-1 has no layers"):
        pg.export("wrn-1", to="torch", layer=1)


def test_a_module_that_has_seen_no_input_starts_where_it_says() -> None:
    module = pg.Activation("wrn-1", init={"alpha": 0.5})
    exported = execute(pg.export(module, to="torch"))["Wrn1"]()
    assert (exported.alpha.item(), exported.beta.item()) == (0.5, 1.0)


def test_a_torch_module_has_any_shape_computes_half_in_float32_and_learns() -> None:
    made = execute(pg.export("wrn-1", to="torch", parameters={"alpha": 0.5}))["Wrn1"]
    module = made(shape=(3, 1, 1))
    assert torch.equal(module.alpha.detach(), torch.full((3, 1, 1), 0.5))
    x = torch.randn(8, 3, 4, 4)
    half = x.bfloat16()
    assert torch.equal(module(half), module(half.float()).bfloat16())
    optimizer = torch.optim.SGD(module.parameters(), lr=0.3)
    target = 2 * module(x).detach()
    losses = []
    for _ in range(20):
        loss = (module(x) - target).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert losses[-1] < 0.7 * losses[0]
    assert module.state_dict().keys() == {"alpha", "beta"}


def test_values_per_channel_stand_in_the_source() -> None:
    values = {"alpha": [0.9, 1.1, 1.2], "beta": 0.5}
    exported = execute(pg.export("wrn-1", to="numpy", parameters=values))
    x = np.array([[-1.0, 0.5, 2.0]])
    f = pg.parse("wrn-1")
    expected = [f(v, alpha=a, beta=0.5) for v, a in zip(x[0], values["alpha"], strict=True)]
    np.testing.assert_allclose(exported["wrn_1"](x)[0], expected)
    assert "wrn_1_alpha[] = {0.9, 1.1, 1.2}" in str(pg.export("wrn-1", "c", parameters=values))


@pytest.mark.parametrize("name", LEARNABLE)
@pytest.mark.parametrize("source", [lambda m: m, lambda m: m.state_dict()], ids=["module", "state"])
def test_a_trained_learnable_baseline_keeps_its_values(name: str, source: Any) -> None:
    module = trained(name, "channel")
    x = torch.randn(4, 6, 3)
    copy = execute(pg.export(source(module), to="torch", name="mine"))["Mine"]()
    torch.testing.assert_close(copy(x), module(x))


def test_values_of_a_learnable_baseline_stand_in_its_formula() -> None:
    values = {"up1": 0.5, "down4": 2.0}
    text = str(pg.export("splash", to="latex", parameters=values))
    assert r"a_1^+ = 0.5, \; a_2^+ = 0" in text
    assert r"a_4^- = 2" in text
    assert r"\alpha = 0.25" in str(pg.export("prelu", "latex", parameters={"alpha": 0.25}))
    assert "b_7 = 2" in str(pg.export(pg.Activation("apl", "layer"), "latex"))


def test_a_learnable_baseline_as_data_is_its_steps() -> None:
    data = json.loads(pg.export("prelu", to="json", parameters={"alpha": 0.5}))
    assert "tree" not in data
    for x in (-1.5, 0.0, 2.0):
        values = [x]
        for step in data["steps"]:
            inputs = [values[i] for i in step["inputs"]]
            if "times" in step:
                values.append(inputs[0] * data["parameters"][step["times"]])
            else:
                row = OPERATORS[step["operator"]]
                values.append(row.value(*inputs))
        assert values[-1] == LEARNABLE["prelu"](x, alpha=0.5)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("wrn-1", "kears"), "did you mean keras"),
        ((torch.nn.ReLU(), "torch"), "there is no Activation in it"),
        ((3, "torch"), "got int"),
    ],
)
def test_what_cannot_be_exported_is_said(arguments: tuple[Any, str], sentence: str) -> None:
    with pytest.raises(PangaeaError, match=sentence):
        pg.export(*arguments)


@pytest.mark.parametrize(
    ("values", "sentence"),
    [
        ({"gamma": 1.0}, "no parameter of"),
        ({"alpha": "1"}, "a number or a list"),
        ({"alpha": float("inf")}, "finite"),
        ({"alpha": [1.0, [2.0]]}, "even list"),
        ({"alpha": []}, "even list"),
        ({"alpha": [1.0, 2.0], "beta": [1.0]}, "one shape"),
        ({"alpha": np.ones(200_000)}, "at most 100,000"),
    ],
)
def test_wrong_values_are_said(values: dict[str, Any], sentence: str) -> None:
    with pytest.raises(PangaeaError, match=sentence):
        pg.export("wrn-1", to="torch", parameters=values)

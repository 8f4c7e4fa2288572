"""What training made of activations: as plain data, from a model, from a state dict."""

import json
from typing import Any

import pytest
import torch
from torch import nn

import pangaea as pg
from pangaea.activation.values import layers, of_model, of_state, restored
from pangaea.errors import PangaeaError

TEXT = "alpha*swish(beta*x)"
SHAPES = {"layer": (), "channel": (4,), "neuron": (4, 5, 5)}


def model(scope: Any = "channel") -> nn.Module:
    """Two activations whose parameters are no longer where they started."""
    torch.manual_seed(1)
    first, second = (pg.Activation(TEXT, scope, shape=(4, 5, 5)) for _ in range(2))
    whole = nn.Sequential(nn.Conv2d(3, 4, 1), first, nn.Sequential(nn.Conv2d(4, 4, 1), second))
    with torch.no_grad():
        for parameter in (*first.parameters(), *second.parameters()):
            parameter.copy_(1 + 0.2 * torch.randn_like(parameter))
    return whole


@pytest.mark.parametrize("scope", SHAPES)
def test_a_model_as_plain_data_comes_back_to_the_last_bit(scope: str) -> None:
    whole = model(scope)
    rows = json.loads(json.dumps(layers(whole)))
    assert [row["layer"] for row in rows] == ["1", "2.1"]
    x = torch.randn(2, 4, 5, 5)
    for row, ours in zip(rows, (whole[1], whole[2][1]), strict=True):  # type: ignore[index]
        again = restored(TEXT, row)
        assert tuple(again.alpha.shape) == SHAPES[scope]
        assert torch.equal(again(x), ours(x))


def test_channels_stay_where_they_were() -> None:
    act = pg.Activation(TEXT, shape=(7, 3), channel_dim=-1)
    again = restored(TEXT, layers(nn.Sequential(act))[0])
    assert again.channel_dim == -1
    assert again(torch.randn(2, 7, 3)).shape == (2, 7, 3)


def test_what_is_not_finite_too_much_or_not_there_is_left_out() -> None:
    broken = model()
    with torch.no_grad():
        broken[1].alpha[2] = float("nan")  # type: ignore[index, union-attr, operator]
    large = nn.Sequential(pg.Activation(TEXT, "neuron", shape=(100, 100)))
    empty = nn.Sequential(pg.Activation(TEXT))
    for nothing in (broken, large, empty, nn.ReLU(), nn.Sequential(pg.Activation("relu")), "model"):
        assert layers(nothing) == []


@pytest.mark.parametrize("scope", SHAPES)
def test_one_of_them_is_found_by_name_or_number_in_a_model_and_its_state(scope: str) -> None:
    whole = model(scope)
    x = torch.randn(2, 4, 5, 5)
    for layer, ours in ((1, whole[1]), ("2.1", whole[2][1]), (2, whole[2][1])):  # type: ignore[index]
        assert of_model(whole, layer) is ours
        assert torch.equal(of_state(whole.state_dict(), layer)(x), ours(x))


def test_the_only_one_needs_no_name() -> None:
    act = pg.Activation(TEXT, shape=4)
    assert of_model(nn.Sequential(nn.Linear(4, 4), act)) is act
    assert of_model(act) is act
    assert str(of_state(act.state_dict()).function) == TEXT
    assert str(of_state(nn.Sequential(act).state_dict()).function) == TEXT


@pytest.mark.parametrize(
    ("layer", "sentence"),
    [
        (None, r"2 activations in it: .* \(1, 2.1\) or its number"),
        ("2.2", "did you mean 2.1"),
        (3, "numbered from 1 to 2, got 3"),
        (0, "numbered from 1 to 2, got 0"),
    ],
)
def test_a_layer_that_is_not_there_is_said(layer: Any, sentence: str) -> None:
    for find, source in ((of_model, model()), (of_state, model().state_dict())):
        with pytest.raises(PangaeaError, match=sentence):
            find(source, layer)  # type: ignore[operator]


def test_a_model_or_a_state_without_our_functions_is_said() -> None:
    for find, source in ((of_model, nn.ReLU()), (of_state, nn.Linear(2, 2).state_dict())):
        with pytest.raises(PangaeaError, match="there is no Activation in it"):
            find(source)  # type: ignore[operator]


def test_a_state_that_is_not_whole_is_said() -> None:
    state = pg.Activation(TEXT, shape=4).state_dict()
    del state["beta"]
    with pytest.raises(PangaeaError, match="'beta' is missing"):
        of_state(state)

"""States of an `Activation`: what they hold, and what they are not loaded into."""

import copy
import warnings
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

import pangaea as pg
from pangaea.activation import state
from pangaea.errors import PangaeaError
from tests.export.truth import execute

A = "log(sigmoid(alpha*x)) * beta*asinh(x)"
B = "alpha*x - log(sigmoid(beta*x))"
KEYS = ["0.weight", "0.bias", "1.alpha", "1.beta", "1._extra_state"]


def model(spec: str = A, **made: Any) -> nn.Sequential:
    return nn.Sequential(nn.Linear(4, 3), pg.Activation(spec, **{"shape": 3, **made}))


def test_a_state_holds_the_functions_text_and_where_its_channels_are() -> None:
    written = model().state_dict()
    assert list(written) == KEYS
    assert all(isinstance(value, torch.Tensor) for value in written.values())
    assert state.read(written["1._extra_state"]) == ("mul(logsigmoid(alpha*x), beta*asinh(x))", 1)
    # Neurons in a row are the entries of the last dimension; in more than one they need no word.
    assert state.read(pg.Activation("prelu", shape=3).get_extra_state()) == ("prelu", -1)
    assert state.read(pg.Activation("prelu", shape=(7, 3)).get_extra_state()) == ("prelu", 1)
    last = pg.Activation(A, shape=(7, 3), channel_dim=-1)
    assert state.read(last.get_extra_state()) == ("mul(logsigmoid(alpha*x), beta*asinh(x))", -1)
    pg.Activation(A, shape=(7, 3), channel_dim=2).load_state_dict(last.state_dict())


def test_states_of_before_bytes_were_floats_are_read() -> None:
    written = model().state_dict()
    written["1._extra_state"] = written["1._extra_state"].to(torch.uint8)
    model().load_state_dict(written)


def test_averages_of_states_are_states() -> None:
    written, average = model().state_dict(), model().state_dict()
    for name, value in average.items():
        value.mul_(0.9).add_(written[name], alpha=0.1)
    model().load_state_dict(average)


def test_the_state_of_a_sequence_models_activation_is_exported_as_it_is() -> None:
    network = nn.Sequential(nn.Linear(4, 6), nn.ReLU(), nn.Linear(6, 2))
    pg.replace_activations(network, A, example=torch.randn(2, 6, 4))
    with torch.no_grad():
        network[1].alpha.copy_(torch.linspace(0.5, 2, 6))  # type: ignore[union-attr,operator]
    assert pg.export(network.state_dict(), to="torch") == pg.export(network, to="torch")


def test_the_state_of_neurons_in_a_row_is_exported_as_it_is() -> None:
    module, x = pg.Activation("prelu", shape=(5,)), torch.randn(3, 5, 5)
    nn.init.normal_(module.alpha)
    copy = execute(pg.export(module.state_dict(), to="torch", name="mine"))["Mine"]()
    torch.testing.assert_close(copy(x), module(x))


@pytest.mark.parametrize(("f", "g"), [(A, B), ("prelu", "alpha*x")])
def test_the_state_of_another_function_is_refused(f: str, g: str) -> None:
    for strict in (True, False):
        with pytest.raises(RuntimeError, match="1 is of the function") as caught:
            model(g).load_state_dict(model(f).state_dict(), strict=strict)
        for text in (f, g):
            assert str(pg.Activation(text).function) in str(caught.value)


def test_the_state_of_another_function_can_be_taken_on_purpose() -> None:
    source, target = model(A), model(B)
    with torch.no_grad():
        source[1].alpha.fill_(0.5)
    written = source.state_dict()
    del written["1._extra_state"]
    target.load_state_dict(written)
    assert (target[1].alpha == 0.5).all()


def test_a_state_of_the_same_function_loads_without_a_word() -> None:
    for strict in (True, False):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            done = model().load_state_dict(model().state_dict(), strict=strict)
        assert not done.missing_keys
        assert not done.unexpected_keys


@pytest.mark.parametrize("shape", [3, None])
def test_a_state_without_the_text_loads_as_before(shape: int | None) -> None:
    before = {k: v for k, v in model().state_dict().items() if k != "1._extra_state"}
    done = model(shape=shape).load_state_dict(before)
    assert not done.missing_keys
    with pytest.raises(RuntimeError, match=r"Missing key.*1\.alpha"):
        model().load_state_dict({k: v for k, v in before.items() if k != "1.alpha"})


@pytest.mark.parametrize(
    "garbage", [torch.tensor([300.5]), torch.tensor([255, 254]), torch.empty(3, device="meta"), 7]
)
def test_a_text_that_cannot_be_read_is_that_of_another_function(garbage: Any) -> None:
    written = {**model().state_dict(), "1._extra_state": garbage}
    with pytest.raises(RuntimeError, match=r"the function \(unreadable\), not mul"):
        model().load_state_dict(written)


def test_a_text_from_a_file_is_shown_inert_and_short() -> None:
    shown = state.shown(state.read(state.written("x\x1b[31m" + "y" * 1000))[0])
    assert shown.isprintable()
    assert len(shown) <= 200


def test_a_long_text_is_compared_as_a_whole() -> None:
    long = " + ".join(["tanh(alpha*x)", *["tanh(x)"] * 50])
    model(long).load_state_dict(model(long).state_dict())
    with pytest.raises(RuntimeError, match="1 is of the function"):
        model(long).load_state_dict(model(long + " + x").state_dict())


def test_bytes_cast_with_the_weights_still_are_the_text() -> None:
    half = {name: value.half() for name, value in model().state_dict().items()}
    model().load_state_dict(half)


def test_a_lazy_module_takes_a_state_of_its_own_scope_alone() -> None:
    per_neuron = model(scope="neuron", shape=(3, 5)).state_dict()
    with pytest.raises(RuntimeError, match=r"1 has parameters of shape \(3, 5\), not one per ch"):
        model(shape=None).load_state_dict(per_neuron)
    per_layer = model(scope="layer").state_dict()
    for scope in ("channel", "neuron"):
        with pytest.raises(RuntimeError, match=r"shape \(\), not one per " + scope):
            model(scope=scope, shape=None).load_state_dict(per_layer)


def test_a_lazy_module_takes_the_parameters_that_a_state_has() -> None:
    written = pg.Activation(A, shape=3).state_dict()
    del written["alpha"]
    module = pg.Activation(A)
    assert module.load_state_dict(written, strict=False).missing_keys == ["alpha"]
    assert module.alpha.shape == (3,)


def test_a_float64_state_stays_float64() -> None:
    source = pg.Activation(A, shape=3).double()
    with torch.no_grad():
        source.alpha.fill_(1 / 3)
    target = pg.Activation(A)
    target.load_state_dict(source.state_dict())
    assert target.alpha.dtype == torch.float64
    assert torch.equal(target.alpha, source.alpha)


def test_a_type_asked_for_counts_more_than_that_of_the_state() -> None:
    target = pg.Activation(A).double()
    target.load_state_dict(pg.Activation(A, shape=3).state_dict())
    assert target.alpha.dtype == torch.float64
    half = pg.Activation(A, shape=3).half().state_dict()
    target = pg.Activation(A)
    target.load_state_dict(half)
    assert target.alpha.dtype == torch.float32


@pytest.mark.parametrize("keep_vars", [False, True])
def test_a_state_before_the_first_input_says_what_to_do(keep_vars: bool) -> None:
    lazy = model(shape=None)
    with pytest.raises(PangaeaError, match=r"give it one .*, or pass an input through the model"):
        lazy.state_dict(keep_vars=keep_vars)
    lazy(torch.randn(2, 4))
    assert list(lazy.state_dict()) == KEYS


def test_averages_copies_and_functional_calls_live_with_the_text(tmp_path: Path) -> None:
    x = torch.randn(2, 4)
    first = model()
    average = torch.optim.swa_utils.AveragedModel(first, use_buffers=True)
    average.update_parameters(first)
    torch.testing.assert_close(average(x), first(x))
    average.load_state_dict(copy.deepcopy(average).state_dict())
    called = torch.func.functional_call(first, first.state_dict(), (x,))
    assert torch.equal(called, first(x))
    assert list(first.state_dict()) == KEYS
    torch.save(first.state_dict(), tmp_path / "state.pt")
    first.load_state_dict(torch.load(tmp_path / "state.pt", weights_only=True))
    first.load_state_dict(first.state_dict(), assign=True)
    with torch.device("meta"):
        empty = model()
    empty.load_state_dict(first.state_dict(), assign=True)
    assert torch.equal(empty(x), first(x))

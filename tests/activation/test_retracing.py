"""Forwards that call activations as functions, recorded: what is taken over, and what refused."""

import copy
import math
import pickle
import random
from collections.abc import Callable
from cProfile import Profile
from typing import Any

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

import pangaea as pg
from tests.activation import models

FUNCTION = "alpha*x - beta*log(sigmoid(gamma*x))"


class Branching(nn.Module):
    """A forward that no graph stands for, with a shared ReLU of two widths."""

    def __init__(self) -> None:
        super().__init__()
        self.a, self.b, self.relu = nn.Linear(4, 5), nn.Linear(5, 6), nn.ReLU()

    def forward(self, x: Tensor) -> Tensor:
        y = self.relu(self.b(self.relu(self.a(x))))
        return F.gelu(y) if y.sum() > 0 else y


def test_what_cannot_be_traced_is_said_and_shares_one_set_of_parameters() -> None:
    model = Branching()
    report = pg.replace_activations(model, FUNCTION, example=torch.ones(3, 4))
    (row,) = report.replaced
    assert (row.path, row.scope) == ("relu", "layer")
    assert "different shapes" in row.note
    assert "control flow" in report.left[0].why
    assert model.relu.alpha.shape == ()
    assert type(model) is Branching


def forward_with(body: Callable[[nn.Module, Tensor], Tensor]) -> nn.Module:
    class Functional(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.fc = nn.Linear(4, 4)
            self.calls = 0

        def forward(self, x: Tensor) -> Tensor:
            return body(self, x)

    return Functional()


def _no_grad(self: nn.Module, x: Tensor) -> Tensor:
    with torch.no_grad():
        x = F.relu(self.fc(x))
    return self.fc(x)


def _count(self: nn.Module, x: Tensor) -> Tensor:
    self.calls += 1
    return F.relu(self.fc(x))


def _noise(self: nn.Module, x: Tensor) -> Tensor:
    return F.relu(self.fc(x) + torch.randn(4))


def _chance(self: nn.Module, x: Tensor) -> Tensor:
    return F.relu(self.fc(x)) if random.random() < 2 else x


def _numpys_chance(self: nn.Module, x: Tensor) -> Tensor:
    return x if np.random.rand() < 1e-6 else F.relu(self.fc(x))


def _recorded(self: nn.Module, x: Tensor) -> Tensor:
    x = F.relu(self.fc(x))
    self.kept.append(x)  # type: ignore[operator,union-attr]
    return x


def _asks(self: nn.Module, x: Tensor) -> Tensor:
    x = F.relu(self.fc(x))
    return x + 1 if torch.is_grad_enabled() else x


def _saves_memory(self: nn.Module, x: Tensor) -> Tensor:
    return checkpoint(lambda x: F.relu(self.fc(x)), x, use_reentrant=False)  # type: ignore[no-any-return]


class Reversed(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        return x

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> Tensor:
        return -gradient


def _reverses(self: nn.Module, x: Tensor) -> Tensor:
    return Reversed.apply(F.relu(self.fc(x)))  # type: ignore[no-any-return,no-untyped-call]


def _kind(self: nn.Module, x: Tensor) -> Tensor:
    return F.relu(self.fc(x)) * (1 if isinstance(x, Tensor) else 2)


@pytest.mark.parametrize(
    ("body", "why"),
    [
        (_no_grad, "switches gradients"),
        (_count, "sets calls"),
        (_noise, "random numbers"),
        (_chance, "random numbers"),
        (_numpys_chance, "random numbers"),
        (_recorded, "sets kept"),
        (_asks, "asks whether gradients are on"),
        (_saves_memory, "once more for the gradient"),
        (_reverses, "a gradient of its own, Reversed"),
        (_kind, "gives other outputs"),
    ],
)
def test_a_graph_that_would_lose_something_is_not_used(body: Any, why: str) -> None:
    model = forward_with(body)
    model.kept = []  # type: ignore[assignment]
    kind, x, drawn = type(model), torch.randn(2, 4), str(np.random.get_state())
    with pytest.raises(pg.PangaeaError, match=f"no activation of Functional.*{why}"):
        pg.replace_activations(model, FUNCTION, example=x)
    assert type(model) is kind
    assert model.kept == []
    assert str(np.random.get_state()) == drawn
    assert [name for name, _ in model.named_modules()] == ["", "fc"]


def _numpy(self: nn.Module, x: Tensor) -> Tensor:
    x = self.relu(self.fc(x))
    return F.gelu(self.relu(self.fc(x))) * float(np.random.default_rng().random())


class Autoencoder(nn.Module):
    """Calls in methods of its own, and numbers that a forward reads."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = nn.Linear(4, 3), nn.Linear(3, 4)
        self.act, self.temperature, self.limit = nn.ReLU(), 1.0, math.inf

    def encode(self, x: Tensor) -> Tensor:
        return self.act(self.first(x))

    def decode(self, z: Tensor) -> Tensor:
        return F.gelu(self.second(z)).clamp(max=self.limit) / self.temperature

    def head(self, z: Tensor) -> Tensor:
        return z + 1

    def forward(self, x: Tensor) -> Tensor:
        return self.head(self.decode(self.encode(x)))


def test_methods_that_a_recorded_forward_takes_in_are_not_called_beside_it() -> None:
    model, x = Autoencoder(), torch.randn(5, 4)
    pg.replace_activations(model, "tanh", example=x)
    for of in (model, copy.deepcopy(model), pickle.loads(pickle.dumps(model))):
        code = of.encode(x)
        assert torch.allclose(code, torch.tanh(model.first(x)))  # a module's call is what it was
        with pytest.raises(pg.PangaeaError, match="decode has an activation that was replaced"):
            of.decode(code)
        expected = torch.tanh(model.second(code)) + 1
        assert torch.allclose(of(x), expected)
        assert torch.equal(of.head(x), x + 1)


def test_a_recorded_forward_does_not_go_on_with_numbers_that_have_changed() -> None:
    model, x = Autoencoder(), torch.randn(5, 4)
    model.temperature = 2.0
    pg.replace_activations(model, "tanh", example=x)
    model(x)
    model.temperature = 1.5
    with pytest.raises(pg.PangaeaError, match=r"recorded with temperature=2\.0"):
        model(x)


class Warming(nn.Module):
    """What is read in one mode alone, what a mode sets, and a number that is none."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = nn.Linear(4, 3), nn.Linear(3, 2)
        self.epoch, self.fill = 1, math.nan
        self.train()

    def train(self, mode: bool = True) -> "Warming":
        self.scale = 2.0 if mode else 1.0
        return super().train(mode)

    def forward(self, x: Tensor) -> Tensor:
        y = self.second(F.relu(self.first(x)).nan_to_num(self.fill)) * self.scale
        return y * min(1.0, self.epoch / 10) if self.training else y


def test_what_one_mode_reads_the_other_does_not_ask_for() -> None:
    model, x = Warming(), torch.randn(5, 4)
    pg.replace_activations(model, "tanh", example=x)
    model(x)
    model.epoch = 2
    with pytest.raises(pg.PangaeaError, match="recorded with epoch=1"):
        model(x)
    model.eval()
    assert torch.allclose(model(x), model.second(torch.tanh(model.first(x))))
    model.fill = 0.0
    with pytest.raises(pg.PangaeaError, match="recorded with fill=nan"):
        model(x)


class Asking(nn.Module):
    """Asks for a part that is None, and for an attribute that is not there."""

    def __init__(self) -> None:
        super().__init__()
        self.fc = nn.Linear(4, 4)
        self.register_parameter("scale", None)

    def forward(self, x: Tensor, missing: Tensor | None = None) -> Tensor:
        y = F.relu(self.fc(x)) if self.scale is None else self.scale
        if missing is not None:
            y = y + missing
        return y + 1 if hasattr(self, "more") else y


def test_a_recorded_forward_does_not_go_on_with_what_was_not_there() -> None:
    x = torch.randn(3, 4)
    for name, how in (("scale", "with scale=None"), ("more", "without more")):
        model = Asking()
        pg.replace_activations(model, FUNCTION, example=x)
        model(x)
        setattr(model, name, nn.Parameter(torch.ones(4)))
        with pytest.raises(pg.PangaeaError, match=f"was recorded {how}"):
            copy.deepcopy(model)(x)


def test_an_argument_may_have_the_name_of_a_check() -> None:
    model, x = Asking(), torch.randn(3, 4)
    pg.replace_activations(model, FUNCTION, example=(x, x))
    with pytest.raises(pg.PangaeaError, match="a tensor as missing"):
        model(x)


def test_a_profiler_goes_on_after_the_operation(monkeypatch: pytest.MonkeyPatch) -> None:
    """Python 3.11's is no function, so that sys.setprofile cannot put it back."""
    enabled: list[str] = []

    class Profiler:
        def enable(self) -> None:
            enabled.append("again")

    monkeypatch.setattr("sys.getprofile", Profiler)
    model, x = Autoencoder(), torch.randn(5, 4)
    assert len(pg.replace_activations(model, "tanh", example=x).replaced) == 2
    assert {*enabled} == {"again"}
    with Profile() as profile:
        assert len(pg.replace_activations(Autoencoder(), "tanh", example=x).replaced) == 2
    assert profile.getstats()


def test_a_class_that_wants_a_word_of_its_subclasses_keeps_its_forward() -> None:
    class Registered(nn.Module):
        def __init_subclass__(cls, *, word: str, **more: Any) -> None:
            super().__init_subclass__(**more)

    class Net(Registered, word="net"):
        def __init__(self) -> None:
            super().__init__()
            self.fc, self.act = nn.Linear(4, 3), nn.ReLU()

        def forward(self, x: Tensor) -> Tensor:
            return F.gelu(self.act(self.fc(x)))

    with pytest.raises(pg.PangaeaError, match="channels of act are not known without an example"):
        pg.replace_activations(Net(), FUNCTION)
    report = pg.replace_activations(Net(), FUNCTION, example=torch.randn(2, 4))
    assert [site.path for site in report.replaced] == ["act"]
    assert "__init_subclass__() missing" in report.left[0].why


def test_watching_leaves_no_hooks_behind() -> None:
    hooks = torch.nn.modules.module._global_forward_hooks_with_kwargs
    before = dict(hooks)
    pg.replace_activations(Autoencoder(), "tanh", example=torch.randn(5, 4))
    assert hooks == before


def test_a_model_that_never_does_the_same_has_its_modules_replaced_alone() -> None:
    model = forward_with(_numpy)
    model.relu = nn.ReLU()
    kind = type(model)
    report = pg.replace_activations(model, FUNCTION, example=torch.ones(2, 4))
    assert type(model) is kind
    assert [row.path for row in report.replaced] == ["relu"]
    assert "one for all its calls" in report.replaced[0].note
    (left,) = report.left
    assert left.path == "the model"
    assert "it does not do the same twice" in left.why
    assert "nothing was compared" in report.notes[0]


def test_a_forward_keeps_its_modes_signature_and_refuses_what_was_not_traced() -> None:
    model, x = models.MLP(), torch.randn(4, 4)
    pg.replace_activations(model, FUNCTION, example=x)
    assert not torch.equal(model(x), model(x))  # dropout
    model.eval()
    assert torch.equal(model(x), model(x=x, scale=1.0))
    with pytest.raises(pg.PangaeaError, match=r"replaced for calls with scale=1\.0"):
        model(x, 2.0)
    with pytest.raises(pg.PangaeaError, match="extra=None"):
        model(x, extra=torch.ones(8))
    model = models.MLP()
    pg.replace_activations(model, FUNCTION, example={"x": x, "extra": torch.ones(8)})
    assert model(x, extra=torch.ones(8)).shape == (4, 5)
    model = models.MLP()
    pg.replace_activations(model, FUNCTION, example=(x, 1.0, torch.randn(4, 8)))
    with pytest.raises(pg.PangaeaError, match="replaced for calls with a tensor as extra"):
        model(x)

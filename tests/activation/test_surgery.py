"""Activations replaced in models as people write them: what is found, and what stays."""

import copy
import math
import pickle
import random
import re
from collections.abc import Callable
from cProfile import Profile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

import pangaea as pg
from pangaea.activation.surgery_report import SurgeryReport
from tests.activation import models

FUNCTION = "alpha*x - beta*log(sigmoid(gamma*x))"
IMAGES, SIGNALS, TOKENS = (4, 3, 8, 8), (4, 2, 16), (4, 5, 8)

# A model, its input, and what must be found there: path, channels, channel dimension.
FOUND: dict[type[nn.Module], tuple[tuple[int, ...], list[tuple[str, int, int]]]] = {
    models.ResNet: (
        IMAGES,
        [
            ("relu", 8, 1),
            ("layer1.0.relu", 8, 1),
            ("layer1.0.relu_2", 8, 1),
            ("layer1.1.relu", 16, 1),
            ("layer1.1.relu_2", 16, 1),
            ("layer2.0.relu", 4, 1),
            ("layer2.0.relu_2", 4, 1),
            ("layer2.0.relu_3", 16, 1),
        ],
    ),
    models.MobileNet: (
        IMAGES,
        [
            ("features.2", 8, 1),
            ("features.5", 8, 1),
            ("features.6.activation", 4, 1),
            ("classifier.1", 16, -1),
        ],
    ),
    models.VGG: (IMAGES, [("1", 6, 1), ("4", 8, 1), ("8", 16, -1)]),
    models.UNet: (
        IMAGES,
        [("leaky_relu", 6, 1), ("relu", 6, 1), ("down.1", 6, 1), ("middle.1", 10, 1)],
    ),
    models.Net1d: (SIGNALS, [("tanh", 7, -1), ("body.1", 6, 1), ("body.3", 8, 1)]),
    models.Encoder: (
        TOKENS,
        [("encoder.layers.0.activation", 16, -1), ("encoder.layers.1.activation", 16, -1)],
    ),
    models.MLP: (
        (4, 4),
        [
            ("relu", 6, -1),
            ("relu_2", 7, -1),
            ("relu_3", 8, -1),
            ("relu_4", 9, -1),
            ("gelu", 9, -1),
            ("sigmoid", 9, -1),
        ],
    ),
    models.SwiGLU: (TOKENS, [("silu", 12, -1)]),
}
MODELS = [pytest.param(kind, shape, id=kind.__name__) for kind, (shape, _) in FOUND.items()]


def outputs(model: nn.Module, x: Tensor) -> list[Tensor]:
    """Values and gradients in training, values in evaluation."""
    torch.manual_seed(1)
    model.train()
    trained = model(x.clone())
    parameters = [p for p in model.parameters() if p.requires_grad]
    gradients = torch.autograd.grad(trained.sum(), parameters)
    model.eval()
    return [trained, *gradients, model(x.clone())]


def left(report: SurgeryReport) -> dict[str, str]:
    return {row.path: row.why for row in report.left}


@pytest.mark.parametrize(("kind", "shape"), MODELS)
def test_every_activation_is_found_with_its_channels(
    kind: Callable[[], nn.Module], shape: tuple[int, ...]
) -> None:
    model = kind()
    report = pg.replace_activations(model, FUNCTION, example=torch.randn(shape))
    found = [(row.path, row.channels, row.channel_dim) for row in report.replaced]
    assert found == FOUND[kind][1]
    for path, channels, _ in FOUND[kind][1]:
        activation = model.get_submodule(path)
        assert isinstance(activation, pg.Activation)
        assert activation.alpha.shape == (channels,)
    assert len({id(model.get_submodule(path)) for path, *_ in FOUND[kind][1]}) == len(report)


@pytest.mark.parametrize(
    ("kind", "shape"), [row for row in MODELS if row.id not in ("Net1d", "SwiGLU")]
)
def test_relu_by_relu_changes_no_bit(kind: Callable[[], nn.Module], shape: tuple[int, ...]) -> None:
    model, x = kind(), torch.randn(shape)
    state = {name: value.clone() for name, value in model.state_dict().items()}
    before = outputs(model, x)
    model.load_state_dict(state)
    names = [name for name, _ in model.named_modules()]
    pg.replace_activations(model, "relu", example=x, which=nn.ReLU)
    assert isinstance(model, kind)
    assert set(names) <= {name for name, _ in model.named_modules()}
    assert [*model.state_dict()] == [*state]
    assert all(torch.equal(value, state[name]) for name, value in model.state_dict().items())
    for old, new in zip(before, outputs(model, x), strict=True):
        assert torch.equal(old, new)


@pytest.mark.parametrize(("kind", "shape"), MODELS)
def test_nothing_else_in_the_model_changes(
    kind: Callable[[], nn.Module], shape: tuple[int, ...]
) -> None:
    model = kind().double().eval()
    model.get_parameter(next(iter(dict(model.named_parameters())))).requires_grad_(False)
    before = {name: (id(p), p.requires_grad, p.clone()) for name, p in model.named_parameters()}
    buffers = {name: (id(b), b.clone()) for name, b in model.named_buffers()}
    x, random_state = torch.randn(shape).double(), torch.get_rng_state()
    pg.replace_activations(model, FUNCTION, example=x)
    assert torch.equal(torch.get_rng_state(), random_state)
    parameters, after = dict(model.named_parameters()), dict(model.named_buffers())
    for name, (identity, trainable, value) in before.items():
        if name in parameters:  # a PReLU goes with its weight
            assert (id(parameters[name]), parameters[name].requires_grad) == (identity, trainable)
            assert torch.equal(parameters[name], value)
    for name, (identity, value) in buffers.items():
        assert id(after[name]) == identity
        assert torch.equal(after[name], value)
    assert not any(module.training for module in model.modules())
    assert all(p.dtype == torch.float64 for p in model.parameters())


def test_hooks_stay_and_their_handles_work() -> None:
    model, x, seen = models.ResNet(), torch.randn(IMAGES), []
    handle = model.relu.register_forward_hook(lambda *_: seen.append("relu"))
    model.layer1.register_forward_hook(lambda *_: seen.append("layer1"))
    pg.replace_activations(model, FUNCTION, example=x)
    seen.clear()
    model(x)
    assert seen == ["relu", "layer1"]
    handle.remove()
    model(x)
    assert seen == ["relu", "layer1", "layer1"]


def test_the_hooks_of_a_module_called_twice_are_called_twice() -> None:
    model, x, seen = models.ResNet(), torch.randn(IMAGES), []
    model.layer1[0].relu.register_forward_hook(lambda *_: seen.append("relu"))
    model(x)
    pg.replace_activations(model, FUNCTION, example=x)
    seen.clear()
    model(x)
    assert seen == ["relu", "relu"]


def test_tied_modules_stay_tied() -> None:
    block = nn.Sequential(nn.Linear(4, 4), nn.ReLU())
    model = nn.Sequential(block, block, nn.ReLU())
    report = pg.replace_activations(model, FUNCTION, example=torch.randn(2, 4))
    assert model[0] is model[1]
    assert [row.path for row in report.replaced] == ["2", "0.1"]


def test_the_output_and_gates_are_left_alone_unless_asked_for() -> None:
    model, x = models.UNet(), torch.randn(IMAGES)
    report = pg.replace_activations(model, FUNCTION, example=x)
    assert left(report) == {"sigmoid": "the model's output"}
    report = pg.replace_activations(model, FUNCTION, example=x, which=nn.Sigmoid)
    assert [row.path for row in report.replaced] == ["sigmoid"]
    model = models.MobileNet()
    report = pg.replace_activations(model, FUNCTION, example=x, which="features.6.*")
    assert [row.path for row in report.replaced] == ["features.6.activation"]
    assert "gate" in left(report)["features.6.scale_activation"]
    gate = "features.6.scale_activation"
    assert len(pg.replace_activations(model, FUNCTION, example=x, which=gate)) == 1


class Cell(nn.Module):
    """An LSTM by hand."""

    def __init__(self) -> None:
        super().__init__()
        self.gates, self.out = nn.Linear(12, 32), nn.Linear(8, 3)
        self.rnn = nn.LSTM(4, 8, batch_first=True)
        self.attention = nn.Softmax(-1)

    def forward(self, x: Tensor) -> Tensor:
        h = c = torch.zeros_like(x[:, 0, :1]).repeat(1, 8)
        for step in range(3):
            i, f, g, o = self.gates(torch.cat([x[:, step], h], 1)).chunk(4, 1)
            c = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g)
            h = torch.sigmoid(o) * torch.tanh(c)
        return F.relu(self.out(h + self.rnn(self.attention(x))[0][:, -1]))


def test_gates_of_recurrent_networks_and_softmax_are_left_alone() -> None:
    report = pg.replace_activations(Cell(), FUNCTION, example=torch.randn(2, 3, 4))
    assert [row.before for row in report.replaced] == ["F.relu"]
    assert len(report.left) == 2 + 3 * 5
    assert "inside torch" in left(report)["rnn"]
    assert "gate" in left(report)["sigmoid"]


def test_gated_units_have_their_gates_function_replaced() -> None:
    report = pg.replace_activations(models.SwiGLU(), FUNCTION, example=torch.randn(TOKENS))
    assert report.replaced[0].note == "the gate of a gated unit"
    model = nn.Sequential(nn.Linear(8, 6), nn.GLU(), nn.ReLU())
    report = pg.replace_activations(model, FUNCTION, example=torch.randn(2, 8))
    assert "halves its channels" in left(report)["1"]


def test_the_encoders_fast_path_is_not_taken_with_or_without_padding() -> None:
    model, x = models.Encoder().eval(), torch.randn(TOKENS)
    padding = torch.zeros(4, 5, dtype=torch.bool)
    padding[:, 3:] = True
    pg.replace_activations(model, "zero(x)", example=(x, padding))
    with torch.no_grad():
        fast = model(x, padding)
    torch.testing.assert_close(fast, model(x, padding))


class Own(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return x.clamp(min=0)


class ConvReLU(nn.Module):
    """A layer with its activation, named like one."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.randn(3, 3, 1, 1))

    def forward(self, x: Tensor) -> Tensor:
        return F.conv2d(x, self.weight).relu()


class HardSwish(nn.Module):
    """A function by hand, with a module inside."""

    def __init__(self) -> None:
        super().__init__()
        self.relu6 = nn.ReLU6()

    def forward(self, x: Tensor) -> Tensor:
        return x * self.relu6(x + 3) / 6


def test_a_class_is_known_by_its_name_unless_it_holds_weights() -> None:
    model = nn.Sequential(ConvReLU(), HardSwish())
    report = pg.replace_activations(model, FUNCTION, example=torch.randn(IMAGES))
    rows = [(row.path, row.before) for row in report.replaced]
    assert rows == [("1", "HardSwish"), ("0.relu", "x.relu")]


def test_which_selects_by_type_name_or_predicate() -> None:
    def paths(which: Any, model: nn.Module) -> list[str]:
        report = pg.replace_activations(model, FUNCTION, example=torch.randn(IMAGES), which=which)
        return [row.path for row in report.replaced]

    assert paths(nn.Hardswish, models.MobileNet()) == ["features.2", "classifier.1"]
    assert paths((nn.ReLU6, "classifier.*"), models.MobileNet()) == ["features.5", "classifier.1"]
    assert paths("layer1.*", models.ResNet()) == [
        f"layer1.{block}.relu{call}" for block in (0, 1) for call in ("", "_2")
    ]
    assert paths(lambda name, module: name == "4", models.VGG()) == ["4"]
    assert paths(nn.ReLU, models.UNet()) == ["relu"]
    assert paths(Own, nn.Sequential(nn.Conv2d(3, 4, 1), Own())) == ["1"]
    for wrong in (3, nn.ReLU(), F.relu, torch.relu):
        with pytest.raises(pg.PangaeaError, match="which selects activations by"):
            paths(wrong, models.VGG())


def test_a_model_that_relies_on_working_in_place_keeps_its_activation() -> None:
    class InPlace(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.fc, self.relu, self.gelu = nn.Linear(4, 4), nn.ReLU(inplace=True), nn.GELU()

        def forward(self, x: Tensor) -> Tensor:
            x = self.fc(x)
            self.relu(x)
            return self.gelu(x)

    report = pg.replace_activations(InPlace(), FUNCTION, example=torch.randn(3, 4))
    assert left(report) == {"relu": "the model relies on its working in place"}


def test_an_argument_of_one_is_no_flag_for_working_in_place() -> None:
    class Twice(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.a, self.b = nn.Linear(4, 4), nn.Linear(4, 4)

        def forward(self, x: Tensor) -> Tensor:
            h = self.a(x)
            return self.b(torch.celu(h, 1.0) + h)

    report = pg.replace_activations(Twice(), FUNCTION, example=torch.randn(3, 4))
    assert [row.path for row in report.replaced] == ["celu"]


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


class Cached(nn.Module):
    """Its first call, and each longer one, leaves something for those after it."""

    def __init__(self) -> None:
        super().__init__()
        self.fc, self.act = nn.Linear(4, 4), nn.ReLU()
        self.ready, self.longest = False, 0
        self.masks: list[Tensor] = []
        self.cache: dict[str, Tensor] = {}

    def forward(self, x: Tensor) -> Tensor:
        if not self.ready:
            self.ready = True
            self.masks.append(torch.ones(4))
            self.table = torch.ones(4)
        if len(x) > self.longest:
            self.longest, self.cache["places"] = len(x), torch.arange(4.0)
        y: Tensor = self.act(self.fc(x)) + self.masks[0] + self.cache["places"] + self.table
        return y


def test_a_model_that_keeps_something_from_its_first_call_is_as_if_never_called() -> None:
    model, x = Cached(), torch.randn(5, 4)
    pg.replace_activations(model, FUNCTION, example=x)
    assert (model.ready, model.longest, model.masks, model.cache) == (False, 0, [], {})
    assert not hasattr(model, "table")
    assert model(x).shape == x.shape
    assert model.ready


class Growing(nn.Module):
    """Makes a part of itself in its first call."""

    def __init__(self) -> None:
        super().__init__()
        self.act, self.made = nn.ReLU(), 0

    def forward(self, x: Tensor) -> Tensor:
        if not self.made:
            self.fc, self.made = nn.Sequential(nn.Linear(x.shape[1], 3), nn.ReLU()), 1
        y: Tensor = self.act(self.fc(x))
        return y


def test_a_part_that_a_model_makes_in_its_first_call_stays_and_is_operated_on() -> None:
    model, x = Growing(), torch.randn(5, 4)
    report = pg.replace_activations(model, FUNCTION, example=x)
    assert [site.path for site in report.replaced] == ["act", "fc.1"]
    part = model.fc
    model(x)
    assert model.fc is part


@pytest.mark.filterwarnings("ignore:.*torch.jit:DeprecationWarning")
@pytest.mark.parametrize("kind", ["script", "trace"])
def test_parts_in_torchscript_stay_what_they_are(kind: str) -> None:
    part, x = nn.BatchNorm1d(4), torch.randn(5, 4)
    scripted = torch.jit.script(part) if kind == "script" else torch.jit.trace(part.eval(), (x,))
    model = nn.Sequential(scripted, nn.ReLU(), nn.Linear(4, 2))
    before = model.state_dict()["0.running_mean"].clone()
    report = pg.replace_activations(model, FUNCTION, example=x)
    assert [site.path for site in report.replaced] == ["1"]
    assert model[0] is scripted
    assert torch.equal(model.state_dict()["0.running_mean"], before)
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


def test_what_is_joined_drawn_from_or_in_a_loss_is_an_output_too() -> None:
    class Head(nn.Module):
        def __init__(self, what: str) -> None:
            super().__init__()
            self.fc, self.out, self.relu = nn.Linear(4, 4), nn.Softplus(), nn.ReLU()
            self.probability, self.what = nn.Sigmoid(), what

        def forward(self, x: Tensor) -> Any:
            x = self.relu(self.fc(x))
            if self.what == "joined":
                return torch.cat([x, self.out(self.fc(x))], -1)
            if self.what == "drawn from":
                return torch.distributions.Normal(x, self.out(self.fc(x)) + 1e-3)
            return F.binary_cross_entropy(self.probability(self.fc(x)), torch.ones_like(x))

    for what in ("joined", "drawn from", "lost"):
        report = pg.replace_activations(Head(what), "swish", example=torch.randn(3, 4))
        assert [row.path for row in report.replaced] == ["relu"]
        whys = {row.why for row in report.left}
        assert whys == {"the model's output", "not called with the example"}


def test_watching_leaves_no_hooks_behind() -> None:
    hooks = torch.nn.modules.module._global_forward_hooks_with_kwargs
    before = dict(hooks)
    pg.replace_activations(Autoencoder(), "tanh", example=torch.randn(5, 4))
    assert hooks == before


@pytest.mark.filterwarnings("ignore:.*should not be instantiated:DeprecationWarning")  # torch's own
def test_a_model_that_has_no_example_builds_itself_when_compiled_or_in_inference() -> None:
    model, x = models.VGG(), torch.randn(*IMAGES)
    pg.replace_activations(model, FUNCTION)
    compiled = torch.compile(model, backend="eager")
    with torch.inference_mode():
        compiled(x)
    compiled(x).sum().backward()
    assert all(p.grad is not None for p in model.parameters())


def test_a_model_that_never_does_the_same_has_its_modules_replaced_alone() -> None:
    model = forward_with(_numpy)
    model.relu = nn.ReLU()
    kind = type(model)
    report = pg.replace_activations(model, FUNCTION, example=torch.ones(2, 4))
    assert type(model) is kind
    assert [row.path for row in report.replaced] == ["relu"]
    assert "one for all its calls" in report.replaced[0].note
    assert "it does not do the same twice" in left(report)["the model"]
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


def test_without_an_example_one_set_of_parameters_for_a_layer_works() -> None:
    model = models.ResNet()
    report = pg.replace_activations(model, FUNCTION, scope="layer")
    assert len(report) == 4
    assert "F.relu" in report.notes[0]
    assert model(torch.randn(IMAGES)).shape == (4, 5)


def test_without_an_example_channels_follow_from_the_layer_before_or_are_asked_for() -> None:
    model = nn.Sequential(nn.Conv1d(2, 3, 1), nn.Dropout(), nn.ReLU(), nn.Linear(16, 4), nn.GELU())
    report = pg.replace_activations(model, FUNCTION)
    assert [row.channel_dim for row in report.replaced] == [1, -1]
    model(torch.randn(SIGNALS))
    assert [model[i].alpha.shape for i in (2, 4)] == [(3,), (4,)]
    with pytest.raises(pg.PangaeaError, match=r"layer1\.0\.relu .* pass example="):
        pg.replace_activations(models.ResNet(), FUNCTION)


def test_a_function_can_be_replaced_again() -> None:
    model, x = models.UNet(), torch.randn(IMAGES)
    before = pg.replace_activations(model, FUNCTION, example=x)
    after = pg.replace_activations(model, "pswish", example=x)
    assert [row.path for row in after.replaced] == [row.path for row in before.replaced]
    assert isinstance(model, models.UNet)


@pytest.mark.parametrize(
    ("model", "options", "message"),
    [
        ("resnet", {}, "a model is a torch.nn.Module"),
        (nn.ReLU(), {}, "itself an activation"),
        (
            torch.compile(nn.Sequential(nn.ReLU()), backend="eager"),
            {},
            "before the model is compiled",
        ),
        (nn.Linear(4, 4), {"example": torch.ones(2, 4)}, "it holds none"),
        (models.VGG(), {"example": torch.ones(2, 4)}, "cannot be called with the example"),
        (models.VGG(), {"scope": "model"}, "no scope is called 'model'"),
        (models.VGG(), {"function": "relo"}, "did you mean"),
        (models.SwiGLU(), {}, "Pass example="),
        (models.VGG(), {"example": torch.ones(IMAGES), "which": "a.*"}, "not selected"),
    ],
)
def test_what_cannot_be_done_is_one_sentence(model: Any, options: Any, message: str) -> None:
    with pytest.raises(pg.PangaeaError, match=message):
        pg.replace_activations(model, **{"function": FUNCTION, **options})


def test_a_failed_operation_leaves_the_model_as_it_was() -> None:
    model = models.ResNet()
    names = [name for name, _ in model.named_modules()]
    with pytest.raises(pg.PangaeaError):
        pg.replace_activations(model, FUNCTION, example=torch.randn(IMAGES), which="nothing")
    assert [name for name, _ in model.named_modules()] == names
    assert type(model.layer1[0]) is models.BasicBlock


def test_the_report_reads_as_a_table() -> None:
    report = pg.replace_activations(models.UNet(), FUNCTION, example=torch.randn(IMAGES))
    lines = str(report).splitlines()
    assert lines[0] == "replaced by sub(alpha*x, beta*logsigmoid(gamma*x)): 4 activations"
    assert lines[1].split() == ["where", "before", "scope", "channels", "dim"]
    assert lines[2].split() == ["leaky_relu", "F.leaky_relu", "channel", "6", "1"]
    assert lines[6] == "left alone: 1 activation"
    assert lines[8].split(maxsplit=2) == ["sigmoid", "Sigmoid", "the model's output"]


def test_the_examples_of_the_docs_run(capsys: pytest.CaptureFixture[str]) -> None:
    text = (Path(__file__).parents[2] / "docs" / "your_model.md").read_text()
    blocks = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    exec("\n".join(blocks), {})
    assert f"```text\n{capsys.readouterr().out}```" in text

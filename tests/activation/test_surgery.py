"""Activations replaced in models as people write them: what is found, and what stays."""

import copy
import pickle
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

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


@pytest.mark.filterwarnings("ignore:.*should not be instantiated:DeprecationWarning")  # torch's own
def test_a_model_that_has_no_example_builds_itself_when_compiled_or_in_inference() -> None:
    model, x = models.VGG(), torch.randn(*IMAGES)
    pg.replace_activations(model, FUNCTION)
    compiled = torch.compile(model, backend="eager")
    with torch.inference_mode():
        compiled(x)
    compiled(x).sum().backward()
    assert all(p.grad is not None for p in model.parameters())


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


def test_a_decoder_layer_of_torchs_keeps_its_function_in_copies() -> None:
    """Torch's own way of copying it takes F.relu for an activation that is a module."""
    layer = nn.TransformerDecoderLayer(8, 2, 16, batch_first=True).eval()
    x, memory = torch.randn(2, 4, 8), torch.randn(2, 5, 8)
    pg.replace_activations(layer, FUNCTION, example=(x, memory))
    y = layer(x, memory)
    for twin in (copy.deepcopy(layer), pickle.loads(pickle.dumps(layer))):
        assert torch.equal(twin(x, memory), y)
        assert twin.activation is not layer.activation
        assert isinstance(twin.activation, pg.Activation)
    report = pg.replace_activations(layer, "relu", example=(x, memory))
    assert [site.path for site in report.replaced] == ["activation"]
    assert str(layer.activation.function) == "relu(x)"

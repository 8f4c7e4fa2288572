"""What a pass shows of activations: where their channels are, and who calls them how."""

from collections.abc import Callable

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

import pangaea as pg

FUNCTION = "alpha*x - beta*log(sigmoid(gamma*x))"


class Between(nn.Module):
    """A layer, something done to its result, and an activation."""

    def __init__(self, layer: nn.Module, done: Callable[[Tensor], Tensor]) -> None:
        super().__init__()
        self.layer, self.done, self.relu = layer, done, nn.ReLU()

    def forward(self, x: Tensor) -> Tensor:
        return self.relu(self.done(self.layer(x))) + 0


LINEAR, IMAGES = (nn.Linear(5, 6), (2, 7, 5)), (nn.Conv2d(3, 6, 1), (2, 3, 4, 5))


@pytest.mark.parametrize(
    ("case", "done", "dim"),
    [
        (LINEAR, lambda x: x.transpose(1, 2), 1),
        (LINEAR, lambda x: torch.permute(input=x, dims=(0, 2, 1)), 1),
        (LINEAR, lambda x: x.mT, 1),
        (LINEAR, lambda x: x.transpose(1, 2).unsqueeze(-1), 1),
        (LINEAR, lambda x: x.transpose(1, 2).movedim(1, -1), -1),
        (LINEAR, lambda x: x.reshape(14, 6), -1),
        (IMAGES, lambda x: x.permute(0, 2, 3, 1), -1),
        (IMAGES, lambda x: x.swapaxes(1, 2), 2),
        (IMAGES, lambda x: x.flatten(2), 1),
        (IMAGES, lambda x: x.flatten(2).transpose(1, 2), -1),
        (IMAGES, lambda x: x.mean((2, 3)), 1),
    ],
)
def test_channels_are_followed_to_where_they_are_moved(
    case: tuple[nn.Module, tuple[int, ...]], done: Callable[[Tensor], Tensor], dim: int
) -> None:
    layer, shape = case
    report = pg.replace_activations(Between(layer, done), FUNCTION, example=torch.randn(shape))
    (row,) = report.replaced
    assert (row.channels, row.channel_dim, row.note) == (6, dim, "")


def test_channels_in_the_place_of_the_batch_are_not_believed() -> None:
    model = Between(nn.Linear(5, 6), lambda x: x.permute(2, 0, 1))
    (row,) = pg.replace_activations(model, FUNCTION, example=torch.randn(2, 7, 5)).replaced
    assert "guessed" in row.note


class Gated(nn.Module):
    """A gated unit whose halves come from one layer."""

    def __init__(self, function: nn.Module) -> None:
        super().__init__()
        self.both, self.out, self.function = nn.Linear(5, 12), nn.Linear(6, 2), function

    def forward(self, x: Tensor) -> Tensor:
        value, gate = self.both(x).chunk(2, -1)
        return self.out(value * self.function(gate))


@pytest.mark.parametrize("function", [nn.GELU(), nn.SiLU(), nn.Mish(), nn.ELU()])
def test_half_of_a_tensor_is_the_gate_of_any_function(function: nn.Module) -> None:
    """A half is not contiguous, and some kernels round it otherwise than its copy."""
    report = pg.replace_activations(Gated(function), FUNCTION, example=torch.randn(64, 3, 5))
    assert [(row.path, row.note) for row in report.replaced] == [
        ("function", "the gate of a gated unit")
    ]


class Scaled(nn.Module):
    """A function scaled by a sigmoid: that one is the gate."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second, self.silu = nn.Linear(5, 6), nn.Linear(5, 6), nn.SiLU()

    def forward(self, x: Tensor) -> Tensor:
        return self.silu(self.first(x)) * torch.sigmoid(self.second(x))


def test_of_a_function_and_a_sigmoid_the_sigmoid_is_the_gate() -> None:
    report = pg.replace_activations(Scaled(), FUNCTION, example=torch.randn(4, 5))
    assert [(row.path, row.note) for row in report.replaced] == [("silu", "")]
    assert [(row.path, row.why) for row in report.left] == [
        ("sigmoid", "a gate: something is multiplied by it")
    ]


class Halved(nn.Module):
    """torch's own gated unit, as a function and as a module."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second, self.glu = nn.Linear(5, 12), nn.Linear(6, 12), nn.GLU()

    def forward(self, x: Tensor) -> Tensor:
        return F.relu(self.glu(self.second(F.glu(self.first(x)))))


def test_a_gated_unit_in_one_call_is_named_among_what_is_left() -> None:
    report = pg.replace_activations(Halved(), FUNCTION, example=torch.randn(4, 5))
    assert [(row.path, row.before) for row in report.left] == [("glu", "GLU"), ("the model", "glu")]
    assert all("halves its channels" in row.why for row in report.left)


class Windows(nn.Module):
    """An activation of values that share memory."""

    def __init__(self) -> None:
        super().__init__()
        self.layer, self.gelu = nn.Linear(5, 6), nn.GELU()

    def forward(self, x: Tensor) -> Tensor:
        return self.gelu(self.layer(x).unfold(0, 2, 1)).sum((0, 2))


def test_values_that_share_memory_are_seen_too() -> None:
    assert len(pg.replace_activations(Windows(), FUNCTION, example=torch.randn(4, 5))) == 1


class Strays(nn.Module):
    """Activations that nothing registers: made in the forward, kept in a list."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = nn.Linear(5, 6), nn.Linear(6, 7)
        self.kept = [nn.GELU()]

    def forward(self, x: Tensor) -> Tensor:
        return self.kept[0](self.second(nn.ReLU(inplace=True)(self.first(x)))).sum(1)


def test_activations_that_nothing_registers_are_functions_of_who_calls_them() -> None:
    model, x = Strays(), torch.randn(4, 5)
    expected = model(x)
    report = pg.replace_activations(model, "relu", example=x, which=nn.ReLU)
    assert [(row.path, row.before) for row in report.replaced] == [("relu", "F.relu")]
    assert torch.equal(model(x), expected)
    report = pg.replace_activations(Strays(), FUNCTION, example=x)
    assert [(row.path, row.channels) for row in report.replaced] == [("relu", 6), ("gelu", 7)]


class Spoken(nn.Module):
    """Activations that are given their input by name, a slope besides, weights of the model's."""

    def __init__(self) -> None:
        super().__init__()
        self.layer, self.relu, self.leaky = nn.Linear(5, 6), nn.ReLU(), F.leaky_relu
        self.slope = nn.Parameter(torch.tensor([0.1]))

    def forward(self, x: Tensor) -> Tensor:
        x = self.leaky(self.relu(input=self.layer(x)), 0.1)
        return F.gelu(F.prelu(x, self.slope))


def test_what_takes_more_than_its_input_is_left_and_hides_nothing_else() -> None:
    model, x = Spoken(), torch.randn(4, 5)
    report = pg.replace_activations(model, FUNCTION, example=x)
    assert [row.path for row in report.replaced] == ["gelu"]
    assert {row.path: row.why for row in report.left} == {
        "relu": "it is called with more than its input, or by name",
        "leaky": "it is called with more than its input, or by name",
        "prelu": "its other arguments are computed in the model",
    }
    model(x).sum().backward()
    assert model.slope.grad is not None


class BNReLU(nn.BatchNorm1d):
    def forward(self, x: Tensor) -> Tensor:
        return F.relu(super().forward(x))


class BiasGELU(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.bias = nn.Parameter(torch.randn(6))

    def forward(self, x: Tensor) -> Tensor:
        return F.gelu(x + self.bias)


class StarReLU(nn.Module):
    """A function with two parameters of its own."""

    def __init__(self) -> None:
        super().__init__()
        self.scale, self.bias = nn.Parameter(torch.ones(1)), nn.Parameter(torch.zeros(1))

    def forward(self, x: Tensor) -> Tensor:
        return self.scale * F.relu(x) ** 2 + self.bias


def test_a_norm_or_a_bias_with_its_activation_stays() -> None:
    model = nn.Sequential(nn.Linear(5, 6), BNReLU(6), BiasGELU(), StarReLU())
    report = pg.replace_activations(model, FUNCTION, example=torch.randn(4, 5))
    assert [(row.path, row.before) for row in report.replaced] == [
        ("3", "StarReLU"),
        ("2.gelu", "F.gelu"),
    ]
    assert [(row.path, row.before) for row in report.left] == [("1", "relu")]
    assert isinstance(model[1], nn.BatchNorm1d)
    assert model[2].bias.shape == (6,)


def test_a_model_without_values_is_operated_on_by_its_shapes() -> None:
    with torch.device("meta"):
        model, x = nn.Sequential(nn.Linear(5, 6), nn.ReLU(), nn.Linear(6, 2)), torch.randn(4, 5)
    report = pg.replace_activations(model, FUNCTION, example=x)
    assert report.replaced[0].channels == 6
    assert model[1].alpha.is_meta

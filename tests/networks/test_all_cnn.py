import pytest
import torch
from torch import nn

from pangaea.networks import network
from pangaea.networks.all_cnn import halving
from tests.networks.conftest import Asked


@pytest.mark.parametrize(("classes", "total"), [(10, 1_369_738), (100, 1_387_108)])
def test_all_cnn_c_has_the_parameters_counted_by_hand(classes: int, total: int) -> None:
    weights = 9 * (3 * 96 + 2 * 96 * 96 + 96 * 192 + 3 * 192 * 192) + 192 * 192 + 192 * classes
    biases = 3 * 96 + 5 * 192 + classes
    model = network("all-cnn-c", lambda _: nn.ReLU(), classes=classes)
    assert weights + biases == total
    assert sum(parameter.numel() for parameter in model.parameters()) == total


def test_all_cnn_c_asks_for_eight_activations_the_last_on_the_class_scores(shapes: Asked) -> None:
    assert shapes("all-cnn-c", (3, 32, 32)) == [
        (96, 32, 32),
        (96, 32, 32),
        (192, 16, 16),
        (192, 16, 16),
        (192, 8, 8),
        (192, 8, 8),
        (192, 8, 8),
        (10, 8, 8),
    ]


def test_the_layers_run_in_the_order_of_the_papers_listing() -> None:
    model = network("all-cnn-c", lambda _: nn.SiLU(), classes=10, shape=(3, 8, 8))
    ran = []

    def record(module: nn.Module, _inputs: object, _output: object) -> None:
        if isinstance(module, nn.Conv2d):
            ran.append(f"{module.kernel_size[0]}x{module.out_channels}/{module.stride[0]}")
        elif isinstance(module, nn.SiLU | nn.Dropout):
            ran.append(type(module).__name__)

    for module in model.modules():
        module.register_forward_hook(record)
    model(torch.randn(1, 3, 8, 8))
    assert ran == [
        *("3x96/1", "SiLU", "3x96/1", "SiLU"),
        *("3x96/2", "Dropout"),  # no activation here
        *("3x192/1", "SiLU", "3x192/1", "SiLU"),
        *("3x192/2", "SiLU", "Dropout"),
        *("3x192/1", "SiLU", "1x192/1", "SiLU", "1x10/1", "SiLU"),
    ]


@pytest.mark.parametrize(
    ("size", "expected"),
    [
        # 1 to 16 in rows of four; a window starts at rows and columns 0 and 2.
        (4, [[1 + 2 + 3 + 5 + 6 + 7 + 9 + 10 + 11, 3 + 4 + 7 + 8 + 11 + 12],
             [9 + 10 + 11 + 13 + 14 + 15, 11 + 12 + 15 + 16]]),
        # 1 to 9 in rows of three; a window starts at rows and columns -1 and 1.
        (3, [[1 + 2 + 4 + 5, 2 + 3 + 5 + 6], [4 + 5 + 7 + 8, 5 + 6 + 8 + 9]]),
    ],
)  # fmt: skip
def test_a_strided_convolution_pads_as_keras_does(size: int, expected: list[list[int]]) -> None:
    layer = halving((1, size, size))
    layer[-1].weight.data.fill_(1)
    x = torch.arange(1.0, size * size + 1).reshape(1, 1, size, size)
    assert layer(x)[0, 0].tolist() == expected


def test_weights_are_glorot_uniform_and_biases_zero() -> None:
    model = network("all-cnn-c", lambda _: nn.ReLU(), classes=10)
    convolutions = [module for module in model.modules() if isinstance(module, nn.Conv2d)]
    assert len(convolutions) == 9
    for layer in convolutions:
        bound = (6 / ((layer.in_channels + layer.out_channels) * layer.kernel_size[0] ** 2)) ** 0.5
        weight = layer.weight.detach()
        assert 0.99 * bound < weight.abs().max() <= bound
        assert weight.std().item() == pytest.approx(bound / 3**0.5, rel=0.03)
        assert not layer.bias.any()

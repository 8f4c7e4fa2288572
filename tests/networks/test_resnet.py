import pytest
import torch
from torch import nn

from pangaea.activation.normalized import Normalized
from pangaea.networks import network
from pangaea.networks.layers import Features
from pangaea.networks.resnet import BasicBlock, Bottleneck
from tests.networks.conftest import Asked


def size(name: str, classes: int) -> int:
    with torch.device("meta"):
        model = network(name, lambda _: nn.ReLU(), classes=classes)
    return sum(parameter.numel() for parameter in model.parameters())


def test_resnet_v1_56_has_the_parameters_counted_by_hand() -> None:
    # n = 9: each stage has 18 convolutions, each followed by a batch norm.
    stem = 9 * 3 * 16 + 2 * 16
    first = 18 * (9 * 16 * 16 + 2 * 16)
    second = 9 * 16 * 32 + 17 * 9 * 32 * 32 + 18 * 2 * 32 + 16 * 32
    third = 9 * 32 * 64 + 17 * 9 * 64 * 64 + 18 * 2 * 64 + 32 * 64
    head = 64 * 100 + 100
    assert stem + first + second + third + head == 861_428
    assert size("resnet-v1-56", 100) == 861_428


@pytest.mark.parametrize(
    ("depth", "millions"), [(20, 0.27), (32, 0.46), (44, 0.66), (56, 0.85), (110, 1.7)]
)
def test_resnet_v1_has_about_the_parameters_of_he_et_al_table_6(
    depth: int, millions: float
) -> None:
    assert size(f"resnet-v1-{depth}", 10) / 1e6 == pytest.approx(millions, rel=0.025)


def test_resnet_v2_56_has_the_parameters_counted_by_hand() -> None:
    def branch(inputs: int, inner: int, outputs: int) -> int:
        convolutions = inputs * inner + 9 * inner * inner + inner * outputs
        return 2 * inputs + 2 * inner + 2 * inner + convolutions

    # n = 6: a block that changes the width and five that keep it, per stage.
    stem = 9 * 3 * 16 + 2 * 16
    unnormalized = -2 * 16
    first = branch(16, 16, 64) + unnormalized + 16 * 64 + 5 * branch(64, 16, 64)
    second = branch(64, 64, 128) + 64 * 128 + 5 * branch(128, 64, 128)
    third = branch(128, 128, 256) + 128 * 256 + 5 * branch(256, 128, 256)
    head = 2 * 256 + 256 * 100 + 100
    assert stem + first + second + third + head == 1_680_820
    assert size("resnet-v2-56", 100) == 1_680_820


@pytest.mark.parametrize("depth", [8, 20, 56])
def test_resnet_v1_has_one_activation_less_than_its_depth(shapes: Asked, depth: int) -> None:
    asked = shapes(f"resnet-v1-{depth}", (3, 16, 16))
    blocks = (depth - 2) // 6
    assert asked == (
        [(16, 16, 16)] * (1 + 2 * blocks) + [(32, 8, 8)] * 2 * blocks + [(64, 4, 4)] * 2 * blocks
    )
    assert len(asked) == depth - 1


@pytest.mark.parametrize("depth", [11, 20, 56])
def test_resnet_v2_has_one_activation_less_than_its_depth(shapes: Asked, depth: int) -> None:
    asked = shapes(f"resnet-v2-{depth}", (3, 16, 16))
    blocks = (depth - 2) // 9

    def stage(inner: int, size: int, inputs: Features, outputs: int) -> list[Features]:
        inside = [(inner, size, size)] * 2
        return [inputs, *inside, *(blocks - 1) * [(outputs, size, size), *inside]]

    # The stem's activation takes the place of the first block's first.
    assert asked == [
        *stage(16, 16, (16, 16, 16), 64),
        *stage(64, 8, (64, 16, 16), 128),
        *stage(128, 4, (128, 8, 8), 256),
        (256, 4, 4),
    ]
    assert len(asked) == depth - 1


@pytest.mark.parametrize(("inputs", "stride"), [(4, 1), (2, 2)])
def test_a_basic_block_activates_after_the_addition(inputs: int, stride: int) -> None:
    block = BasicBlock(lambda _: nn.SiLU(), (inputs, 6, 6), 4, stride)
    block.end.norm.weight.data.zero_()
    block.end.norm.bias.data.zero_()
    x = torch.randn(3, inputs, 6, 6)
    carried = x
    if inputs != 4:
        carried = torch.einsum("oi,bihw->bohw", block.shortcut.weight[:, :, 0, 0], x)[..., ::2, ::2]
    torch.testing.assert_close(block(x), nn.SiLU()(carried))


def test_a_bottleneck_projects_its_input_as_it_came_and_adds_without_activation() -> None:
    block = Bottleneck(lambda _: nn.SiLU(), (4, 6, 6), 4, 8, 2, preactivation=True)
    block.branch[-1].weight.data.zero_()
    x = torch.randn(3, 4, 6, 6)
    projected = torch.einsum("oi,bihw->bohw", block.shortcut.weight[:, :, 0, 0], x)
    torch.testing.assert_close(block(x), projected[..., ::2, ::2])


def test_only_the_very_first_bottleneck_starts_without_a_preactivation() -> None:
    model = network("resnet-v2-20", lambda _: nn.SiLU(), classes=10)
    starts = [type(m.branch[0]) for m in model.modules() if isinstance(m, Bottleneck)]
    assert starts == [nn.Conv2d] + 5 * [Normalized]


def test_a_bottleneck_halves_the_size_in_its_first_convolution() -> None:
    model = network("resnet-v2-11", lambda _: nn.SiLU(), classes=10)
    blocks = [m for m in model.modules() if isinstance(m, Bottleneck)]
    convolutions = [[c for c in b.branch if isinstance(c, nn.Conv2d)] for b in blocks]
    assert [[(c.kernel_size[0], c.stride[0]) for c in row] for row in convolutions] == [
        [(1, 1), (3, 1), (1, 1)],
        [(1, 2), (3, 1), (1, 1)],
        [(1, 2), (3, 1), (1, 1)],
    ]

import pytest
import torch
from torch import nn

from pangaea.activation.normalized import Normalized
from pangaea.networks import network
from pangaea.networks.wide_resnet import WideBlock
from tests.networks.conftest import Asked


def size(model: nn.Module) -> int:
    return sum(parameter.numel() for parameter in model.parameters())


def block(inputs: int, outputs: int) -> int:
    norms = 2 * inputs + 2 * outputs
    projection = inputs * outputs if inputs != outputs else 0
    return norms + 9 * inputs * outputs + 9 * outputs * outputs + projection


def test_wrn_10_4_has_the_parameters_counted_by_hand() -> None:
    stem = 9 * 3 * 16
    stages = block(16, 64) + block(64, 128) + block(128, 256)
    head = 2 * 256 + 256 * 100 + 100
    assert stem + stages + head == 1_221_940
    assert size(network("wrn-10-4", lambda _: nn.ReLU(), classes=100)) == 1_221_940


def test_wrn_16_8_has_the_parameters_counted_by_hand() -> None:
    stem = 9 * 3 * 16
    first = block(16, 128) + block(128, 256) + block(256, 512)
    second = block(128, 128) + block(256, 256) + block(512, 512)
    head = 2 * 512 + 512 * 100 + 100
    assert stem + first + second + head == 11_007_540
    with torch.device("meta"):
        assert size(network("wrn-16-8", lambda _: nn.ReLU(), classes=100)) == 11_007_540


def test_widening_by_one_keeps_the_first_stage_free_of_projections() -> None:
    head = 2 * 64 + 64 * 10 + 10
    expected = 9 * 3 * 16 + block(16, 16) + block(16, 32) + block(32, 64) + head
    assert size(network("wrn-10-1", lambda _: nn.ReLU(), classes=10)) == expected


def test_wrn_10_4_asks_for_two_activations_a_block_and_a_last_one(shapes: Asked) -> None:
    assert shapes("wrn-10-4", (3, 32, 32)) == [
        (16, 32, 32),
        (64, 32, 32),
        (64, 32, 32),
        (128, 16, 16),
        (128, 16, 16),
        (256, 8, 8),
        (256, 8, 8),
    ]


@pytest.mark.parametrize("blocks", [1, 2, 3])
def test_a_wrn_has_six_activations_per_n_and_one(shapes: Asked, blocks: int) -> None:
    assert len(shapes(f"wrn-{6 * blocks + 4}-1", (3, 8, 8))) == 2 * 3 * blocks + 1


def test_where_the_width_changes_the_preactivation_feeds_the_shortcut() -> None:
    wide = WideBlock(lambda _: nn.SiLU(), (4, 6, 6), 8, 2)
    wide.branch[-1].weight.data.zero_()
    x = torch.randn(3, 4, 6, 6)
    y = wide(x)
    assert y.shape == (3, 8, 3, 3)
    normal = (x - x.mean((0, 2, 3), keepdim=True)) / x.std((0, 2, 3), correction=0, keepdim=True)
    expected = torch.einsum("oi,bihw->bohw", wide.projection.weight[:, :, 0, 0], nn.SiLU()(normal))
    torch.testing.assert_close(y, expected[:, :, ::2, ::2], atol=1e-4, rtol=1e-4)


def test_where_the_width_stays_the_shortcut_is_the_input_itself() -> None:
    wide = WideBlock(lambda _: nn.SiLU(), (4, 6, 6), 4, 1)
    wide.branch[-1].weight.data.zero_()
    x = torch.randn(3, 4, 6, 6)
    assert torch.equal(wide(x), x)


def test_dropout_stands_after_batch_norm_and_activation_of_a_block() -> None:
    kinds = [type(layer) for layer in WideBlock(lambda _: nn.SiLU(), (4, 6, 6), 8, 2).branch]
    assert kinds == [nn.Conv2d, Normalized, nn.Dropout, nn.Conv2d]

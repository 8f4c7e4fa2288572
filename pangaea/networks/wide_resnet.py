"""Wide residual networks (Zagoruyko & Komodakis, arXiv:1605.07146)."""

from torch import Tensor, nn

from pangaea.errors import PangaeaError
from pangaea.networks.layers import (
    ActivationFactory,
    Features,
    GlobalAveragePool,
    blocks_per_stage,
    convolution,
    linear,
    named,
    normalized,
    stages,
    strided,
)

DROPOUT = 0.3


class WideBlock(nn.Module):
    """A basic block whose preactivation feeds the shortcut too where the width changes."""

    def __init__(
        self, activation: ActivationFactory, inputs: Features, channels: int, stride: int
    ) -> None:
        super().__init__()
        self.preactivation = normalized(inputs, activation)
        self.branch = nn.Sequential(
            convolution(inputs[0], channels, 3, stride),
            normalized(strided(inputs, channels, stride), activation),
            # After the batch norm: before it, its statistics in training and in use differ.
            nn.Dropout(DROPOUT),
            convolution(channels, channels, 3),
        )
        changes = inputs[0] != channels
        self.projection = convolution(inputs[0], channels, 1, stride) if changes else None

    def forward(self, x: Tensor) -> Tensor:
        y: Tensor = self.preactivation(x)
        shortcut: Tensor = x if self.projection is None else self.projection(y)
        z: Tensor = shortcut + self.branch(y)
        return z


@named(r"wrn-([0-9]{1,4})-([0-9]{1,2})", "wrn-10-4", "wrn-16-8", recipe="wrn")
def wide_resnet(
    depth: int, widening: int, activation: ActivationFactory, *, classes: int, shape: Features
) -> nn.Module:
    """WRN-depth-widening: three stages of (depth - 4) / 6 blocks, 16, 32 and 64 times widened."""
    blocks = blocks_per_stage("WRN", depth, layers=6, others=4)
    if widening < 1:
        raise PangaeaError(f"a WRN's widening factor is at least 1, got {widening}")
    features = strided(shape, 16, 1)
    layers: list[nn.Module] = [convolution(shape[0], 16, 3)]
    for channels, stride in stages(16 * widening, 32 * widening, 64 * widening, blocks=blocks):
        layers.append(WideBlock(activation, features, channels, stride))
        features = strided(features, channels, stride)
    return nn.Sequential(
        *layers,
        normalized(features, activation),
        GlobalAveragePool(),
        linear(features[0], classes),
    )

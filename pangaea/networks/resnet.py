"""Residual networks for small images, v1 and v2, as in Keras's CIFAR example.

v1: He et al., arXiv:1512.03385. v2, with preactivation: He et al., arXiv:1603.05027.
"""

from torch import Tensor, nn

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


class BasicBlock(nn.Module):
    """v1: two 3×3 convolutions, a batch norm after each, and the shortcut before the activation."""

    def __init__(
        self, activation: ActivationFactory, inputs: Features, channels: int, stride: int
    ) -> None:
        super().__init__()
        outputs = strided(inputs, channels, stride)
        self.branch = nn.Sequential(
            convolution(inputs[0], channels, 3, stride),
            normalized(outputs, activation),
            convolution(channels, channels, 3),
        )
        self.shortcut = shortcut(inputs, channels, stride)
        self.end = normalized(outputs, activation)

    def forward(self, x: Tensor) -> Tensor:
        y: Tensor = self.end(self.branch(x), self.shortcut(x))
        return y


class Bottleneck(nn.Module):
    """v2: 1×1, 3×3 and 1×1 convolutions, each after a batch norm and an activation."""

    def __init__(
        self,
        activation: ActivationFactory,
        inputs: Features,
        inner: int,
        channels: int,
        stride: int,
        *,
        preactivation: bool,
    ) -> None:
        super().__init__()
        features = strided(inputs, inner, stride)
        self.branch = nn.Sequential(
            *([normalized(inputs, activation)] if preactivation else ()),
            convolution(inputs[0], inner, 1, stride),
            normalized(features, activation),
            convolution(inner, inner, 3),
            normalized(features, activation),
            convolution(inner, channels, 1),
        )
        self.shortcut = shortcut(inputs, channels, stride)

    def forward(self, x: Tensor) -> Tensor:
        y: Tensor = self.shortcut(x) + self.branch(x)
        return y


def shortcut(inputs: Features, channels: int, stride: int) -> nn.Module:
    """The input itself, or its 1×1 projection where the number of channels changes."""
    if inputs[0] == channels:
        return nn.Identity()
    return convolution(inputs[0], channels, 1, stride)


@named(
    r"resnet-v1-([0-9]{1,4})",
    *(f"resnet-v1-{n}" for n in (20, 32, 44, 56, 110)),
    recipe="resnet-v1",
)
def resnet_v1(
    depth: int, activation: ActivationFactory, *, classes: int, shape: Features
) -> nn.Module:
    """ResNet-v1: three stages of (depth - 2) / 6 basic blocks with 16, 32 and 64 channels."""
    blocks = blocks_per_stage("ResNet-v1", depth, layers=6, others=2)
    features = strided(shape, 16, 1)
    layers: list[nn.Module] = [convolution(shape[0], 16, 3), normalized(features, activation)]
    for channels, stride in stages(16, 32, 64, blocks=blocks):
        layers.append(BasicBlock(activation, features, channels, stride))
        features = strided(features, channels, stride)
    return nn.Sequential(*layers, GlobalAveragePool(), linear(features[0], classes))


@named(r"resnet-v2-([0-9]{1,4})", "resnet-v2-56", "resnet-v2-110", recipe="resnet-v2")
def resnet_v2(
    depth: int, activation: ActivationFactory, *, classes: int, shape: Features
) -> nn.Module:
    """ResNet-v2: three stages of (depth - 2) / 9 bottlenecks with 64, 128 and 256 channels."""
    blocks = blocks_per_stage("ResNet-v2", depth, layers=9, others=2)
    widths = {16: 64, 64: 128, 128: 256}  # inside a bottleneck: at its output
    features = strided(shape, 16, 1)
    stem = nn.Sequential(convolution(shape[0], 16, 3), normalized(features, activation))
    body: list[nn.Module] = []
    for inner, stride in stages(*widths, blocks=blocks):
        channels = widths[inner]
        # The stem has just activated what the very first block reads.
        body.append(
            Bottleneck(activation, features, inner, channels, stride, preactivation=bool(body))
        )
        features = strided(features, channels, stride)
    return nn.Sequential(
        stem,
        *body,
        normalized(features, activation),
        GlobalAveragePool(),
        linear(features[0], classes),
    )

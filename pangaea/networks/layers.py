"""What the networks are made of: layers as Keras's CIFAR example initialises them, and stages."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, TypeVar

from torch import Tensor, nn

from pangaea.activation.normalized import Normalized
from pangaea.errors import PangaeaError

Features = tuple[int, ...]

# Called once per activation with the shape of the features there: (C, H, W) or (C, L).
ActivationFactory = Callable[[Features], nn.Module]

_Builder = TypeVar("_Builder", bound=Callable[..., nn.Module])


@dataclass(frozen=True)
class Network:
    """A network by its name, whose digits are its builder's first arguments."""

    pattern: str
    examples: tuple[str, ...]  # the names that are listed
    recipe: str
    axes: tuple[str, ...]  # of its inputs
    build: Callable[..., nn.Module]


def named(
    pattern: str,
    *examples: str,
    recipe: str,
    axes: tuple[str, ...] = ("channels", "height", "width"),
) -> Callable[[_Builder], _Builder]:
    """Make a builder known under names such as these."""

    def decorate(build: _Builder) -> _Builder:
        known: Any = build
        known.network = Network(pattern, examples or (pattern,), recipe, axes, build)
        return build

    return decorate


# PyTorch's defaults, which reproduced the paper's WRN-10-4.
BATCH_NORM_EPSILON = 1e-5
BATCH_NORM_MOMENTUM = 0.1


def convolution(inputs: int, outputs: int, kernel: int, stride: int = 1) -> nn.Conv2d:
    """A He-normal convolution without bias, centred on every stride-th pixel."""
    # A bias would be redundant wherever this stands: it adds a constant to a channel, and the next
    # batch norm subtracts it, at once or after a ride along the residual stream, which in WRN and
    # ResNet-v2 only batch norms and 1×1 projections read. In ResNet-v1 the projection's meets the
    # shift of the branch's last batch norm.
    layer = nn.Conv2d(inputs, outputs, kernel, stride, padding=kernel // 2, bias=False)
    nn.init.kaiming_normal_(layer.weight, nonlinearity="relu")
    return layer


def normalized(shape: Features, activation: ActivationFactory) -> Normalized:
    """Batch norm, then the activation, on features of this shape."""
    norm = nn.BatchNorm2d if len(shape) == 3 else nn.BatchNorm1d
    layer = norm(shape[0], eps=BATCH_NORM_EPSILON, momentum=BATCH_NORM_MOMENTUM)
    return Normalized(layer, activation(shape))


class GlobalAveragePool(nn.Module):
    """The mean of every channel of an image."""

    def forward(self, x: Tensor) -> Tensor:
        return x.mean(dim=(2, 3))


def linear(inputs: int, classes: int) -> nn.Linear:
    """A He-normal linear layer with zero bias."""
    layer = nn.Linear(inputs, classes)
    nn.init.kaiming_normal_(layer.weight, nonlinearity="relu")
    nn.init.zeros_(layer.bias)
    return layer


def strided(shape: Features, channels: int, stride: int) -> Features:
    """The shape of a convolution's output, given that of its input."""
    return (channels, *(-(-size // stride) for size in shape[1:]))


def blocks_per_stage(kind: str, depth: int, *, layers: int, others: int) -> int:
    """The n of a depth that has to be layers·n + others: the number of blocks in a stage."""
    blocks, rest = divmod(depth - others, layers)
    if rest or blocks < 1:
        nearest = max(1, round((depth - others) / layers)) * layers + others
        raise PangaeaError(
            f"a {kind}'s depth is {layers}n + {others}, got {depth}; the nearest is {nearest}"
        )
    return blocks


def stages(*widths: int, blocks: int) -> Iterator[tuple[int, int]]:
    """The width and stride of every block: each stage but the first begins by halving the size."""
    for stage, width in enumerate(widths):
        for block in range(blocks):
            yield width, 2 if stage > 0 and block == 0 else 1

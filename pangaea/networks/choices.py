"""Choices in a network that the paper leaves open: ours by default, each other one by a field."""

import math
from dataclasses import dataclass

import torch.nn.functional as F
from torch import Tensor, nn

from pangaea.errors import UnknownNameError
from pangaea.networks.layers import BATCH_NORM_EPSILON, BATCH_NORM_MOMENTUM
from pangaea.networks.resnet import BasicBlock, Bottleneck

SHORTCUTS = ("projection", "padded")
# Of a normal distribution that is cut off at two standard deviations.
_CUT_OFF = 0.87962566103423978


@dataclass(frozen=True, kw_only=True)
class Choices:
    """What is built where the paper is silent, or points at an original set-up."""

    norm_momentum: float = 1 - BATCH_NORM_MOMENTUM  # the share that is kept, as Keras counts it
    norm_epsilon: float = BATCH_NORM_EPSILON
    biases: bool = False  # of convolutions before a batch norm
    truncated: bool = False  # initial weights beyond two standard deviations are drawn again
    shortcut: str = "projection"  # where a ResNet's width changes; padded: zeros (option A)

    def __post_init__(self) -> None:
        if self.shortcut not in SHORTCUTS:
            raise UnknownNameError("shortcut", self.shortcut, SHORTCUTS)

    def apply(self, model: nn.Module) -> nn.Module:
        """The model, changed in place; nothing is drawn for what is the default."""
        for module in [*model.modules()]:
            if isinstance(module, nn.BatchNorm1d | nn.BatchNorm2d):
                module.momentum, module.eps = 1 - self.norm_momentum, self.norm_epsilon
            if isinstance(module, BasicBlock | Bottleneck) and self.shortcut == "padded":
                module.shortcut = _padded(module.shortcut)
        for module in model.modules():
            if isinstance(module, nn.Conv2d) and self.biases and module.bias is None:
                module.bias = nn.Parameter(module.weight.new_zeros(module.out_channels))
            if isinstance(module, nn.Conv2d | nn.Linear) and self.truncated:
                _truncate(module.weight)
        return model


AS_HERE = Choices()


class Padded(nn.Module):
    """Option A: every stride-th pixel, and zeros for the channels that are missing."""

    def __init__(self, channels: int, stride: int) -> None:
        super().__init__()
        self.channels, self.stride = channels, stride

    def forward(self, x: Tensor) -> Tensor:
        fewer = x[:, :, :: self.stride, :: self.stride]
        return F.pad(fewer, (0, 0, 0, 0, 0, self.channels - x.shape[1]))


def _padded(shortcut: nn.Module) -> nn.Module:
    if not isinstance(shortcut, nn.Conv2d):
        return shortcut
    return Padded(shortcut.out_channels, shortcut.stride[0])


def _truncate(weight: Tensor) -> None:
    """He-normal as Keras draws it: cut off, and as wide as if it were not."""
    sd = math.sqrt(2 / weight[0].numel()) / _CUT_OFF
    nn.init.trunc_normal_(weight, std=sd, a=-2 * sd, b=2 * sd)

"""The networks that functions are judged in, each built around an activation of one's choice."""

import re
from collections.abc import Callable

from torch import nn

from pangaea.errors import PangaeaError, UnknownNameError
from pangaea.networks.all_cnn import all_cnn_c
from pangaea.networks.layers import ActivationFactory, Shape
from pangaea.networks.resnet import resnet_v1, resnet_v2
from pangaea.networks.small_cnn import small_cnn
from pangaea.networks.wide_resnet import wide_resnet

__all__ = ["ActivationFactory", "network", "networks"]

# The digits of a name are the builder's first arguments.
_BUILDERS: dict[str, Callable[..., nn.Module]] = {
    r"wrn-([0-9]{1,4})-([0-9]{1,2})": wide_resnet,
    r"resnet-v1-([0-9]{1,4})": resnet_v1,
    r"resnet-v2-([0-9]{1,4})": resnet_v2,
    r"all-cnn-c": all_cnn_c,
    r"small-cnn": small_cnn,
}


def networks() -> tuple[str, ...]:
    """The paper's networks and the default one; any other valid depth or width works too."""
    return (
        *("wrn-10-4", "wrn-16-8"),
        *(f"resnet-v1-{depth}" for depth in (20, 32, 44, 56, 110)),
        *("resnet-v2-56", "resnet-v2-110"),
        *("all-cnn-c", "small-cnn"),
    )


def network(
    name: str, activation: ActivationFactory, *, classes: int, shape: Shape = (3, 32, 32)
) -> nn.Module:
    """The network of this name, for inputs of this shape."""
    for pattern, build in _BUILDERS.items():
        if match := re.fullmatch(pattern, name):
            axes = "(channels, length)" if build is small_cnn else "(channels, height, width)"
            if len(shape) != len(axes.split()):
                raise PangaeaError(f"the inputs of {name} have shape {axes}, got {shape}")
            return build(*map(int, match.groups()), activation, classes=classes, shape=shape)
    raise UnknownNameError("network", name, networks())

"""The networks that functions are judged in, each built around an activation of one's choice.

A network is a function of a file in this folder, decorated with `named`.
"""

import re
from functools import cache

from torch import nn

from pangaea import scanning
from pangaea.errors import PangaeaError, UnknownNameError
from pangaea.networks.layers import ActivationFactory, Features, Network

__all__ = ["ActivationFactory", "Network", "network", "networks", "recipe_of", "takes"]


@cache
def _known() -> tuple[Network, ...]:
    modules = scanning.modules(__name__)
    declared = (getattr(value, "network", None) for m in modules for value in vars(m).values())
    return tuple(dict.fromkeys(known for known in declared if isinstance(known, Network)))


def networks() -> tuple[str, ...]:
    """The paper's networks and the default one; any other valid depth or width works too."""
    return tuple(name for known in _known() for name in known.examples)


def recipe_of(name: str) -> str:
    """Which recipe a network is trained with."""
    return _matching(name)[0].recipe


def takes(name: str, shape: Features) -> bool:
    """Are inputs of this shape what the network is for?"""
    return len(shape) == len(_matching(name)[0].axes)


def network(
    name: str, activation: ActivationFactory, *, classes: int, shape: Features = (3, 32, 32)
) -> nn.Module:
    """The network of this name, for inputs of this shape."""
    known, digits = _matching(name)
    if not takes(name, shape):
        raise PangaeaError(
            f"the inputs of {name} have shape ({', '.join(known.axes)}), got {shape}"
        )
    return known.build(*digits, activation, classes=classes, shape=shape)


def _matching(name: str) -> tuple[Network, tuple[int, ...]]:
    for known in _known():
        if match := re.fullmatch(known.pattern, name):
            return known, tuple(map(int, match.groups()))
    raise UnknownNameError("network", name, networks())

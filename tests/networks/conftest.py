from collections.abc import Callable

import pytest
from torch import nn

from pangaea.networks import network
from pangaea.networks.layers import Shape

Asked = Callable[[str, Shape], list[Shape]]


@pytest.fixture
def shapes() -> Asked:
    """The feature shapes a network asks activations for, in order."""

    def ask(name: str, shape: Shape) -> list[Shape]:
        asked: list[Shape] = []

        def activation(features: Shape) -> nn.Module:
            asked.append(features)
            return nn.ReLU()

        network(name, activation, classes=10, shape=shape)
        return asked

    return ask

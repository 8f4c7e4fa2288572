from collections.abc import Callable

import pytest
from torch import nn

from pangaea.networks import network
from pangaea.networks.layers import Features

Asked = Callable[[str, Features], list[Features]]


@pytest.fixture
def shapes() -> Asked:
    """The feature shapes a network asks activations for, in order."""

    def ask(name: str, shape: Features) -> list[Features]:
        asked: list[Features] = []

        def activation(features: Features) -> nn.Module:
            asked.append(features)
            return nn.ReLU()

        network(name, activation, classes=10, shape=shape)
        return asked

    return ask

import pytest
import torch
from torch import nn

from pangaea.networks import network

torch.set_num_threads(1)  # two processes with two threads each ran up to 60 times slower


@pytest.fixture(autouse=True)
def seeded():
    torch.manual_seed(0)


@pytest.fixture
def shapes():
    """The feature shapes a network asks activations for, in order."""

    def ask(name, shape):
        asked = []
        network(name, lambda s: asked.append(s) or nn.ReLU(), classes=10, shape=shape)
        return asked

    return ask

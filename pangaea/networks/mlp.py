"""A multilayer perceptron without norm layers: its gain has to be right from the start."""

import math

from torch import nn

from pangaea.networks.layers import ActivationFactory


def mlp(
    activation: ActivationFactory, inputs: int, widths: tuple[int, ...], outputs: int, gain: float
) -> nn.Sequential:
    """Linear layers of these widths, an activation after each, and a linear one at the end.

    Inputs have a standard deviation near 1, and with the function's own `gain` so has every layer.
    """
    layers: list[nn.Module] = []
    before, scale = inputs, 1.0
    for width in widths:
        layers += [linear(before, width, scale), activation((width,))]
        before, scale = width, gain
    return nn.Sequential(*layers, linear(before, outputs, scale))


def linear(inputs: int, outputs: int, gain: float) -> nn.Linear:
    """A linear layer whose outputs are `gain` times as large as its inputs, without bias yet."""
    layer = nn.Linear(inputs, outputs)
    nn.init.normal_(layer.weight, std=gain / math.sqrt(inputs))
    nn.init.zeros_(layer.bias)
    return layer

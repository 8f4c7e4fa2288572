"""The network of the default task: five 1-D convolutions that train in seconds on one core.

They are written as 2-D convolutions of height 1, which on the CPU are a third faster with channels
last in memory.
"""

from torch import nn

from pangaea.networks.convolutions import Convolution
from pangaea.networks.layers import ActivationFactory, Features, linear, named, normalized

CHANNELS = 16
# Halving early costs half the time and leaves room for a better function. On MNIST-1D, ReLU and
# αx - β·log σ(γx) reach 69.5 and 78.2 with these strides, 87.8 and 90.3 without any (5 seeds).
STRIDES = (2, 2, 2, 1, 1)


@named("small-cnn", recipe="small-cnn", axes=("channels", "length"))
def small_cnn(activation: ActivationFactory, *, classes: int, shape: Features) -> nn.Module:
    """Five convolutions, each with batch norm and activation, and a linear layer."""
    channels, length = shape
    features: Features = (channels, 1, length)
    layers: list[nn.Module] = [nn.Unflatten(2, (1, length))]
    for stride in STRIDES:
        # No bias: the batch norm that follows would subtract it.
        layer = Convolution(features[0], CHANNELS, width=3, stride=stride)
        nn.init.kaiming_normal_(layer.weight, nonlinearity="relu")
        features = (CHANNELS, 1, -(-features[2] // stride))
        layers += [layer, normalized(features, activation)]
    return nn.Sequential(*layers, nn.Flatten(), linear(CHANNELS * features[2], classes))

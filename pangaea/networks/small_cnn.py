"""The network of the default task: five 1-D convolutions that train in seconds on one core."""

from torch import nn

from pangaea.networks.layers import ActivationFactory, Shape, linear, normalized, strided

CHANNELS = 16
# Halving early costs half the time and leaves room for a better function. On MNIST-1D, ReLU and
# αx - β·log σ(γx) reach 69.5 and 78.2 with these strides, 87.8 and 90.3 without any (5 seeds).
STRIDES = (2, 2, 2, 1, 1)


def small_cnn(activation: ActivationFactory, *, classes: int, shape: Shape) -> nn.Module:
    """Five convolutions, each with batch norm and activation, and a linear layer."""
    features = shape
    layers: list[nn.Module] = []
    for stride in STRIDES:
        # No bias: the batch norm that follows would subtract it.
        layer = nn.Conv1d(features[0], CHANNELS, 3, stride, padding=1, bias=False)
        nn.init.kaiming_normal_(layer.weight, nonlinearity="relu")
        features = strided(features, CHANNELS, stride)
        layers += [layer, *normalized(activation, features)]
    channels, length = features
    return nn.Sequential(*layers, nn.Flatten(), linear(channels * length, classes))

"""All-CNN-C (Springenberg et al., arXiv:1412.6806), as the paper's appendix lists it."""

from torch import nn

from pangaea.networks.layers import ActivationFactory, Features, GlobalAveragePool, named, strided

DROPOUT = 0.5


def convolution(inputs: int, outputs: int, kernel: int) -> nn.Conv2d:
    """A convolution that keeps the size, initialised as Keras does by default."""
    return glorot(nn.Conv2d(inputs, outputs, kernel, padding=kernel // 2))


def halving(inputs: Features) -> nn.Sequential:
    """A 3×3 convolution of stride 2 with Keras's 'same' padding."""
    channels, height, width = inputs
    # 'same' puts the odd row or column last: nothing before and one after where the size is even.
    padding = nn.ZeroPad2d((width % 2, 1, height % 2, 1))
    return nn.Sequential(padding, glorot(nn.Conv2d(channels, channels, 3, stride=2)))


def glorot(layer: nn.Conv2d) -> nn.Conv2d:
    """The layer, Glorot-uniform and with zero bias: without batch norm, this matters."""
    nn.init.xavier_uniform_(layer.weight)
    assert layer.bias is not None
    nn.init.zeros_(layer.bias)
    return layer


@named("all-cnn-c", recipe="all-cnn-c")
def all_cnn_c(activation: ActivationFactory, *, classes: int, shape: Features) -> nn.Module:
    """All-CNN-C, with no activation after the first strided convolution, as listed."""
    whole = strided(shape, 96, 1)
    half = strided(whole, 192, 2)
    quarter = strided(half, 192, 2)
    return nn.Sequential(
        convolution(shape[0], 96, 3),
        activation(whole),
        convolution(96, 96, 3),
        activation(whole),
        halving(whole),
        nn.Dropout(DROPOUT),
        convolution(96, 192, 3),
        activation(half),
        convolution(192, 192, 3),
        activation(half),
        halving(half),
        activation(quarter),
        nn.Dropout(DROPOUT),
        convolution(192, 192, 3),
        activation(quarter),
        convolution(192, 192, 1),
        activation(quarter),
        convolution(192, classes, 1),
        activation(strided(quarter, classes, 1)),
        GlobalAveragePool(),
    )

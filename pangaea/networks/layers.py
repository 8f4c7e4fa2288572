"""The layers the networks are made of, initialised as in Keras's CIFAR example."""

from collections.abc import Callable

from torch import Tensor, nn

from pangaea.errors import PangaeaError

Shape = tuple[int, ...]
ActivationFactory = Callable[[Shape], nn.Module]
"""Called once per activation with the features' shape there, (C, H, W) or (C, L)."""

# PyTorch's defaults, which reproduced the paper's WRN-10-4.
BATCH_NORM_EPSILON = 1e-5
BATCH_NORM_MOMENTUM = 0.1


def convolution(inputs: int, outputs: int, kernel: int, stride: int = 1) -> nn.Conv2d:
    """A He-normal convolution without bias, padded so that its stride divides the size."""
    # Every bias would be redundant. A constant per channel is subtracted by the batch norm that
    # follows: at once, or after riding the residual stream, which only batch norms and 1×1
    # projections (constant to constant) read. In ResNet-v1 activations read the stream, but the
    # projection adds to a branch that ends in a batch norm, whose shift says the same.
    layer = nn.Conv2d(inputs, outputs, kernel, stride, padding=kernel // 2, bias=False)
    nn.init.kaiming_normal_(layer.weight, nonlinearity="relu")
    return layer


def normalized(activation: ActivationFactory, shape: Shape) -> nn.Sequential:
    """Batch norm, then the activation, on features of this shape."""
    norm = nn.BatchNorm2d if len(shape) == 3 else nn.BatchNorm1d
    return nn.Sequential(
        norm(shape[0], eps=BATCH_NORM_EPSILON, momentum=BATCH_NORM_MOMENTUM), activation(shape)
    )

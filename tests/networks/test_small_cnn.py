import torch
from torch import nn

from pangaea.networks import network
from tests.networks.conftest import Asked


def test_the_small_cnn_has_the_parameters_counted_by_hand() -> None:
    convolutions = 3 * 1 * 16 + 4 * 3 * 16 * 16
    norms = 5 * 2 * 16
    head = 16 * 5 * 10 + 10
    model = network("small-cnn", lambda _: nn.ReLU(), classes=10, shape=(1, 40))
    assert convolutions + norms + head == 4_090
    assert sum(parameter.numel() for parameter in model.parameters()) == 4_090


def test_the_small_cnn_asks_for_five_activations(shapes: Asked) -> None:
    assert shapes("small-cnn", (1, 40)) == [(16, 1, n) for n in (20, 10, 5, 5, 5)]


def test_the_small_cnn_tells_where_in_the_signal_a_feature_is() -> None:
    model = network("small-cnn", lambda _: nn.ReLU(), classes=10, shape=(1, 40)).eval()
    x = torch.zeros(1, 1, 40)
    x[..., 4:12] = 1
    assert not torch.allclose(model(x), model(x.roll(16, dims=-1)), atol=1e-3)

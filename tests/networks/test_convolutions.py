"""Convolutions along one dimension: torch's, whoever computes them."""

import pytest
import torch
import torch.nn.functional as F

from pangaea.networks import convolutions
from pangaea.networks.convolutions import Convolution

# Inputs, outputs, length, width, stride, batch.
CASES = [
    (16, 16, 20, 3, 2, 100),
    (16, 16, 5, 3, 1, 7),
    (1, 16, 40, 3, 2, 3),
    (32, 16, 11, 5, 3, 2),
    (16, 48, 4, 1, 1, 2),
    (3, 16, 9, 3, 2, 2),
    (16, 16, 1, 3, 2, 2),
]
in_c = pytest.mark.skipif(convolutions._kernels() is None, reason="no C compiler is at hand")


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("layout", [torch.contiguous_format, torch.channels_last])
def test_values_and_gradients_are_right(case: tuple[int, ...], layout: torch.memory_format) -> None:
    inputs, outputs, length, width, stride, batch = case
    layer = Convolution(inputs, outputs, width, stride).to(memory_format=layout)  # type: ignore[call-overload]
    x = torch.randn(batch, inputs, 1, length).to(memory_format=layout)
    x.requires_grad_(inputs % 16 == 0)
    y = layer(x)
    wide = x.detach().double().requires_grad_(), layer.weight.detach().double().requires_grad_()
    want = F.conv2d(*wide, stride=(1, stride), padding=(0, width // 2))
    torch.testing.assert_close(y.double(), want, rtol=1e-5, atol=1e-5)
    gradient = torch.randn_like(y)
    y.backward(gradient)
    to_x, to_weight = torch.autograd.grad(want, wide, gradient.double())
    torch.testing.assert_close(layer.weight.grad.double(), to_weight, rtol=1e-5, atol=1e-4)
    if x.requires_grad:
        assert x.grad is not None
        torch.testing.assert_close(x.grad.double(), to_x, rtol=1e-5, atol=1e-5)


@in_c
def test_the_kernels_are_asked_wherever_they_can_do_it() -> None:
    layer, x = Convolution(16, 16, 3, 2), torch.randn(2, 16, 1, 8)
    assert layer._applies(x)
    assert not layer._applies(x.double())
    assert not layer._applies(torch.randn(2, 16, 2, 8))
    assert not Convolution(16, 10, 3, 1)._applies(x)
    first = Convolution(1, 16, 3, 2)
    assert first._applies(torch.randn(2, 1, 1, 8))
    assert not first._applies(torch.randn(2, 1, 1, 8, requires_grad=True))
    torch.set_num_threads(2)  # the next test has one again
    assert not layer._applies(x)
    torch.set_num_threads(1)
    with torch.autocast("cpu", torch.bfloat16):
        assert not layer._applies(x)
        assert layer(x).dtype == torch.bfloat16


def test_they_give_channels_last() -> None:
    y = Convolution(16, 16, 3, 1)(torch.randn(2, 16, 1, 8).to(memory_format=torch.channels_last))
    assert y.is_contiguous(memory_format=torch.channels_last)


def test_gradients_can_be_differentiated() -> None:
    layer, x = Convolution(16, 16, 3, 2), torch.randn(2, 16, 1, 6, requires_grad=True)

    def second(value: torch.Tensor) -> tuple[torch.Tensor, ...]:
        leaves = (x, layer.weight)
        firsts = torch.autograd.grad(value.square().sum(), leaves, create_graph=True)
        return torch.autograd.grad(sum(g.square().sum() for g in firsts), leaves)  # type: ignore[arg-type]

    plain = F.conv2d(x, layer.weight, stride=(1, 2), padding=(0, 1))
    torch.testing.assert_close(second(layer(x)), second(plain), rtol=1e-4, atol=1e-3)


def test_without_kernels_it_is_torchs(monkeypatch: pytest.MonkeyPatch) -> None:
    layer, x = Convolution(16, 16, 3, 2), torch.randn(2, 16, 1, 8)
    ours = layer(x)
    monkeypatch.setattr(convolutions, "_kernels", lambda: None)
    torch.testing.assert_close(layer(x), ours)

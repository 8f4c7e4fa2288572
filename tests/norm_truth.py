"""Batch norm and activation in one against float64: values, gradients, running statistics."""

import contextlib
import copy
from collections.abc import Iterator
from typing import NamedTuple
from unittest import mock

import torch
from torch import Tensor, nn

import pangaea as pg
from pangaea.activation.normalized import Normalized
from tests.kernel_truth import ROUNDING

A = "mul(logsigmoid(alpha*x), beta*asinh(x))"
NORMS = {2: nn.BatchNorm1d, 3: nn.BatchNorm1d, 4: nn.BatchNorm2d, 5: nn.BatchNorm3d}


class Case(NamedTuple):
    shape: tuple[int, ...]
    function: str = A
    scope: str = "channel"
    dtype: torch.dtype = torch.float32
    last: bool = False  # channels_last
    shortcut: bool = False


CASES = [
    Case((4, 16, 6, 5), last=True),
    Case((4, 16, 6, 5), last=True, shortcut=True),
    Case((4, 16, 8, 8)),
    Case((4, 16, 8, 8), shortcut=True, dtype=torch.bfloat16),
    Case((3, 70, 3, 3), last=True, dtype=torch.bfloat16),
    Case((3, 70, 3, 3), scope="layer"),
    Case((5, 7, 3, 3), "relu", last=True),
    Case((5, 7, 3, 3), "relu", shortcut=True),
    Case((2, 24, 5, 7), "tanh(x)", last=True, dtype=torch.float16),
    Case((2, 1, 5, 7), "alpha*swish(beta*x)"),
    Case((6, 3)),
    Case((3, 5, 9), "max(x, alpha*tanh(x))", "layer"),
    Case((2, 3, 2, 3, 2), last=True, shortcut=True),
    Case((33, 1, 1, 1), "relu"),
    Case((4, 16, 6, 5), "prelu", last=True, shortcut=True, dtype=torch.bfloat16),
    Case((3, 7, 4, 4), "splash", "layer"),
    Case((3, 7, 4, 4), "apl"),
]


def layer(case: Case, device: str) -> Normalized:
    """With weights, biases and parameters that differ from channel to channel."""
    torch.manual_seed(1)
    norm = NORMS[len(case.shape)](case.shape[1])
    nn.init.uniform_(norm.weight, 0.5, 2.0)
    nn.init.normal_(norm.bias)
    activation = pg.Activation(case.function, case.scope, case.shape[1:])  # type: ignore[arg-type]
    for parameter in activation.parameters():
        nn.init.uniform_(parameter, 0.5, 1.5)
    made = Normalized(norm, activation).to(device)
    made.fused = True
    return made


def check(case: Case, device: str) -> None:
    """In training and in use; in float32 to 1e-5 of what is largest, else to two roundings."""
    made = layer(case, device)
    exact = copy.deepcopy(made).double()
    levels = 5 * torch.randn(1, case.shape[1], *(1,) * (len(case.shape) - 2))
    inputs = [_laid(2 * torch.randn(case.shape) + levels, case, device)]
    if case.shortcut:
        inputs.append(_laid(torch.randn(case.shape), case, device))
    wide = [t.detach().double().requires_grad_() for t in inputs]
    with fused_only():
        y = made(*inputs)
    assert y.dtype == case.dtype
    assert y.stride() == inputs[0].stride()
    expected = exact(*wide)
    dy = torch.randn_like(y)
    y.backward(dy)
    expected.backward(dy.double())
    _close(y, expected)
    leaves = zip([*inputs, *made.parameters()], [*wide, *exact.parameters()], strict=True)
    for got, want in leaves:
        assert got.grad is not None
        assert want.grad is not None
        _close(got.grad, want.grad)
    for got, want in zip(made.buffers(), exact.buffers(), strict=True):
        torch.testing.assert_close(got.double(), want.double(), rtol=1e-5, atol=1e-6)
    made.eval()
    exact.eval()
    with torch.no_grad():
        expected = exact(*wide)
        with fused_only():
            _close(made(*inputs), expected)


def _laid(x: Tensor, case: Case, device: str) -> Tensor:
    last = {4: torch.channels_last, 5: torch.channels_last_3d}
    kind = last[x.dim()] if case.last else torch.contiguous_format
    return x.to(device, case.dtype).contiguous(memory_format=kind).requires_grad_()


def _close(got: Tensor, want: Tensor) -> None:
    limit = 1e-5 + 2 * ROUNDING[got.dtype]
    scale = max(want.detach().abs().max().item(), 1e-3)
    torch.testing.assert_close(got.double(), want, rtol=limit, atol=limit * scale)


@contextlib.contextmanager
def fused_only() -> Iterator[None]:
    """The kernels have to do it: nobody calls the batch norm itself."""
    with mock.patch("torch.nn.functional.batch_norm", side_effect=AssertionError):
        yield

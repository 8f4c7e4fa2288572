"""Convolutions along one dimension: on one core of a CPU as kernels in C.

For the 16 channels of the default task, torch's takes 70 to 90 µs forwards, of which these need 12
to 21 (one core of an EPYC); the rest is getting ready. The results differ by rounding alone.
"""

import ctypes
import functools
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from pangaea.activation.cpu.library import compiled
from pangaea.activation.vectorized import plain

_COLUMNS = 16  # channels that the kernels take at a time


class Convolution(nn.Conv2d):
    """Of height 1, without bias."""

    def __init__(self, inputs: int, outputs: int, width: int, stride: int) -> None:
        super().__init__(
            inputs, outputs, (1, width), (1, stride), padding=(0, width // 2), bias=False
        )

    def forward(self, x: Tensor) -> Tensor:
        if not self._applies(x):
            return super().forward(x)
        stride, before = self.stride[1], self.padding[1]
        assert isinstance(before, int)
        y: Tensor = _Convolved.apply(x, self.weight, stride, before)  # type: ignore[no-untyped-call]
        return y

    def _applies(self, x: Tensor) -> bool:
        """Small is what one thread does; gradients go back to all inputs at once, or to none."""
        whole = self.in_channels % _COLUMNS == 0 or not x.requires_grad
        return (
            plain(x, self.weight)
            and whole
            and self.out_channels % _COLUMNS == 0
            and x.dim() == 4
            and x.shape[2] == 1
            and x.numel() > 0
            and torch.get_num_threads() == 1
            and not torch.is_autocast_enabled("cpu")
            and _kernels() is not None
        )


@functools.cache
def _kernels() -> ctypes.CDLL | None:
    name = "convolution.c"
    text = Path(__file__).with_name(name).read_text("utf-8")
    kernels = compiled({name: text}, "-ffp-contract=fast")
    if kernels is not None:
        kernels.forward.argtypes = (ctypes.c_void_p,) * 5
        kernels.backward.argtypes = (ctypes.c_void_p,) * 7
    return kernels


class _Convolved(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor, stride: int, before: int) -> Tensor:
        ctx.save_for_backward(x, weight)
        ctx.stride, ctx.before = stride, before
        x = x.contiguous(memory_format=torch.channels_last)
        sizes = _sizes(x.shape, weight.shape, stride, before)
        batch, places, outputs = sizes[0], sizes[3], sizes[4]
        y = torch.empty((batch, outputs, 1, places), memory_format=torch.channels_last)
        _run("forward", (x, weight, y), sizes, weight)
        return y

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        x, weight = ctx.saved_tensors
        if torch.is_grad_enabled() or not plain(gradient):
            return *_torchs(ctx, gradient, x, weight), None, None
        x = x.contiguous(memory_format=torch.channels_last)
        gradient = gradient.contiguous(memory_format=torch.channels_last)
        to_x = torch.empty_like(x) if ctx.needs_input_grad[0] else None
        to_weight = torch.empty_like(weight)
        sizes = _sizes(x.shape, weight.shape, ctx.stride, ctx.before)
        _run("backward", (x, weight, gradient, to_x, to_weight), sizes, weight)
        return to_x, to_weight, None, None


@functools.lru_cache(maxsize=256)
def _sizes(x: torch.Size, weight: torch.Size, stride: int, before: int) -> Any:
    """As the kernels read them: batch, length, inputs, places, outputs, width, stride, padding."""
    batch, inputs, _, length = x
    outputs, width = weight[0], weight[3]
    places = (length + 2 * before - width) // stride + 1
    return (ctypes.c_long * 8)(batch, length, inputs, places, outputs, width, stride, before)


def _run(name: str, tensors: tuple[Tensor | None, ...], sizes: Any, weight: Tensor) -> None:
    by_output, by_input, _, by_place = weight.stride()
    steps = (ctypes.c_long * 3)(by_output, by_input, by_place)
    pointers = [None if tensor is None else tensor.data_ptr() for tensor in tensors]
    if getattr(_kernels(), name)(*pointers, sizes, steps):
        raise MemoryError("there is no memory for the rows of a convolution")


def _torchs(ctx: Any, gradient: Tensor, x: Tensor, weight: Tensor) -> tuple[Tensor | None, ...]:
    """The gradients for who wants to differentiate them."""
    wanted = [*ctx.needs_input_grad[:2], False]
    stride, before = [1, ctx.stride], [0, ctx.before]
    to_x, to_weight, _ = torch.ops.aten.convolution_backward(
        gradient, x, weight, None, stride, before, [1, 1], False, [0, 0], 1, wanted
    )
    return to_x, to_weight

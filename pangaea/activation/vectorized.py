"""A function on the CPU in one go forwards and one back, where a C compiler is at hand.

Only x and the parameters are kept for the way back, which computes the rest again in the cache.
"""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn

from pangaea.activation.cpu import launch
from pangaea.activation.cpu.library import library
from pangaea.activation.fused import broadcasts
from pangaea.activation.program import forward_mode, gradients, tracing
from pangaea.functions.program import Steps

_PLAIN = (Tensor, nn.Parameter)


def applies(x: Tensor, parameters: Sequence[Tensor], shape: tuple[int, ...]) -> bool:
    """Can the kernels do it?"""
    return (
        plain(x, *parameters) and x.numel() > 0 and broadcasts(x, shape) and library() is not None
    )


def plain(*tensors: Tensor) -> bool:
    """Kernels in C know float32 alone, and who records operators or transforms them sees none."""
    if torch.compiler.is_compiling() or forward_mode() or tracing() or _recorded():
        return False
    for tensor in tensors:
        if tensor.dtype != torch.float32 or not tensor.is_cpu:
            return False
        if type(tensor) not in _PLAIN or tensor.is_neg() or tensor._is_zerotensor():
            return False
    return True


def _recorded() -> bool:
    """Is somebody watching torch's operators? Fake tensors, `make_fx` and torch.func do."""
    transformed: bool = torch._C._are_functorch_transforms_active()
    return transformed or torch._C._len_torch_dispatch_stack() > 0


def run(steps: Steps, x: Tensor, parameters: Sequence[Tensor], shape: tuple[int, ...]) -> Tensor:
    """The function's value; in this shape parameters broadcast against x."""
    program = launch.program(steps)
    if not torch.is_grad_enabled():
        return launch.forward(program, x, parameters, shape)
    value: Tensor = _Vectorized.apply(program, shape, x, *parameters)  # type: ignore[no-untyped-call]
    return value


class _Vectorized(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, program: launch.Program, shape: tuple[int, ...], x: Tensor, *parameters: Tensor
    ) -> Tensor:
        ctx.program, ctx.shape = program, shape
        ctx.save_for_backward(x, *parameters)
        return launch.forward(program, x, parameters, shape)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        x, *parameters = ctx.saved_tensors
        if torch.is_grad_enabled() or not plain(gradient):
            steps: Steps = ctx.program.steps
            return None, None, *gradients(steps, x, parameters, ctx.shape, gradient)
        needed = ctx.needs_input_grad[2], any(ctx.needs_input_grad[3:])
        to_x, to_parameters = launch.backward(
            ctx.program, x, parameters, ctx.shape, gradient, needed
        )
        return None, None, to_x, *to_parameters

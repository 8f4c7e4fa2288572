"""A function on CUDA as one kernel forwards and one back, at home in autograd and `torch.compile`.

Only x and the parameters are kept for the way back, which computes the rest again in registers.
Gradients of parameters are added up in a fixed order, so they are the same in every run.
"""

import importlib.util
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from pangaea.activation.kernels import launch
from pangaea.activation.kernels.layout import dense, restored
from pangaea.activation.program import forward_mode, gradients, mapped, tracing

DEVICES = ("cuda",)
DTYPES = (torch.float32, torch.bfloat16, torch.float16)
# The kernels hold instructions of NVIDIA's.
_TRITON = importlib.util.find_spec("triton") is not None and torch.version.hip is None


def applies(x: Tensor, parameters: Sequence[Tensor], shape: tuple[int, ...]) -> bool:
    """Can the kernels do it? They know neither float64, torch.func, forward mode nor traces.

    A program that is exported goes where the kernels are not: to ONNX, for one.
    """
    if torch.compiler.is_exporting():
        return False
    tensors = (x, *parameters)
    if not _TRITON or any(t.device.type not in DEVICES or t.dtype not in DTYPES for t in tensors):
        return False
    return not mapped(*tensors) and not forward_mode() and not tracing() and broadcasts(x, shape)


def broadcasts(x: Tensor, shape: tuple[int, ...]) -> bool:
    """Does each element of x have one owner among parameters of this shape, in a regular order?"""
    end = tuple(x.shape[max(x.dim() - len(shape), 0) :])
    if end == shape:
        return True
    one = len(end) == len(shape) and sum(size != 1 for size in shape) <= 1
    return one and all(size in (1, full) for size, full in zip(shape, end, strict=True))


def run(text: str, x: Tensor, parameters: Sequence[Tensor], shape: tuple[int, ...]) -> Tensor:
    """The value of the function with this canonical text; parameters broadcast in this shape."""
    # Torch takes an empty list for one of tensors, and would have a gradient for each.
    shape = shape or (1,)
    value: Tensor
    if torch.compiler.is_compiling() or type(x) not in (Tensor, torch.nn.Parameter):
        value = activation(x, parameters, text, shape)
    else:
        value = _Fused.apply(text, shape, x, *parameters)  # type: ignore[no-untyped-call]
    return value


class _Fused(torch.autograd.Function):
    """The kernels without torch's dispatcher, which costs more than they do on small tensors."""

    @staticmethod
    def forward(
        ctx: Any, text: str, shape: tuple[int, ...], x: Tensor, *parameters: Tensor
    ) -> Tensor:
        ctx.function, ctx.shape = text, shape
        ctx.save_for_backward(x, *parameters)
        return launch.forward(x, parameters, text, shape)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        needed = ctx.needs_input_grad[2], any(ctx.needs_input_grad[3:])
        to_x, to_parameters = _pulled(ctx, gradient, needed, launch.backward)
        return None, None, to_x, *to_parameters


# For those who trace: the same kernels as operators with a shape and a gradient.
activation = torch.library.custom_op("pangaea::activation", launch.forward, mutates_args=())
_backward = torch.library.custom_op(
    "pangaea::activation_backward", launch.backward, mutates_args=()
)
_backward.register_fake(launch.empty_gradients)


@activation.register_fake
def _empty_value(
    x: Tensor, parameters: Sequence[Tensor], function: str, shape: Sequence[int]
) -> Tensor:
    return torch.empty_like(dense(x, x, shape))


def _keep(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
    x, parameters, ctx.function, ctx.shape = inputs
    ctx.save_for_backward(x, *parameters)


def _pull(ctx: Any, gradient: Tensor) -> tuple[Any, ...]:
    needed = ctx.needs_input_grad[0], any(ctx.needs_input_grad[1])
    return *_pulled(ctx, gradient, needed, _backward), None, None


activation.register_autograd(_pull, setup_context=_keep)


def _pulled(
    ctx: Any, gradient: Tensor, needed: tuple[bool, bool], backward: Any
) -> tuple[Tensor | None, list[Tensor | None]]:
    """The gradients of x and of the parameters, where needed."""
    x, *parameters = ctx.saved_tensors
    if torch.is_grad_enabled():
        # Somebody wants to differentiate the gradient: the operators know how, the kernel does not.
        steps = launch.form(ctx.function).steps
        to_x, *pulled = gradients(steps, x, parameters, ctx.shape, gradient)
        return to_x, [*pulled]
    to_x, rows = backward(gradient, x, parameters, ctx.function, ctx.shape, needed)
    to_parameters: list[Tensor | None] = [None] * len(parameters)
    if needed[1]:
        each = zip(restored(rows, x, ctx.shape).unbind(), parameters, strict=True)
        to_parameters = [g.reshape(p.shape).to(p.dtype) for g, p in each]
    return to_x if needed[0] else None, to_parameters

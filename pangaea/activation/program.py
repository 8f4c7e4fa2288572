"""A function's program, run forwards and backwards in one piece of the autograd graph.

One piece, because autograd's bookkeeping for every operator costs as much as the operators on the
small tensors of the default task.
"""

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor
from torch._C._functorch import is_functorch_wrapped_tensor
from torch.autograd import forward_ad

from pangaea.activation.operators import OPERATORS, node
from pangaea.errors import PangaeaError
from pangaea.functions.expression import Function
from pangaea.functions.program import Step, Steps, program

HALF = (torch.float16, torch.bfloat16)


def run(steps: Steps, x: Tensor, parameters: Sequence[Tensor], shape: tuple[int, ...]) -> Tensor:
    """The function's value; in this shape parameters broadcast against x."""
    if forward_mode():
        return _values(steps, x, [p.view(shape) for p in parameters], node)[-1]
    if (
        not torch.is_grad_enabled()
        or (len(steps) == 1 and steps[0].operator in _NATIVE)
        or tracing()
    ):
        return _values(steps, x, [p.view(shape) for p in parameters], _plain)[-1]
    result: Tensor
    if mapped(x, *parameters):
        result = _Mapped.apply(steps, shape, x, *parameters)[0]  # type: ignore[no-untyped-call]
    else:
        result = _Whole.apply(steps, shape, x, *parameters)  # type: ignore[no-untyped-call]
    return result


def mapped(*tensors: Tensor) -> bool:
    """Is `torch.func` at work on one of these?"""
    return not torch.compiler.is_compiling() and any(map(is_functorch_wrapped_tensor, tensors))


def forward_mode() -> bool:
    """Is somebody computing forward-mode derivatives? Then every operator is a node of its own."""
    return forward_ad._current_level >= 0


def tracing() -> bool:
    """Is `torch.jit.trace` watching? It knows neither sizes nor functions of autograd's."""
    return torch._C._get_tracing_state() is not None


def floating(x: Tensor) -> Tensor:
    """Integers in the default type, as torch's own functions take them."""
    if x.is_complex():
        raise PangaeaError(f"an activation function takes real numbers, got {x.dtype}")
    return x.to(torch.get_default_dtype())


def evaluate(function: Function, x: Tensor, parameters: Sequence[float | Tensor]) -> Tensor:
    """The function's value with one value of each parameter, differentiable by all of them."""
    x = x if x.is_floating_point() else floating(x)
    wide = x.float() if x.dtype in HALF else x
    factors = [torch.as_tensor(p, dtype=wide.dtype, device=x.device) for p in parameters]
    if any(p.numel() != 1 for p in factors):
        raise PangaeaError("a parameter is one number here; an Activation has one per channel")
    return run(program(function), wide, factors, ()).to(x.dtype)


# Alone, these are as exact and faster with torch's own gradient.
_NATIVE = ("identity", "negative", "abs", "square", "exp", "relu")
# The gradients of these do not ask what they were given.
INDIFFERENT = ("zero", "one", "identity", "negative", "add", "sub")


def _plain(name: str, *inputs: Tensor) -> Tensor:
    return OPERATORS[name].value(*inputs)


def _values(
    steps: Sequence[Step],
    x: Tensor,
    parameters: Sequence[Tensor],
    operate: Callable[..., Tensor],
) -> list[Tensor]:
    values = [x]
    for step in steps:
        inputs = [values[i] for i in step.inputs]
        if step.operator is None:
            # The parameter second, so that torch keeps the input's memory layout.
            values.append(inputs[0] * parameters[step.parameter])
        elif step.operator == "identity":
            values.append(inputs[0])  # a node of autograd's may not return what it is given
        else:
            values.append(operate(step.operator, *inputs))
    return values


class _Whole(torch.autograd.Function):
    """The whole program as one function of x and its parameters."""

    @staticmethod
    def forward(
        ctx: Any, steps: Steps, shape: tuple[int, ...], x: Tensor, *parameters: Tensor
    ) -> Tensor:
        *between, result = _values(steps, x, [p.view(shape) for p in parameters], _plain)[1:]
        ctx.steps, ctx.shape, ctx.count = steps, shape, len(parameters)
        read = {i for step in steps if step.operator not in INDIFFERENT for i in step.inputs}
        kept = (value if i in read else None for i, value in enumerate(between, 1))
        ctx.save_for_backward(x, *parameters, *kept)
        return result.clone() if result is x else result

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        return _gradients(ctx, gradient)


class _Mapped(torch.autograd.Function):
    """The same for torch.func's transformations, which want the values in between as outputs."""

    generate_vmap_rule = True

    @staticmethod
    def forward(
        steps: Steps, shape: tuple[int, ...], x: Tensor, *parameters: Tensor
    ) -> tuple[Tensor, ...]:
        *between, result = _values(steps, x, [p.view(shape) for p in parameters], _plain)[1:]
        return tuple(v.clone() if v is x else v for v in (result, *between))

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, ...]) -> None:
        ctx.steps, ctx.shape, x, *parameters = inputs
        ctx.count = len(parameters)
        ctx.mark_non_differentiable(*output[1:])
        ctx.set_materialize_grads(False)
        ctx.save_for_backward(x, *parameters, *output[1:])

    @staticmethod
    def backward(ctx: Any, gradient: Tensor, *_: None) -> tuple[Tensor | None, ...]:
        return _gradients(ctx, gradient)


def _gradients(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
    x, *rest = ctx.saved_tensors
    parameters, between = rest[: ctx.count], rest[ctx.count :]
    if torch.is_grad_enabled():
        return None, None, *gradients(ctx.steps, x, parameters, ctx.shape, gradient)
    views = [p.view(ctx.shape) for p in parameters]
    to_x, *pulled = _pulled(ctx.steps, [x, *between], views, gradient)
    return None, None, to_x, *(g.view(p.shape) for g, p in zip(pulled, parameters, strict=True))


def gradients(
    steps: Sequence[Step],
    x: Tensor,
    parameters: Sequence[Tensor],
    shape: Sequence[int],
    gradient: Tensor,
) -> list[Tensor]:
    """The gradients of x and of the parameters, for somebody who wants to differentiate them.

    Every value is part of the autograd graph. Half-precision tensors are computed in float32.
    """
    wide = x.float() if x.dtype in HALF else x
    views = [p.view(shape) for p in parameters]
    values = _values(steps, wide, views, node)
    to_x, *pulled = _pulled(steps, values, views, gradient.to(wide.dtype))
    return [
        to_x.to(x.dtype),
        *(g.view(p.shape).to(p.dtype) for g, p in zip(pulled, parameters, strict=True)),
    ]


def _pulled(
    steps: Sequence[Step], values: Sequence[Tensor], parameters: Sequence[Tensor], gradient: Tensor
) -> list[Tensor]:
    """The gradients of x and of the parameters, accumulated in reverse."""
    gradients: list[Tensor | None] = [None] * len(steps) + [gradient]
    to_parameters: list[Tensor | None] = [None] * len(parameters)
    for i in range(len(steps), 0, -1):
        operator, inputs, k = steps[i - 1]
        g = gradients[i]
        if g is None:
            continue
        if operator is None:
            to_parameters[k] = _reduced(g * values[inputs[0]], parameters[k])
            pulled: tuple[Tensor | None, ...] = (g * parameters[k],)
        else:
            pulled = OPERATORS[operator].pull(g, *(values[j] for j in inputs))
        for j, part in zip(inputs, pulled, strict=True):
            if part is not None:
                before = gradients[j]
                gradients[j] = part if before is None else before + part
    to_x = torch.zeros_like(values[0]) if gradients[0] is None else gradients[0]
    return [
        to_x,
        *(
            torch.zeros_like(p) if g is None else g
            for g, p in zip(to_parameters, parameters, strict=True)
        ),
    ]


def _reduced(gradient: Tensor, parameter: Tensor) -> Tensor:
    """The sum over everything that shares one value of the parameter."""
    shape, extra = parameter.shape, gradient.dim() - parameter.dim()
    dims = [d for d in range(gradient.dim()) if d < extra or shape[d - extra] == 1]
    return gradient.sum(dims) if dims else gradient  # of no dimensions torch sums all

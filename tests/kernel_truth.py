"""Kernels against float64: values and gradients, and how far these may be off.

A kernel's operator is right to 1e-5 of its value, but a function may make more of such an error: in
exp(exp(x)) − x it grows tenfold or cancels down to nothing else. So every check also asks how much
the float64 result moves when each operator's value and gradient is off by 4e-6 either way, and
grants four times that.
"""

import math
import os
import random
from collections.abc import Callable, Sequence
from typing import NamedTuple

import torch
from torch import Tensor

import pangaea as pg
from pangaea.activation import fused, vectorized
from pangaea.activation.operators import OPERATORS
from pangaea.activation.program import gradients, run
from pangaea.functions.catalog import resolve
from pangaea.functions.learnable import LEARNABLE, Learnable, steps_of
from pangaea.functions.operators import OPERATORS as TRUTH
from pangaea.functions.program import Step
from tests.strategies import random_function


class Kernels(NamedTuple):
    """Who is asked: can they do it, and the value of the function with this text."""

    applies: Callable[[Tensor, Sequence[Tensor], tuple[int, ...]], bool]
    run: Callable[[str, Tensor, Sequence[Tensor], tuple[int, ...]], Tensor]


TRITON = Kernels(fused.applies, fused.run)
C = Kernels(
    vectorized.applies,
    lambda text, x, own, shape: vectorized.run(steps_of(resolve(text)), x, own, shape),
)

RELATIVE = 1e-5
# One rounding to the nearest; Triton's interpreter cuts bfloat16 off.
_CUT = "TRITON_INTERPRET" in os.environ
ROUNDING = {
    torch.float32: 0.0,
    torch.bfloat16: 2.0**-7 if _CUT else 2.0**-8,
    torch.float16: 2.0**-11,
}
_OFF, _DRAWS, _GRANTED = 4e-6, 6, 4.0
# Below, kernels may give 0; beyond, float32 overflows: there only NaN and infinity are compared.
_LEAST, _MOST = 1e-36, 1e36


def evaluated(
    steps: Sequence[Step],
    x: Tensor,
    parameters: Sequence[Tensor],
    dy: Tensor,
    off: Callable[[Tensor], Tensor],
) -> tuple[list[Tensor], Tensor]:
    """Value, dx and each parameter's gradient by element; and where all in between is ordinary."""
    ordinary = torch.ones_like(x, dtype=torch.bool)

    def noted(made: Tensor) -> Tensor:
        size = made.abs()
        ordinary.logical_and_((made == 0) | ((size > _LEAST) & (size < _MOST)))
        return off(made)

    values = [x]
    for step in steps:
        inputs = [values[i] for i in step.inputs]
        if step.operator is None:
            values.append(noted(inputs[0] * parameters[step.parameter]))
        else:
            values.append(noted(OPERATORS[step.operator].value(*inputs)))
    gradients: list[Tensor | None] = [None] * len(steps) + [dy]
    own = [torch.zeros_like(x) for _ in parameters]
    for i in range(len(steps), 0, -1):
        step, g = steps[i - 1], gradients[i]
        if g is None:
            continue
        if step.operator is None:
            own[step.parameter] = noted(g * values[step.inputs[0]])
            pulled: Sequence[Tensor | None] = (g * parameters[step.parameter],)
        else:
            pulled = OPERATORS[step.operator].pull(g, *(values[j] for j in step.inputs))
        for j, part in zip(step.inputs, pulled, strict=True):
            if part is not None:
                before = gradients[j]
                part = noted(part)
                gradients[j] = part if before is None else noted(before + part)
    to_x = gradients[0] if gradients[0] is not None else torch.zeros_like(x)
    return [values[-1], to_x, *own], ordinary


def owners(x: Tensor, parameter: Tensor, shape: Sequence[int]) -> Tensor:
    """The parameter's value for each element."""
    return parameter.detach().double().cpu().view(tuple(shape)).expand(x.shape)


def check(
    function: pg.Function | Learnable,
    x: Tensor,
    scope: str,
    *,
    channel_dim: int = 1,
    rng: random.Random,
    kernels: Kernels = TRITON,
) -> int:
    """Compare a module's value and gradients with the truth; how many elements were compared."""
    module = pg.Activation(function, scope, tuple(x.shape[1:]), channel_dim).to(x.device)  # type: ignore[arg-type]
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.copy_(0.5 + torch.rand(parameter.shape))
    x = x.detach().requires_grad_()
    dy = torch.randn(x.shape).to(x)
    leaves = list(module.parameters())
    shape = module._aligned(leaves[0], x) if leaves else ()
    assert kernels.applies(x, leaves, shape), function
    # Past the module, which leaves a single ReLU or identity to torch.
    y = kernels.run(str(function), x, leaves, shape)
    assert y.dtype == x.dtype
    got = [y.detach(), *torch.autograd.grad(y, [x, *leaves], dy)]
    return compare(function, x.detach(), leaves, shape, dy, got, rng)


def compare(
    function: pg.Function | Learnable,
    x: Tensor,
    leaves: Sequence[Tensor],
    shape: Sequence[int],
    dy: Tensor,
    got: Sequence[Tensor],
    rng: random.Random,
) -> int:
    steps = steps_of(function)
    wide, dy = x.double().cpu(), dy.double().cpu()
    parameters = [owners(wide, p, shape) for p in leaves]
    truth, ordinary = evaluated(steps, wide, parameters, dy, lambda made: made)
    granted = [RELATIVE * t.abs() for t in truth]
    generator = torch.Generator().manual_seed(rng.randrange(2**32))

    def off(made: Tensor) -> Tensor:
        signs = torch.randint(2, made.shape, generator=generator).double() * 2 - 1
        return made * (1 + _OFF * signs)

    for _ in range(_DRAWS):
        # x itself off by a rounding, too: it is all there is where a slope passes through 0.
        signs = torch.randint(2, wide.shape, generator=generator).double() * 2 - 1
        moved, _ = evaluated(steps, wide * (1 + 2**-24 * signs), parameters, dy, off)
        for i, (t, m) in enumerate(zip(truth, moved, strict=True)):
            granted[i] = torch.maximum(granted[i], RELATIVE * t.abs() + _GRANTED * (m - t).abs())
    compared = 0
    for i, (t, limit) in enumerate(zip(truth, granted, strict=True)):
        clear = ordinary & t.isfinite() & limit.isfinite()
        if i >= 2:
            # Rounding the sum itself: 1e-5 of the sum of what was added, whatever cancels.
            shape_of = leaves[i - 2].shape
            t, limit = (_summed(v, shape, shape_of) for v in (t, limit))
            clear = _summed((~clear).double(), shape, shape_of) == 0
        info = torch.finfo(got[i].dtype)
        least = max(100 * _LEAST, info.smallest_normal * info.eps)
        limit = limit + ROUNDING[got[i].dtype] * t.abs() + least
        error = (got[i].double().cpu() - t).abs()
        wrong = clear & ~(error <= limit)
        if wrong.any():
            at = int(error[wrong].argmax())
            by, may, right = (float(v[wrong][at]) for v in (error, limit, t))
            raise AssertionError(
                f"{function}: output {i} is off by {by:.3g} at {right:.6g}, granted are {may:.3g}"
            )
        compared += int(clear.sum())
    return compared


def check_learnable(
    name: str, scope: str, device: str, dtype: torch.dtype, kernels: Kernels = TRITON
) -> int:
    """A learnable baseline on images, as channels_last has them."""
    x = 2 * torch.randn(4, 5, 3, 7).to(device, dtype)  # 105 neurons: rows begin anywhere
    x = x.contiguous(memory_format=torch.channels_last)
    return check(LEARNABLE[name], x, scope, rng=random.Random(0), kernels=kernels)


def _summed(values: Tensor, shape: Sequence[int], own: torch.Size) -> Tensor:
    extra = values.dim() - len(shape)
    dims = [d for d in range(values.dim()) if d < extra or shape[d - extra] == 1]
    return (values.sum(dims) if dims else values).reshape(own)


# GELU's tail is the exponential of a cubic, whose rounding counts as often as the cubic is large.
_OPERATOR_LIMITS = {"gelu": 1e-4}


def check_operator(name: str, device: str, dtype: torch.dtype, kernels: Kernels = TRITON) -> int:
    """A unary operator over the whole range of float32 numbers, value and slope."""
    x = _range().to(dtype)
    x = x[x.isfinite()].to(device).requires_grad_()
    y = kernels.run(f"{name}(x)", x, [], ())
    (slope,) = torch.autograd.grad(y.sum(), x)
    row, points = TRUTH[name], x.detach().double().cpu()
    value_truth = torch.tensor([row.value(p) for p in points.tolist()], dtype=torch.float64)
    slope_truth = torch.tensor([row.slopes(p)[0] for p in points.tolist()], dtype=torch.float64)
    # A product x·w has the slope w + x·w', which cannot be better than its larger term.
    steepness = (value_truth / points).nan_to_num(0, 0, 0).abs()
    scale = torch.maximum(slope_truth.abs(), steepness)
    limit = _OPERATOR_LIMITS.get(name, RELATIVE) + ROUNDING[dtype]
    most = min(_MOST, torch.finfo(dtype).max / 2)
    asked = (value_truth.abs() < most) & (slope_truth.abs() < most)
    least = 0.0 if dtype == torch.float32 else torch.finfo(dtype).smallest_normal
    for got, want, size in (
        (y.detach(), value_truth, value_truth.abs()),
        (slope, slope_truth, scale),
    ):
        error = (got.double().cpu() - want).abs()
        wrong = asked & ~(error <= limit * size + max(4 * _LEAST, least))
        assert not wrong.any(), (
            f"{name} at {points[wrong][:5].tolist()}: {got.cpu()[wrong][:5].tolist()}, "
            f"not {want[wrong][:5].tolist()}"
        )
    return int(asked.sum())


def _range() -> Tensor:
    far = torch.logspace(-37, math.log10(torch.finfo(torch.float32).max), 301, dtype=torch.float64)
    far = far.clamp_max(torch.finfo(torch.float32).max)
    near = torch.linspace(-12, 12, 1201, dtype=torch.float64)
    middle = torch.linspace(-105, 105, 401, dtype=torch.float64)
    return torch.cat([near, middle, far, -far, torch.zeros(1)])


SPECIAL = (math.nan, math.inf, -math.inf, 0.0, -0.0, 1.0, -1.0, 2.0, -2.0, 0.5, -0.5, 1e30, -1e30)


def check_special(text: str, device: str, kernels: Kernels = TRITON) -> None:
    """NaN and infinity appear where the eager operators have them."""
    x = torch.tensor(SPECIAL, device=device).requires_grad_()
    function = pg.parse(text)
    leaves = [torch.tensor(1.25, device=device, requires_grad=True) for _ in function.parameters]
    for dy in (torch.ones_like(x), torch.full_like(x, math.inf), torch.full_like(x, math.nan)):
        y = kernels.run(text, x, leaves, ())
        got = [y.detach(), *torch.autograd.grad(y, x, dy)]
        steps = steps_of(function)
        want = [run(steps, x, leaves, ()).detach(), gradients(steps, x, leaves, (), dy)[0].detach()]
        for a, b in zip(got, want, strict=True):
            assert torch.equal(a.isnan(), b.isnan()), (text, a, b)
            assert torch.equal(a.isinf(), b.isinf()), (text, a, b)
            torch.testing.assert_close(a, b, rtol=1e-4, atol=1e-30, equal_nan=True)


def check_binary(name: str, device: str, kernels: Kernels = TRITON) -> int:
    """A binary operator on a grid: the first input is x, the second a parameter."""
    points = torch.tensor([-3.0, -2.0, -1.0, -0.25, 0.0, 0.5, 1.0, 2.0, 7.0, 90.0])
    a, b = (t.reshape(1, -1) for t in torch.meshgrid(points, points, indexing="ij"))
    x = a.to(device).requires_grad_()
    second = b[0].to(device).requires_grad_()
    y = kernels.run(f"{name}(x, alpha*one(x))", x, [second], tuple(second.shape))
    got = [y.detach(), *torch.autograd.grad(y.sum(), (x, second))]
    row = TRUTH[name]
    pairs = list(zip(a[0].tolist(), b[0].tolist(), strict=True))
    slopes = [row.slopes(*pair) for pair in pairs]
    truth = [[row.value(*pair) for pair in pairs], *zip(*slopes, strict=True)]
    compared = 0
    for mine, values in zip(got, truth, strict=True):
        want = torch.tensor(values, dtype=torch.float64)
        mine = mine.double().cpu().view(-1)
        clear = want.isfinite() & (want.abs() < _MOST)
        torch.testing.assert_close(mine[clear], want[clear], rtol=RELATIVE, atol=_LEAST)
        if mine.shape == got[0].view(-1).shape and values is truth[0]:
            assert torch.equal(mine.isnan(), want.isnan())
        compared += int(clear.sum())
    return compared


# Scope, shape, whether channels lie last, channel_dim. Sizes are odd, and 64 columns rarely fit.
CASES: tuple[tuple[str, tuple[int, ...], bool, int], ...] = (
    ("channel", (3, 5, 4, 3), False, 1),
    ("channel", (3, 4, 3, 5), True, 1),
    ("layer", (7, 11), False, 1),
    ("neuron", (3, 2, 5, 3), True, 1),
    ("neuron", (3, 7), False, 1),
    ("channel", (2, 3, 8, 8), False, 1),
    ("channel", (5, 3, 7), False, 1),
    ("channel", (5, 3, 7), False, -1),
    ("neuron", (4, 3, 2, 3), False, 1),
    ("layer", (2, 3, 3, 5), True, 1),
    ("channel", (2, 3, 2, 3, 2), True, 1),
    ("neuron", (2, 3, 2, 3, 2), True, 1),
)


def case_input(case: int, device: str, dtype: torch.dtype) -> Tensor:
    _, shape, last, _ = CASES[case]
    x = (3 * torch.randn(shape)).to(device, dtype)
    formats = {4: torch.channels_last, 5: torch.channels_last_3d}
    return x.contiguous(memory_format=formats[len(shape)]) if last else x


def check_random(seed: int, device: str, dtype: torch.dtype, kernels: Kernels = TRITON) -> int:
    """A random function on one of the cases in turn; how many elements were compared."""
    torch.manual_seed(seed)
    rng = random.Random(seed)
    function = random_function(rng, rng.randrange(1, 9))
    case = seed % len(CASES)
    scope, _, _, channel_dim = CASES[case]
    x = case_input(case, device, dtype)
    return check(function, x, scope, channel_dim=channel_dim, rng=rng, kernels=kernels)

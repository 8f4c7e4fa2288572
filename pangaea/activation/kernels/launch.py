"""Running a function's kernels: made from its text once, and shared out over the GPU.

The schedules were measured on an H200 with log σ(αx)·β·asinh(x), from 2 to 134 million elements.
"""

import contextlib
import functools
import linecache
from collections.abc import Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor

from pangaea.activation.kernels.layout import COLUMNS, Layout, dense, layout, ordered
from pangaea.activation.kernels.source import source
from pangaea.functions.catalog import resolve
from pangaea.functions.learnable import steps_of
from pangaea.functions.program import Steps


class Schedule(NamedTuple):
    """Rows of a step, steps of a program, and the programs that a multiprocessor has, within."""

    rows: int
    each: int
    least: int
    most: int


FORWARD = Schedule(rows=16, each=16, least=8, most=64)
# Fewer rows, for there are more values to hold; fewer programs, for each leaves partial sums.
BACKWARD = Schedule(rows=8, each=16, least=4, most=16)
# Without parameters to load, a second step gains nothing: one each is as fast as torch's SiLU.
ALONE = Schedule(rows=16, each=1, least=1, most=1 << 20)
# Two elements for a thread: of a long function, more would not fit into its registers.
_LONG, _LONG_ROWS = 32, 4


class Compiled(NamedTuple):
    """A function's steps, and Triton functions for its value and its gradients."""

    steps: Steps
    value: Any
    pull: Any

    def schedule(self, usual: Schedule) -> Schedule:
        return usual._replace(rows=_LONG_ROWS) if len(self.steps) > _LONG else usual


@functools.cache
def form(text: str) -> Compiled:
    """From a function's text, as str() has it; what Triton compiles it keeps on disk."""
    import triton
    import triton.language as tl

    from pangaea.activation.kernels import bessel, functions, units

    function = resolve(text)
    steps = steps_of(function)
    code = source(steps, len(function.parameters))
    names: dict[str, Any] = {"__name__": __name__, "triton": triton, "tl": tl}
    names |= {"f": functions, "u": units, "bessel": bessel}
    # Triton reads source where Python's tracebacks do: no file, nothing that processes would share.
    file = f"<{text}>"
    linecache.cache[file] = (len(code), None, code.splitlines(keepends=True), file)
    exec(compile(code, file, "exec"), names)
    return Compiled(steps, names["value"], names["pull"])


class Plan(NamedTuple):
    """How a kernel goes over a tensor."""

    at: Layout
    groups: int  # of programs, one for each tile; they share the steps
    sizes: tuple[int, ...]
    constants: dict[str, Any]


def plan(x: Tensor, shape: Sequence[int], schedule: Schedule) -> Plan:
    """For a dense tensor, with parameters in this shape."""
    return _plan(x.shape, x.stride(), tuple(shape), x.device, schedule)


@functools.lru_cache(maxsize=4096)
def _plan(
    size: torch.Size,
    stride: tuple[int, ...],
    shape: tuple[int, ...],
    device: torch.device,
    schedule: Schedule,
) -> Plan:
    at = layout(torch.empty_strided(size, stride, device="meta"), shape)
    steps = at.steps(schedule.rows)
    programs = -(-steps * at.tiles // schedule.each)
    processors = _processors(device)
    programs = min(max(programs, schedule.least * processors), schedule.most * processors)
    sizes = at.elements, steps, at.tiles, at.width // 16, at.inner, at.count
    constants = {
        "UNIFORM": at.uniform,
        "ROWS": schedule.rows,
        "COLUMNS": COLUMNS,
        "enable_fp_fusion": False,
    }
    return Plan(at, min(steps, -(-programs // at.tiles)), sizes, constants)


def _processors(device: torch.device) -> int:
    if device.type != "cuda":
        return 1
    return torch.cuda.get_device_properties(device).multi_processor_count


def forward(x: Tensor, parameters: Sequence[Tensor], function: str, shape: Sequence[int]) -> Tensor:
    """The function's value; in this shape parameters broadcast against x."""
    from pangaea.activation.kernels import programs as kernels

    x = dense(x, x, shape)
    y = torch.empty_like(x)
    if x.numel() == 0:
        return y
    planned = plan(x, shape, form(function).schedule(FORWARD if parameters else ALONE))
    with device_of(x):
        kernels.forward[planned.at.tiles * planned.groups,](
            x,
            y,
            ordered(parameters, x, shape),
            *planned.sizes,
            VALUE=form(function).value,
            **planned.constants,
        )
    return y


def backward(
    gradient: Tensor,
    x: Tensor,
    parameters: Sequence[Tensor],
    function: str,
    shape: Sequence[int],
    needed: Sequence[bool],
) -> tuple[Tensor, Tensor]:
    """The gradients of x and of the parameters, a row for each and `ordered`, where needed."""
    from pangaea.activation.kernels import programs as kernels

    to_x, totals = empty_gradients(gradient, x, parameters, function, shape, needed)
    if x.numel() == 0:
        return to_x, totals.zero_()
    x, gradient = dense(x, x, shape), dense(gradient, x, shape)
    planned = plan(x, shape, form(function).schedule(BACKWARD if parameters else ALONE))
    partial = totals.new_empty(totals.shape[0], planned.groups, planned.at.sums)
    with device_of(x):
        kernels.backward[planned.at.tiles * planned.groups,](
            x,
            gradient,
            to_x,
            partial,
            ordered(parameters, x, shape),
            *planned.sizes,
            PULL=form(function).pull,
            TO_X=needed[0],
            TO_PARAMETERS=needed[1],
            **planned.constants,
        )
        if needed[1]:
            adding = summing(planned)
            kernels.add_up[adding.programs, len(parameters)](
                partial, totals, *adding.sizes, **adding.constants
            )
    return to_x, totals


class Summing(NamedTuple):
    """How partial sums are added up."""

    programs: int
    sizes: tuple[int, int, int]
    constants: dict[str, int]


def summing(planned: Plan) -> Summing:
    """Of what a kernel left behind that went over a tensor by this plan."""
    at = planned.at
    rows = planned.groups * at.sums // at.count
    inner = at.inner // COLUMNS if at.uniform else at.inner
    # 1024 numbers at a time, as many of an owner as there are: 3 µs where torch.sum takes 4 to 9.
    tall = min(max(1 << (rows - 1).bit_length(), 8), 1024)
    wide = 1024 // tall
    constants = {"ROWS": tall, "COLUMNS": wide, "num_warps": 4}
    return Summing(-(-at.count // wide), (rows, at.count, inner), constants)


def empty_gradients(
    gradient: Tensor,
    x: Tensor,
    parameters: Sequence[Tensor],
    function: str,
    shape: Sequence[int],
    needed: Sequence[bool],
) -> tuple[Tensor, Tensor]:
    """What `backward` fills."""
    to_x, to_parameters = needed
    rows = (len(parameters), parameters[0].numel()) if to_parameters else (0, 1)
    return (
        torch.empty_like(dense(x, x, shape)) if to_x else x.new_empty(0),
        x.new_empty(rows, dtype=torch.float32),
    )


def device_of(x: Tensor) -> contextlib.AbstractContextManager[None]:
    """The current device is Triton's."""
    if not x.is_cuda or x.device.index == torch.cuda.current_device():
        return contextlib.nullcontext()
    return torch.cuda.device(x.device)

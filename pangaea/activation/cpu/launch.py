"""Running a function's program on the CPU: a large tensor on as many threads as torch has."""

import ctypes
import functools
import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

import torch
from torch import Tensor

from pangaea.activation.cpu.library import library, operators
from pangaea.activation.kernels.layout import (
    channels_move,
    memory_format,
    ordered,
    owners,
)
from pangaea.functions.program import Steps

# Elements of a block, about. A block is one thread's, and sums of blocks are added up in order: so
# they are the same on any number of threads.
_BLOCK = 1 << 16


class Program:
    """A function's steps, as the kernels read them."""

    def __init__(self, steps: Steps) -> None:
        kernels = library()
        assert kernels is not None
        self.steps, self.forward, self.backward = steps, kernels.forward, kernels.backward
        numbers = operators(kernels)
        rows: list[int] = []
        for operator, inputs, parameter in steps:
            number = -1 if operator is None else numbers[operator]
            rows += number, inputs[0], inputs[-1], parameter
        self._rows = (ctypes.c_int * len(rows))(*rows)
        self.head = ctypes.addressof(self._rows), len(steps)


program = functools.lru_cache(maxsize=1024)(Program)


class Plan(NamedTuple):
    """How the kernels go over a tensor."""

    format: torch.memory_format
    moved: bool  # do parameters lie in another order than the elements that they belong to?
    inner: int
    owners: int
    blocks: tuple[tuple[int, int, int], ...]  # number, first element, last


@functools.lru_cache(maxsize=4096)
def _plan(size: torch.Size, stride: tuple[int, ...], shape: tuple[int, ...]) -> Plan:
    x = torch.empty_strided(size, stride, device="meta")
    layout = memory_format(x, shape)
    inner, count = owners(x.contiguous(memory_format=layout), shape)
    step = -(-_BLOCK // (inner * count)) * inner * count
    return Plan(
        layout,
        channels_move(x, shape),
        inner,
        count,
        tuple(
            (number, first, min(first + step, x.numel()))
            for number, first in enumerate(range(0, x.numel(), step))
        ),
    )


def forward(of: Program, x: Tensor, parameters: Sequence[Tensor], shape: tuple[int, ...]) -> Tensor:
    """The function's value; in this shape parameters broadcast against x."""
    plan = _plan(x.shape, x.stride(), shape)
    x = _laid(x, plan)
    y, values = torch.empty_like(x), _values(plan, x, parameters, shape)
    head, tail = (*of.head, x.data_ptr(), y.data_ptr()), _tail(plan, x, values)
    _each(plan, lambda _, first, last: of.forward(*head, first, last, *tail))
    return y


def backward(
    of: Program,
    x: Tensor,
    parameters: Sequence[Tensor],
    shape: tuple[int, ...],
    gradient: Tensor,
    needed: tuple[bool, bool],
) -> tuple[Tensor | None, list[Tensor | None]]:
    """The gradients of x and of the parameters, where needed."""
    plan = _plan(x.shape, x.stride(), shape)
    x, gradient = _laid(x, plan), _laid(gradient, plan)
    values = _values(plan, x, parameters, shape)
    to_x = torch.empty_like(x) if needed[0] else None
    sums = [[torch.empty_like(v) for v in values if needed[1]] for _ in plan.blocks]
    pointers = x.data_ptr(), gradient.data_ptr(), None if to_x is None else to_x.data_ptr()
    head, tail = (*of.head, *pointers), _tail(plan, x, values)

    def run(block: int, first: int, last: int) -> int:
        to = _pointers(sums[block]) if needed[1] else None
        return of.backward(*head, to, first, last, *tail)  # type: ignore[no-any-return]

    _each(plan, run)
    if not needed[1]:
        return to_x, [None] * len(values)
    totals = sums[0]
    if len(sums) > 1:
        totals = [torch.stack(blocks).sum(0) for blocks in zip(*sums, strict=True)]
    return to_x, [g.movedim(-1, 0) if plan.moved else g for g in totals]


def _laid(tensor: Tensor, plan: Plan) -> Tensor:
    return tensor.contiguous(memory_format=plan.format)


def _values(
    plan: Plan, x: Tensor, parameters: Sequence[Tensor], shape: tuple[int, ...]
) -> tuple[Tensor, ...]:
    return (
        ordered(parameters, x, shape) if plan.moved else tuple(p.contiguous() for p in parameters)
    )


def _tail(plan: Plan, x: Tensor, values: Sequence[Tensor]) -> tuple[object, ...]:
    """The last arguments of both kernels."""
    return x.numel(), _pointers(values), len(values), plan.inner, plan.owners


def _pointers(tensors: Sequence[Tensor]) -> ctypes.Array[ctypes.c_void_p]:
    return (ctypes.c_void_p * len(tensors))(*[tensor.data_ptr() for tensor in tensors])


def _each(plan: Plan, call: Callable[[int, int, int], int]) -> None:
    threads = torch.get_num_threads()
    if len(plan.blocks) == 1 or threads == 1:
        codes = [call(*block) for block in plan.blocks]
    else:
        pool = _pool(threads, os.getpid())
        codes = list(pool.map(lambda block: call(*block), plan.blocks))
    if any(codes):
        raise MemoryError("there is no memory for the values of an activation function")


@functools.cache
def _pool(threads: int, _process: int) -> ThreadPoolExecutor:
    """Threads of this process: a forked one has none of its parent's."""
    return ThreadPoolExecutor(threads, "pangaea")

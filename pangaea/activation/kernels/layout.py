"""How a tensor lies in memory, as the kernels see it: a table in which a column has one owner.

The elements in the order in which they lie, so many to a row that a parameter's value depends on
the column alone: the pixels of a channels_last image, a few to a row, or the images of a contiguous
batch. Rows are a multiple of 16 elements wide, which keeps every access aligned.
"""

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

COLUMNS = 64  # of a program


@dataclass(frozen=True, slots=True)
class Layout:
    """The table of a tensor: parameter (column // inner) % count belongs to a column."""

    elements: int
    width: int
    inner: int
    count: int

    @property
    def tiles(self) -> int:
        """Of 64 columns."""
        return -(-self.width // COLUMNS)

    @property
    def uniform(self) -> bool:
        """Has each tile one owner?"""
        return self.inner % COLUMNS == 0

    @property
    def sums(self) -> int:
        """Partial sums of a parameter's gradient in a row of tiles."""
        return self.tiles if self.uniform else self.width

    def steps(self, rows: int) -> int:
        """From the first row to the last, so many at a time."""
        return -(-self.elements // (self.width * rows))


def owners(x: Tensor, shape: Sequence[int], whole: int = 1) -> tuple[int, int]:
    """Elements of a dense x that stand together, and have a parameter's value; number of these.

    A single value has so many at a time.
    """
    varying = [d for d, size in enumerate(shape, x.dim() - len(shape)) if size != 1]
    inner = (x.stride(varying[0]) if len(varying) == 1 else 1) if varying else whole
    return inner, math.prod(shape)


def layout(x: Tensor, shape: Sequence[int]) -> Layout:
    """Of a dense x, against which parameters broadcast in this shape."""
    inner, count = owners(x, shape, COLUMNS)
    elements = x.numel()
    unit = math.lcm(inner * count, 16)
    # The narrowest rows that fill their tiles to 15/16, or hold everything.
    widths = itertools.count(unit, unit)
    width = next(w for w in widths if -w % COLUMNS <= w / 16 or w >= elements)
    return Layout(elements, width, inner, count)


def memory_format(x: Tensor, shape: Sequence[int]) -> torch.memory_format:
    """The order in which x lies, or should be laid for the kernels."""
    last = {4: torch.channels_last, 5: torch.channels_last_3d}.get(x.dim())
    if last is None or x.is_contiguous() or not x.is_contiguous(memory_format=last):
        return torch.contiguous_format
    if _per_neuron(shape) and len(shape) != x.dim() - 1:
        return torch.contiguous_format
    return last


def dense(tensor: Tensor, x: Tensor, shape: Sequence[int]) -> Tensor:
    """The tensor as x lies, or should be laid."""
    return tensor.contiguous(memory_format=memory_format(x, shape))


def ordered(parameters: Sequence[Tensor], x: Tensor, shape: Sequence[int]) -> tuple[Tensor, ...]:
    """Each one's values in the order in which the elements that they belong to lie."""
    if not parameters or not channels_move(x, shape):
        return tuple(p.contiguous() for p in parameters)
    # Together: one by one, APL's fourteen would be as many kernels.
    rows = torch.stack([*parameters]) if len(parameters) > 1 else parameters[0].unsqueeze(0)
    return rows.view(len(parameters), *shape).movedim(1, -1).contiguous().unbind()


def restored(gradients: Tensor, x: Tensor, shape: Sequence[int]) -> Tensor:
    """Gradients of ordered parameters, a row for each, in the parameters' own order."""
    if channels_move(x, shape):
        return gradients.view(-1, *shape[1:], shape[0]).movedim(-1, 1).contiguous()
    return gradients


def channels_move(x: Tensor, shape: Sequence[int]) -> bool:
    """Do parameters lie in another order than the elements that they belong to?"""
    return _per_neuron(shape) and memory_format(x, shape) != torch.contiguous_format


def _per_neuron(shape: Sequence[int]) -> bool:
    return sum(size != 1 for size in shape) > 1

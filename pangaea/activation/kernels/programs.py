"""One forward and one backward Triton kernel for every function, and one that adds up.

Memory is a table of columns with one owner each (see `layout`). A program has 64 columns to itself,
loads their parameters once, and goes down the rows; the way back adds up the parameters' gradients
as it goes and leaves one row of partial sums.

Products and sums are not contracted: u·v − u·v is 0 here as it is in the operators.
"""
# mypy: ignore-errors
# ruff: noqa: N803

import triton
import triton.language as tl

# Sizes are not specialized, so all layers of a network share one compiled kernel.
SIZES = ["steps", "tiles", "width", "inner", "count"]


@triton.jit
def placed(tiles, width, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    """A program's tile, group of all groups, columns, elements of a step and way to the next."""
    tile, group = tl.program_id(0) % tiles, tl.program_id(0) // tiles
    columns = tile * COLUMNS + tl.arange(0, COLUMNS)[None, :]
    local = tl.arange(0, ROWS)[:, None] * width + columns
    span = (ROWS * width).to(tl.int64)
    return tile, group, tl.num_programs(0) // tiles, columns, local, span


@triton.jit
def loaded(parameters, columns, inner, count):
    """Each parameter's value in the columns."""
    values = ()
    for k in tl.static_range(len(parameters)):
        values += (tl.load(parameters[k] + columns // inner % count).to(tl.float32),)
    return values


@triton.jit
def inside(columns, local, width, left):
    """Which elements of a step are there, if so many are left from its first one on."""
    left = tl.maximum(tl.minimum(left, 1 << 30), 0).to(tl.int32)
    return (columns < width) & (local < left)


@triton.jit
def leave(partial, sums, tile, tiles, group, groups, columns, width, UNIFORM: tl.constexpr):
    """A program's sums: a number each if its columns have one owner, or one for each column."""
    for k in tl.static_range(len(sums)):
        row = k * groups + group
        if UNIFORM:
            tl.store(partial + row * tiles + tile, tl.sum(sums[k]))
        else:
            total = tl.sum(sums[k], 0)[None, :]
            tl.store(partial + row * width + columns, total, mask=columns < width)


@triton.jit
def gathered(partial, owners, rows, count, inner, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    """The owners' totals: over so many rows, and what each holds of an owner."""
    sums = tl.zeros((ROWS, COLUMNS), tl.float32)
    for first in range(0, rows, ROWS):
        row = first + tl.arange(0, ROWS)[:, None]
        at = row // inner * count * inner + owners * inner + row % inner
        sums += tl.load(partial + at, mask=(row < rows) & (owners < count), other=0.0)
    return tl.sum(sums, 0)[None, :]


@triton.jit(do_not_specialize=SIZES)
def forward(
    x,
    y,
    parameters,
    elements,
    steps,
    tiles,
    width,
    inner,
    count,
    VALUE: tl.constexpr,
    UNIFORM: tl.constexpr,
    ROWS: tl.constexpr,
    COLUMNS: tl.constexpr,
):
    width = width * 16
    tile, group, groups, columns, local, span = placed(tiles, width, ROWS, COLUMNS)
    p = loaded(parameters, tile * COLUMNS if UNIFORM else columns, inner, count)
    for step in range(group, steps, groups):
        at = step * span
        here = inside(columns, local, width, elements - at)
        v = tl.load(x + at + local, mask=here).to(tl.float32)
        tl.store(y + at + local, VALUE(v, p), mask=here)


@triton.jit(do_not_specialize=SIZES)
def backward(
    x,
    dy,
    dx,
    partial,
    parameters,
    elements,
    steps,
    tiles,
    width,
    inner,
    count,
    PULL: tl.constexpr,
    UNIFORM: tl.constexpr,
    ROWS: tl.constexpr,
    COLUMNS: tl.constexpr,
    TO_X: tl.constexpr,
    TO_PARAMETERS: tl.constexpr,
):
    width = width * 16
    tile, group, groups, columns, local, span = placed(tiles, width, ROWS, COLUMNS)
    at = group * span
    here = inside(columns, local, width, elements - at)
    v, g = tl.load(x + at + local, mask=here), tl.load(dy + at + local, mask=here)
    p = loaded(parameters, tile * COLUMNS if UNIFORM else columns, inner, count)
    sums = ()
    if TO_PARAMETERS:
        for _ in tl.static_range(len(parameters)):
            sums += (tl.zeros((ROWS, COLUMNS), tl.float32),)
    for step in range(group, steps, groups):
        # The next step is read before this one is computed: 11% on an H200 (128 columns, bf16).
        later = (step + groups) * span
        there = inside(columns, local, width, elements - later)
        next_v = tl.load(x + later + local, mask=there)
        next_g = tl.load(dy + later + local, mask=there)
        to_x, to_parameters = PULL(g.to(tl.float32), v.to(tl.float32), p)
        if TO_X:
            tl.store(dx + at + local, to_x, mask=here)
        more = ()
        for k in tl.static_range(len(sums)):
            more += (sums[k] + tl.where(here, to_parameters[k], 0.0),)
        sums = more
        v, g, at, here = next_v, next_g, later, there
    leave(partial, sums, tile, tiles, group, groups, columns, width, UNIFORM)


@triton.jit(do_not_specialize=["rows", "count", "inner"])
def add_up(partial, totals, rows, count, inner, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    """The totals of a parameter's owners."""
    owners = tl.program_id(0) * COLUMNS + tl.arange(0, COLUMNS)[None, :]
    of = tl.program_id(1)
    total = gathered(partial + of * rows * count, owners, rows, count, inner, ROWS, COLUMNS)
    tl.store(totals + of * count + owners, total, mask=owners < count)

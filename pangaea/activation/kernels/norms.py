"""Triton kernels for batch norm with a function behind it.

Forwards x is read for its moments and again for y; back, x and dy for the gradient dz of what the
function got, then x and dz for dx. What lies between batch norm and function is never in memory.
"""
# mypy: ignore-errors
# ruff: noqa: N803

import triton
import triton.language as tl

from pangaea.activation.kernels.programs import SIZES, gathered, inside, leave, loaded, placed


@triton.jit(do_not_specialize=SIZES)
def moments(
    x,
    partial,
    elements,
    steps,
    tiles,
    width,
    inner,
    count,
    UNIFORM: tl.constexpr,
    ROWS: tl.constexpr,
    COLUMNS: tl.constexpr,
):
    """Sums of x and x², both less the channel's first value: a large mean takes no digits away."""
    width = width * 16
    tile, group, groups, columns, local, span = placed(tiles, width, ROWS, COLUMNS)
    at = group * span
    here = inside(columns, local, width, elements - at)
    v = tl.load(x + at + local, mask=here)
    owner = (tile * COLUMNS if UNIFORM else columns) // inner % count
    shift = tl.load(x + owner * inner).to(tl.float32)
    total = tl.zeros((ROWS, COLUMNS), tl.float32)
    squares = tl.zeros((ROWS, COLUMNS), tl.float32)
    for step in range(group, steps, groups):
        at = (step + groups) * span
        there = inside(columns, local, width, elements - at)
        later = tl.load(x + at + local, mask=there)
        off = tl.where(here, v.to(tl.float32) - shift, 0.0)
        total += off
        squares += off * off
        v, here = later, there
    leave(partial, (total, squares), tile, tiles, group, groups, columns, width, UNIFORM)


@triton.jit(do_not_specialize=["rows", "count", "inner", "pixels", "size"])
def statistics(
    x,
    partial,
    statistic,
    running_mean,
    running_variance,
    batches,
    rows,
    count,
    inner,
    pixels,
    size,
    momentum,
    ROWS: tl.constexpr,
    COLUMNS: tl.constexpr,
):
    """Mean and variance of each channel of so many values; the running ones move towards them."""
    owners = tl.program_id(0) * COLUMNS + tl.arange(0, COLUMNS)[None, :]
    there = owners < count
    shift = tl.load(x + owners * pixels, mask=there).to(tl.float32)
    total = gathered(partial, owners, rows, count, inner, ROWS, COLUMNS)
    squares = gathered(partial + rows * count, owners, rows, count, inner, ROWS, COLUMNS)
    off = total / size
    mean, variance = shift + off, tl.maximum(squares / size - off * off, 0.0)
    tl.store(statistic + owners, mean, mask=there)
    tl.store(statistic + count + owners, variance, mask=there)
    old_mean = tl.load(running_mean + owners, mask=there)
    old_variance = tl.load(running_variance + owners, mask=there)
    unbiased = variance * (size / (size - 1))
    tl.store(running_mean + owners, old_mean + momentum * (mean - old_mean), mask=there)
    moved = old_variance + momentum * (unbiased - old_variance)
    tl.store(running_variance + owners, moved, mask=there)
    if tl.program_id(0) == 0:
        tl.store(batches, tl.load(batches) + 1)


@triton.jit(do_not_specialize=[*SIZES, "values"])
def forward(
    x,
    shortcut,
    y,
    norm,
    epsilon,
    parameters,
    values,
    elements,
    steps,
    tiles,
    width,
    inner,
    count,
    VALUE: tl.constexpr,
    SHORTCUT: tl.constexpr,
    UNIFORM: tl.constexpr,
    ROWS: tl.constexpr,
    COLUMNS: tl.constexpr,
):
    """The function of the normalized x, maybe with a shortcut added to it.

    The norm is a mean, variance, weight and bias; a parameter has so many values of its own.
    """
    width = width * 16
    tile, group, groups, columns, local, span = placed(tiles, width, ROWS, COLUMNS)
    owned = tile * COLUMNS if UNIFORM else columns
    mean, variance, weight, bias = loaded(norm, owned, inner, count)
    p = loaded(parameters, owned, inner, values)
    scale = weight * tl.rsqrt(variance + epsilon)
    for step in range(group, steps, groups):
        at = step * span
        here = inside(columns, local, width, elements - at)
        z = (tl.load(x + at + local, mask=here).to(tl.float32) - mean) * scale + bias
        if SHORTCUT:
            z += tl.load(shortcut + at + local, mask=here).to(tl.float32)
        tl.store(y + at + local, VALUE(z, p), mask=here)


@triton.jit(do_not_specialize=[*SIZES, "values"])
def backward(
    x,
    shortcut,
    dy,
    dz,
    partial,
    norm,
    epsilon,
    parameters,
    values,
    elements,
    steps,
    tiles,
    width,
    inner,
    count,
    PULL: tl.constexpr,
    SHORTCUT: tl.constexpr,
    UNIFORM: tl.constexpr,
    ROWS: tl.constexpr,
    COLUMNS: tl.constexpr,
):
    """The gradient of the normalized x, and the sums from which the rest follows."""
    width = width * 16
    tile, group, groups, columns, local, span = placed(tiles, width, ROWS, COLUMNS)
    at = group * span
    here = inside(columns, local, width, elements - at)
    v, g = tl.load(x + at + local, mask=here), tl.load(dy + at + local, mask=here)
    if SHORTCUT:
        s = tl.load(shortcut + at + local, mask=here)
    owned = tile * COLUMNS if UNIFORM else columns
    mean, variance, weight, bias = loaded(norm, owned, inner, count)
    p = loaded(parameters, owned, inner, values)
    scale = weight * tl.rsqrt(variance + epsilon)
    sums = ()
    for _ in tl.static_range(len(parameters) + 2):
        sums += (tl.zeros((ROWS, COLUMNS), tl.float32),)
    for step in range(group, steps, groups):
        later = (step + groups) * span
        there = inside(columns, local, width, elements - later)
        next_v = tl.load(x + later + local, mask=there)
        next_g = tl.load(dy + later + local, mask=there)
        off = v.to(tl.float32) - mean
        z = off * scale + bias
        if SHORTCUT:
            z += s.to(tl.float32)
            s = tl.load(shortcut + later + local, mask=there)
        to_z, to_parameters = PULL(g.to(tl.float32), z, p)
        tl.store(dz + at + local, to_z, mask=here)
        added = (to_z, to_z * off) + to_parameters  # noqa: RUF005
        more = ()
        for k in tl.static_range(len(sums)):
            more += (sums[k] + tl.where(here, added[k], 0.0),)
        sums = more
        v, g, at, here = next_v, next_g, later, there
    leave(partial, sums, tile, tiles, group, groups, columns, width, UNIFORM)


@triton.jit(do_not_specialize=["rows", "count", "inner", "size"])
def pulled(
    partial,
    norm,
    epsilon,
    totals,
    factors,
    rows,
    count,
    inner,
    size,
    ROWS: tl.constexpr,
    COLUMNS: tl.constexpr,
):
    """The gradients of bias, weight and parameters; and dx = f₀·dz − f₁ − f₂·(x − mean)."""
    owners = tl.program_id(0) * COLUMNS + tl.arange(0, COLUMNS)[None, :]
    of, there = tl.program_id(1), owners < count
    total = gathered(partial + of * rows * count, owners, rows, count, inner, ROWS, COLUMNS)
    inverse = tl.rsqrt(tl.load(norm[1] + owners, mask=there, other=1.0) + epsilon)
    scale = inverse * tl.load(norm[2] + owners, mask=there)
    if of == 0:
        tl.store(factors + owners, scale, mask=there)
        tl.store(factors + count + owners, scale * total / size, mask=there)
    if of == 1:
        total *= inverse
        tl.store(factors + 2 * count + owners, scale * inverse * total / size, mask=there)
    tl.store(totals + of * count + owners, total, mask=there)


@triton.jit(do_not_specialize=SIZES)
def to_input(
    x,
    dz,
    dx,
    factors,
    elements,
    steps,
    tiles,
    width,
    inner,
    count,
    UNIFORM: tl.constexpr,
    ROWS: tl.constexpr,
    COLUMNS: tl.constexpr,
):
    width = width * 16
    tile, group, groups, columns, local, span = placed(tiles, width, ROWS, COLUMNS)
    mean, scale, level, slope = loaded(
        factors, tile * COLUMNS if UNIFORM else columns, inner, count
    )
    for step in range(group, steps, groups):
        at = step * span
        here = inside(columns, local, width, elements - at)
        off = tl.load(x + at + local, mask=here).to(tl.float32) - mean
        g = tl.load(dz + at + local, mask=here).to(tl.float32)
        tl.store(dx + at + local, scale * g - level - slope * off, mask=here)

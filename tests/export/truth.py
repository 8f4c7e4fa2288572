"""What every exported operator is held to: float64 truth, value and slope, on the whole range."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

import pangaea as pg
from pangaea.functions.learnable import LEARNABLE, Learnable
from pangaea.functions.operators import BINARY, OPERATORS

UNARY_NAMES = [name for name, row in OPERATORS.items() if row.arity == 1]
PAIRS = [(a, b) for a in (-3.0, -1.0, -0.25, 0.0, 0.5, 2.0) for b in (-3.0, -0.25, 0.0, 0.5, 2.0)]
KINKS = (0.0, 2.5, -2.5)

# Value, and slopes by x and by the parameters, at numbers x with parameters of the same length.
Evaluate = Callable[..., tuple[Any, ...]]


def execute(source: str | bytes) -> dict[str, Any]:
    """What a file with this Python source defines."""
    assert isinstance(source, str)
    namespace: dict[str, Any] = {"__name__": "exported"}
    exec(compile(source, "exported.py", "exec"), namespace)
    return namespace


def operator_text(name: str) -> str:
    """The operator on x, or a binary one on two parameters, for a gradient by each input."""
    return f"{name}(x)" if name in UNARY_NAMES else f"{name}(alpha*one(x), beta*one(x))"


def points(dtype: type) -> np.ndarray:
    info = np.finfo(dtype)
    # Within the normal numbers: some flush the others to zero.
    far = np.logspace(np.log10(float(info.tiny)) + 0.1, np.log10(float(info.max)) - 0.1, 181)
    middle, near = np.linspace(-105, 105, 301), np.linspace(-12, 12, 481)
    return np.concatenate([near, middle, far, -far, KINKS]).astype(dtype)


def tolerance(dtype: type) -> dict[str, float]:
    if dtype == np.float64:
        return {"rtol": 1e-11, "atol": 1e-14}
    return {"rtol": 2e-5, "atol": 1e-6}


def check_unary(
    name: str,
    dtype: type,
    evaluate: Evaluate,
    sizes: tuple[float, float] = (0, math.inf),
    **limits: float,
) -> None:
    """Value, and slope unless it is None, at 0 and at every point of such a size."""
    row, x, limits = OPERATORS[name], points(dtype), {**tolerance(dtype), **limits}
    x = x[(np.abs(x) >= sizes[0]) & (np.abs(x) <= sizes[1]) | (x == 0)]
    value, slope = evaluate(x)
    truth = np.array([row.value(p) for p in x.tolist()])
    by_x = np.array([row.slopes(p)[0] for p in x.tolist()])
    # Near the largest number an operator is let off: sinh is exp(x)/2.
    most = float(np.finfo(dtype).max) / 16
    asked = (np.abs(truth) <= most) & (np.abs(by_x) <= most)
    assert asked.sum() > 150
    np.testing.assert_allclose(np.asarray(value, np.float64)[asked], truth[asked], **limits)
    if slope is not None:
        _check_slopes(name, x, np.asarray(slope, np.float64), by_x, truth, asked, limits)


def _check_slopes(
    name: str,
    x: np.ndarray,
    slope: np.ndarray,
    by_x: np.ndarray,
    truth: np.ndarray,
    asked: np.ndarray,
    limits: dict[str, float],
) -> None:
    smooth = asked & ~np.isin(x, KINKS)
    # A product x·w has the slope w + x·w', which cannot be better than its larger term.
    steepness = np.abs(truth[smooth] / x[smooth].astype(np.float64))
    error = np.abs(slope[smooth] - by_x[smooth])
    excess = error - limits["rtol"] * (np.abs(by_x[smooth]) + steepness)
    assert excess.max() <= limits["atol"]
    # At a kink, any slope between those of its two sides is a right one.
    for kink in (k for k in KINKS if asked[x == k].all()):
        near = (kink - 1e-9, kink, kink + 1e-9)
        sides = [OPERATORS[name].slopes(p)[0] for p in near]
        at = slope[x == kink]
        assert (at >= min(sides) - 1e-6).all()
        assert (at <= max(sides) + 1e-6).all()


def check_binary(
    name: str, dtype: type, evaluate: Evaluate, sizes: Any = None, **limits: float
) -> None:
    row, limits = OPERATORS[name], {**tolerance(dtype), **limits}
    a, b = np.array(PAIRS, dtype).T
    value, by_x, *slopes = evaluate(np.zeros_like(a), a, b)
    truth = np.array([row.value(*pair) for pair in PAIRS])
    value = np.asarray(value, np.float64)
    if name == "pow":
        # Infinity at 0 is for some an error, for others another infinity.
        value, truth = (np.where(a == 0, np.minimum(v, 2), v) for v in (value, truth))
    np.testing.assert_allclose(value, truth, **limits)
    assert by_x is None or not np.any(np.asarray(by_x))
    for i, slope in enumerate(slopes):
        by = np.array([row.slopes(*pair)[i] for pair in PAIRS])
        kept = np.isfinite(truth) & np.isfinite(by)
        assert kept.sum() > 20
        np.testing.assert_allclose(np.asarray(slope, np.float64)[kept], by[kept], **limits)


def check_function(
    function: pg.Function | Learnable, evaluate: Evaluate, dtype: type = np.float64
) -> None:
    """A whole function beside our own module: its value, and its slopes by all it takes."""
    x = np.linspace(-4, 4, 58)  # without 0, where many have a kink
    rng = np.random.default_rng(0)
    values = [rng.uniform(0.7, 1.3, len(x)) for _ in function.parameters]
    module = pg.Activation(function, scope="neuron", shape=(len(x),)).double()
    with torch.no_grad():
        for parameter, numbers in zip(module.parameters(), values, strict=True):
            parameter.copy_(torch.tensor(numbers))
    point = torch.tensor(x, requires_grad=True)
    truth = module(point)
    inputs = [point, *module.parameters()]
    slopes = torch.autograd.grad((truth + 0 * point).sum(), inputs, allow_unused=True)
    results = evaluate(*(numbers.astype(dtype) for numbers in (x, *values)))
    limits = {"rtol": 1e-8, "atol": 1e-9} if dtype == np.float64 else {"rtol": 2e-4, "atol": 2e-5}
    # Where the truth is steep, a point rounded to float32 is another one.
    shown = truth.detach().isfinite().numpy()
    for slope in slopes:
        shown &= (slope.isfinite() & (slope.abs() < 1e3)).numpy()
    assert shown.sum() > 15
    for part, whole in zip(results, (truth.detach(), *slopes), strict=True):
        np.testing.assert_allclose(np.asarray(part)[shown], whole.numpy()[shown], **limits)


SCOPES = ("layer", "channel", "neuron")


def trained(
    text: str, scope: Any, shape: tuple[int, ...] = (6, 3), channel_dim: int = 1
) -> pg.Activation:
    """A module whose parameters are no longer where they started."""
    module = pg.Activation(text, scope=scope, shape=shape, channel_dim=channel_dim)
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.copy_(1 + 0.2 * torch.randn_like(parameter))
    return module


FUNCTIONS: dict[str, pg.Function | Learnable] = {
    **pg.catalog(),
    **LEARNABLE,
    "twice": pg.parse("tanh(sinh(x)) * sinh(x) - beta*(sinh(x)/cosh(gamma*x))"),
    "constant": pg.parse("alpha*one(x)"),
    "input": pg.parse("x"),
    "scaled": pg.parse("alpha*x"),
}


def all_operators() -> Any:
    """A parametrization over every operator: its name and its check."""
    rows = [(name, check_unary) for name in UNARY_NAMES]
    rows += [(name, check_binary) for name in BINARY]
    return pytest.mark.parametrize(("name", "check"), rows, ids=[name for name, _ in rows])

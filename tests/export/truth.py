"""What every exported operator is held to: float64 truth, value and slope, on the whole range."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import pangaea as pg
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


def unary_text(name: str) -> str:
    return f"{name}(x)"


def binary_text(name: str) -> str:
    """The operator on two parameters, so that it has a gradient by each of its inputs."""
    return f"{name}(alpha*one(x), beta*one(x))"


def points(dtype: type) -> np.ndarray:
    info = np.finfo(dtype)
    far = np.logspace(np.log10(float(info.tiny)), np.log10(float(info.max)) - 0.1, 181)
    middle, near = np.linspace(-105, 105, 301), np.linspace(-12, 12, 481)
    return np.concatenate([near, middle, far, -far, KINKS]).astype(dtype)


def tolerance(dtype: type) -> dict[str, float]:
    if dtype == np.float64:
        return {"rtol": 1e-11, "atol": 1e-14}
    return {"rtol": 2e-5, "atol": 1e-6}


def check_unary(name: str, dtype: type, evaluate: Evaluate, **limits: float) -> None:
    row, x, limits = OPERATORS[name], points(dtype), {**tolerance(dtype), **limits}
    value, slope = (np.asarray(part, np.float64) for part in evaluate(x))
    truth = np.array([row.value(p) for p in x.tolist()])
    by_x = np.array([row.slopes(p)[0] for p in x.tolist()])
    # What the operator multiplies is let off near the largest number: sinh is exp(x)/2.
    most = float(np.finfo(dtype).max) / 16
    asked = (np.abs(truth) <= most) & (np.abs(by_x) <= most)
    assert asked.sum() > 150
    np.testing.assert_allclose(value[asked], truth[asked], **limits)
    smooth = asked & ~np.isin(x, KINKS)
    # A product x·w has the slope w + x·w', which cannot be better than its larger term.
    steepness = np.abs(truth[smooth] / x[smooth].astype(np.float64))
    error = np.abs(slope[smooth] - by_x[smooth])
    excess = error - limits["rtol"] * (np.abs(by_x[smooth]) + steepness)
    assert excess.max() <= limits["atol"]
    # At a kink, any slope between those of its two sides is a right one.
    for kink in (k for k in KINKS if asked[x == k].all()):
        sides = [row.slopes(float(p))[0] for p in (kink - 1e-9, kink, kink + 1e-9)]
        at = slope[x == kink]
        assert (at >= min(sides) - 1e-6).all()
        assert (at <= max(sides) + 1e-6).all()


def check_binary(name: str, dtype: type, evaluate: Evaluate, **limits: float) -> None:
    row, limits = OPERATORS[name], {**tolerance(dtype), **limits}
    a, b = np.array(PAIRS, dtype).T
    value, _, *slopes = evaluate(np.zeros_like(a), a, b)
    truth = np.array([row.value(*pair) for pair in PAIRS])
    np.testing.assert_allclose(np.asarray(value, np.float64), truth, **limits)
    for i, slope in enumerate(slopes):
        by = np.array([row.slopes(*pair)[i] for pair in PAIRS])
        kept = np.isfinite(truth) & np.isfinite(by)
        assert kept.sum() > 20
        np.testing.assert_allclose(np.asarray(slope, np.float64)[kept], by[kept], **limits)


FUNCTIONS = {
    **pg.catalog(),
    "shared": pg.parse("swish(alpha*x) + swish(alpha_free*x)".replace("alpha_free*", "")),
    "twice": pg.parse("tanh(sinh(x)) * sinh(x) - beta*(sinh(x)/cosh(gamma*x))"),
    "constant": pg.parse("alpha*one(x)"),
    "input": pg.parse("x"),
}
NAMES = sorted(FUNCTIONS)


def all_operators(*values: Any) -> Any:
    """A parametrization over every operator: its name and its check."""
    rows = [(name, check_unary) for name in UNARY_NAMES]
    rows += [(name, check_binary) for name in BINARY]
    return pytest.mark.parametrize(("name", "check"), rows, ids=[name for name, _ in rows])

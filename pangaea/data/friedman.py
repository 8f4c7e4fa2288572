"""Friedman's regression problems (Annals of Statistics 19, 1991), drawn from their formulas.

Training targets carry noise; validation and test targets are the function itself, so that a score
says how much of the function was learnt.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

Array = npt.NDArray[Any]

SIZES = {"training": 2048, "validation": 4096, "test": 8192}
_SEEDS = {"training": 1, "validation": 2, "test": 3}  # each part is a drawing of its own
SIGNAL_TO_NOISE = 5.0


@dataclass(frozen=True)
class Problem:
    """A function of inputs that are uniform between two limits each."""

    low: tuple[float, ...]
    high: tuple[float, ...]
    function: Callable[[Array], Array]


def _first(x: Array) -> Array:
    """Five of the ten inputs have no say."""
    waves = 10 * np.sin(np.pi * x[:, 0] * x[:, 1])
    return np.asarray(waves + 20 * (x[:, 2] - 0.5) ** 2 + 10 * x[:, 3] + 5 * x[:, 4])


def _reactance(x: Array) -> Array:
    return np.asarray(x[:, 1] * x[:, 2] - 1 / (x[:, 1] * x[:, 3]))


_CIRCUIT = (0.0, 40 * np.pi, 0.0, 1.0), (100.0, 560 * np.pi, 1.0, 11.0)
PROBLEMS = {
    1: Problem((0.0,) * 10, (1.0,) * 10, _first),
    2: Problem(*_CIRCUIT, lambda x: np.hypot(x[:, 0], _reactance(x))),  # impedance
    3: Problem(*_CIRCUIT, lambda x: np.arctan2(_reactance(x), x[:, 0])),  # phase
}


@dataclass(frozen=True, eq=False)
class Rows:
    """Inputs (N, features) and targets (N,), both with mean 0 and deviation 1 in training."""

    inputs: Tensor
    targets: Tensor


@cache
def rows(number: int, part: str) -> Rows:
    """One part of a problem, standardized by what the training part is like."""
    problem = PROBLEMS[number]
    x, y = _drawn(problem, part)
    inputs, targets = (x, y) if part == "training" else _drawn(problem, "training")
    noise = np.random.Generator(np.random.PCG64(0)).standard_normal(len(targets))
    noisy = targets + noise * targets.std() / SIGNAL_TO_NOISE
    values = ((noisy if part == "training" else y) - noisy.mean()) / noisy.std()
    scaled = (x - inputs.mean(0)) / inputs.std(0)
    return Rows(
        torch.tensor(scaled, dtype=torch.float32), torch.tensor(values, dtype=torch.float32)
    )


def _drawn(problem: Problem, part: str) -> tuple[Array, Array]:
    draws = np.random.Generator(np.random.PCG64(_SEEDS[part]))
    low, high = np.array(problem.low), np.array(problem.high)
    x = low + (high - low) * draws.random((SIZES[part], len(low)))
    return x, problem.function(x)

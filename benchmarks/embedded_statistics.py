"""Are functions better than one that was chosen before? One-tailed Welch tests, Holm's correction.

SciPy has the first as well; `embedded.py` also runs where SciPy is not installed.
"""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from pangaea.report.measures import mean_or_none
from pangaea.tasks.goal import Goal

Scores = Sequence[float | None]  # of several runs; None for one that failed


def described(goal: Goal, scores: Scores) -> dict[str, Any]:
    """A function's runs as plain data."""
    return {
        "n": len(scores),
        "mean": mean_or_none(goal, scores),
        "sd": goal.sd(scores),
        "failures": [*scores].count(None),
        "scores": [*scores],
    }


def compared(
    goal: Goal, functions: Sequence[str], against: str, tests: dict[str, Scores]
) -> list[dict[str, Any]]:
    """Each function with the one that it is tested against."""
    scores = [tests[function] for function in functions]
    chances = [welch(goal, some, tests[against]) for some in scores]
    than = mean_or_none(goal, tests[against])
    rows = []
    for function, some, p, corrected in zip(functions, scores, chances, holm(chances), strict=True):
        mean = mean_or_none(goal, some)
        rows.append(
            {
                "function": function,
                "against": against,
                "gain": None if mean is None or than is None else goal.gain(mean, than),
                "p": p,
                "p, corrected": corrected,
            }
        )
    return rows


def welch(goal: Goal, better: Scores, than: Scores) -> float:
    """The p of a one-tailed t-test that the first scores are better; 1 where none can be made."""
    a, b = (np.array([goal.oriented(s) for s in goal.worths(scores)]) for scores in (better, than))
    if min(len(a), len(b)) < 2 or not np.isfinite([*a, *b]).all():
        return 1.0
    of_a, of_b = a.var(ddof=1) / len(a), b.var(ddof=1) / len(b)
    if of_a + of_b == 0:
        return float(a.mean() <= b.mean())
    t = (a.mean() - b.mean()) / math.sqrt(of_a + of_b)
    freedom = (of_a + of_b) ** 2 / (of_a**2 / (len(a) - 1) + of_b**2 / (len(b) - 1))
    return tail(t, freedom)


def tail(t: float, freedom: float) -> float:
    """P(T > t) for Student's T: with t = √ν·tan θ its density is cos(θ)^(ν − 1), but for scale."""

    def area(low: float) -> float:
        angles = np.linspace(low, math.pi / 2, 100_001)
        return float(np.trapezoid(np.cos(angles) ** (freedom - 1), angles))

    return area(math.atan(t / math.sqrt(freedom))) / area(-math.pi / 2)


def holm(chances: Sequence[float]) -> list[float]:
    """Each p so that the chance of any mistake among all of them stays below it."""
    corrected, largest = [1.0] * len(chances), 0.0
    for rank, place in enumerate(sorted(range(len(chances)), key=chances.__getitem__)):
        largest = max(largest, min(1.0, (len(chances) - rank) * chances[place]))
        corrected[place] = largest
    return corrected

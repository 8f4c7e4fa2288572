"""Numbers as they are compared and shown: mean ± sd, p, and how long something took."""

import math
from collections.abc import Sequence
from datetime import datetime

from pangaea.tasks.goal import Goal

Scores = Sequence[float | None]
"""Of several runs; None for one that failed."""


def welch(goal: Goal, better: Scores, than: Scores) -> float | None:
    """The p of a one-tailed Welch t-test that the first scores are better; None if it cannot be.

    A failed run counts as what the goal says it is worth.
    """
    # scipy.stats has the whole test, and takes a second to import: longer than a page of a study.
    import numpy as np
    from scipy.special import stdtr

    mine = [goal.oriented(score) for score in goal.worths(better)]
    others = [goal.oriented(score) for score in goal.worths(than)]
    if len(mine) < 2 or len(others) < 2 or not all(map(math.isfinite, [*mine, *others])):
        return None
    if len(set(mine)) == len(set(others)) == 1:
        return None if mine[0] == others[0] else float(mine[0] < others[0])
    with np.errstate(all="ignore"):  # of scores that are hardly numbers
        a, b = (np.var(scores, ddof=1) / len(scores) for scores in (mine, others))
        t = (np.mean(mine) - np.mean(others)) / np.sqrt(a + b)
        freedom = (a + b) ** 2 / (a**2 / (len(mine) - 1) + b**2 / (len(others) - 1))
        p = float(stdtr(freedom, -t))
    return p if math.isfinite(p) else None


def stars(p: float | None) -> str:
    """The paper's asterisks: *, ** and *** for p up to 0.05, 0.01 and 0.001."""
    return "" if p is None else "*" * sum(p <= limit for limit in (0.05, 0.01, 0.001))


_SUPERSCRIPT = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def probability(p: float | None) -> str:
    """With the paper's stars: `0.012 *`, `1.6·10⁻⁸ ***`; nothing for None."""
    if p is None:
        return ""
    digits, _, exponent = f"{p:.2g}".partition("e")
    power = "·10" + str(int(exponent)).translate(_SUPERSCRIPT) if exponent else ""
    return f"{digits}{power} {stars(p)}".rstrip()


def legend(against: str) -> str:
    """What p and its stars mean."""
    return f"p: one-tailed Welch t-test against {against}; * p ≤ 0.05, ** p ≤ 0.01, *** p ≤ 0.001"


def bare(goal: Goal | None, score: float | None) -> str:
    """A score as in a column that names its unit; nothing for None."""
    if score is None:
        return ""
    return f"{score:.4g}" if goal is None else goal.bare(score)


def spread(goal: Goal, scores: Scores) -> str:
    """`mean ± sd` without the unit; nothing if there are no runs."""
    mean = goal.mean(scores)
    return "" if mean is None else goal.shown_mean(mean, goal.sd(scores))


def mean_or_none(goal: Goal, scores: Scores | None) -> float | None:
    """The mean as plain data: None also for one that is infinitely bad."""
    return finite(goal.mean(scores or []))


def finite(value: float | None) -> float | None:
    return value if value is not None and math.isfinite(value) else None


def duration(seconds: float) -> str:
    if seconds < 120:
        return f"{seconds:.0f} s"
    if seconds < 7200:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.1f} h"


def time_unit(seconds: float) -> tuple[str, float]:
    """The unit that an axis of such a length is counted in, and its seconds."""
    for name, size in (("days", 86_400.0), ("hours", 3_600.0), ("minutes", 60.0)):
        if seconds >= 2 * size:
            return name, size
    return "seconds", 1.0


def moment(seconds: float) -> str:
    try:
        return datetime.fromtimestamp(seconds).strftime("%Y-%m-%d %H:%M:%S")
    except (ValueError, OverflowError, OSError):
        return "at no time that a calendar has"

"""The paper's statistics: mean ± sample standard deviation, one-tailed Welch tests, stars."""

import warnings
from collections.abc import Sequence


def welch(better: Sequence[float], than: Sequence[float]) -> float | None:
    """The p of a one-tailed Welch t-test that the first mean is greater; None if it cannot be."""
    from scipy.stats import ttest_ind

    if len(better) < 2 or len(than) < 2:
        return None
    if len(set(better)) == len(set(than)) == 1:
        return None if better[0] == than[0] else float(better[0] < than[0])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # of runs that all failed: they are equal
        return float(ttest_ind(better, than, equal_var=False, alternative="greater").pvalue)


def stars(p: float | None) -> str:
    """The paper's asterisks: *, ** and *** for p up to 0.05, 0.01 and 0.001."""
    return "" if p is None else "*" * sum(p <= limit for limit in (0.05, 0.01, 0.001))

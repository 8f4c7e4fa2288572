"""Can a search tell from its own candidates which untried functions are good? From `pg.bench()`.

    python benchmarks/surrogates.py

A Gaussian process on what functions look like (values and slopes at normal quantiles, up to scale
and shift) learns from the candidates of one search, and predicts functions that were trained three
times or more with the full budget elsewhere: all of them, and those that are worth a choice.
"""

from statistics import NormalDist

import numpy as np
from scipy.stats import spearmanr

import pangaea as pg
from pangaea.functions.expression import Function

SHORT, FULL = 20, 40  # epochs
REPEATS = 3
GOOD = 75.0
POINTS = [-4.0, -2.8, *(NormalDist().inv_cdf((k + 0.5) / 16) for k in range(16)), 2.8, 4.0]
HUGE = 1e6


def looks(function: Function) -> np.ndarray:
    values = np.clip(np.nan_to_num([function(x) for x in POINTS], nan=HUGE), -HUGE, HUGE)
    values = (values - values.mean()) / (values.std() or 1.0)
    return np.arcsinh(np.concatenate([values, np.gradient(values, POINTS)]))


def distances(some: np.ndarray, others: np.ndarray) -> np.ndarray:
    squares = (some**2).sum(1)[:, None] + (others**2).sum(1) - 2 * some @ others.T
    return np.sqrt(np.maximum(squares, 0))


def predicted(known: np.ndarray, scores: np.ndarray, new: np.ndarray) -> np.ndarray:
    """Means of a process whose length is the median distance, its noise half of the variance."""
    apart = distances(known, known)
    length = np.median(apart[apart > 0])

    def kernel(some: np.ndarray, others: np.ndarray) -> np.ndarray:
        return np.exp(-0.5 * (distances(some, others) / length) ** 2)

    mean, spread = scores.mean(), scores.std()
    noisy = kernel(known, known) + 0.5 * np.eye(len(known))
    return mean + spread * kernel(new, known) @ np.linalg.solve(noisy, (scores - mean) / spread)


def main() -> None:
    runs = pg.bench().where(task="mnist1d", part="validation")
    look = {
        mark: looks(pg.parse(text)) for mark, text in zip(runs.mark, runs.function, strict=True)
    }
    full: dict[str, list[float]] = {}
    longest = runs.where(budget=FULL)
    for mark, score in zip(longest.mark, longest.score, strict=True):
        full.setdefault(mark, []).append(float(np.nan_to_num(score)))
    marks = [mark for mark, scores in full.items() if len(scores) >= REPEATS]
    worth = np.array([np.mean(full[mark]) for mark in marks])
    new = np.array([look[mark] for mark in marks])
    good = worth > GOOD
    tried = runs.where(stage="search", budget=SHORT)
    rows = []
    for study in np.unique(tried.study):
        candidates = tried.where(study=study)
        scores = np.nan_to_num(candidates.score)
        scores = np.maximum(scores, np.quantile(scores, 0.4))  # how bad the bad are is no matter
        guess = predicted(np.array([look[mark] for mark in candidates.mark]), scores, new)
        rows.append([spearmanr(guess, worth)[0], spearmanr(guess[good], worth[good])[0]])
    every, best = np.mean(rows, 0)
    print(f"{len(rows)} searches, {len(marks)} functions, {good.sum()} above {GOOD:g}")
    print(f"Spearman, mean over searches: all {every:.2f}, above {GOOD:g} {best:.2f}")


if __name__ == "__main__":
    main()

"""Can a search tell from its own candidates which untried functions are good? From `pg.bench()`.

    python benchmarks/surrogates.py

Two ways to guess: a Gaussian process on what functions look like (values and slopes at normal
quantiles, up to scale and shift), and the places of those trials that have similar traits. Two
questions: how the candidates that a search tried next came out, and how functions of other searches
did in three runs or more with the full budget.
"""

from collections.abc import Callable, Sequence
from functools import cache
from statistics import NormalDist

import numpy as np
from scipy.stats import rankdata, spearmanr

import pangaea as pg
from pangaea.evolution.freedom import freedom
from pangaea.evolution.trials import Measured, Trial

TASKS = ("mnist1d", "tabular", "tabular-3", "pinn", "charlm", "wrn-10-4/cifar100/coarse")
SHORT, FULL = 20, 40  # epochs
REPEATS = 3
GOOD = 75.0
FIRST, STEP, NEXT = 30, 20, 20  # after so many candidates, and every so many, so many are guessed
POINTS = [-4.0, -2.8, *(NormalDist().inv_cdf((k + 0.5) / 16) for k in range(16)), 2.8, 4.0]
HUGE = 1e6
FLAT = 0.05  # a slope that is hardly there, in a function's spread
LEAST = 1e-3  # what a constant counts as where a logarithm is taken
NEAR = 0.7  # the distance, in the trials' standard deviations, at which one counts 1/e
FAR = 3.0  # deviations from the trials' mean: beyond, all are alike
DOUBT = 0.3  # what is known before any trial, that the place is the middle one, counts so much

Guess = Callable[[Sequence[Trial], Sequence[str]], Sequence[float]]


@cache
def heights(text: str) -> np.ndarray:
    function = pg.parse(text)
    return np.clip(np.nan_to_num([function(x) for x in POINTS], nan=HUGE), -HUGE, HUGE)


@cache
def looks(text: str) -> np.ndarray:
    values = heights(text)
    values = (values - values.mean()) / (values.std() or 1.0)
    return np.arcsinh(np.concatenate([values, np.gradient(values, POINTS)]))


@cache
def traits(text: str) -> np.ndarray:
    """A few numbers: freedom, scale, shift, evenness, roughness, peak, flatness."""
    values = heights(text)
    spread = float(values.std())
    shape = (values - values.mean()) / (spread or 1.0)
    slopes = np.gradient(shape, POINTS)
    return np.array(
        [
            np.log1p(freedom(text)),
            np.log(spread + LEAST),
            np.tanh(values.mean() / (spread or 1.0)),
            np.log(np.std(shape + shape[::-1]) + LEAST),
            np.log1p(np.abs(np.diff(slopes)).sum()),
            np.log1p(np.abs(shape).max()),
            np.mean(np.abs(slopes) < FLAT),
        ]
    )


def distances(some: np.ndarray, others: np.ndarray) -> np.ndarray:
    squares = (some**2).sum(1)[:, None] + (others**2).sum(1) - 2 * some @ others.T
    return np.sqrt(np.maximum(squares, 0))


def process(trials: Sequence[Trial], texts: Sequence[str]) -> np.ndarray:
    """Means of a process whose length is the median distance, its noise half of the variance."""
    known, new = (np.array([*map(looks, of)]) for of in ([t.text for t in trials], texts))
    scored = [trial.score for trial in trials if trial.score is not None]
    scores = np.array([min(scored) if t.score is None else t.score for t in trials])
    scores = np.maximum(scores, np.quantile(scores, 0.4))  # how bad the bad are is no matter
    apart = distances(known, known)
    length = np.median(apart[apart > 0])

    def kernel(some: np.ndarray, others: np.ndarray) -> np.ndarray:
        return np.exp(-0.5 * (distances(some, others) / length) ** 2)

    mean, spread = scores.mean(), scores.std() or 1.0
    noisy = kernel(known, known) + 0.5 * np.eye(len(known))
    return mean + spread * kernel(new, known) @ np.linalg.solve(noisy, (scores - mean) / spread)


def similar(trials: Sequence[Trial], texts: Sequence[str]) -> np.ndarray:
    """The mean place of the trials, from 0 to 1, each counting the more the more it is alike."""
    places = rankdata([-np.inf if t.score is None else t.score for t in trials]) / len(trials)
    known, new = (np.array([*map(traits, of)]) for of in ([t.text for t in trials], texts))
    middle, spread = known.mean(0), known.std(0)
    spread[spread == 0] = 1.0
    known, new = (np.clip((each - middle) / spread, -FAR, FAR) for each in (known, new))
    weights = np.exp(-distances(new, known) / NEAR)
    return (weights @ places + DOUBT * 0.5) / (weights.sum(1) + DOUBT)


GUESSES: dict[str, Guess] = {"a process on looks": process, "places of similar traits": similar}


def searches(task: str) -> list[list[Trial]]:
    """The candidates of each search that chose by no such guess, larger scores being better."""
    runs = pg.bench().where(task=task, part="validation", stage="search")
    runs = runs.where(budget=int(runs.budget.min()))
    goal = pg.task(task).goal
    histories = []
    for study in np.unique(runs.study):
        if study.startswith(("choosy", "belief", "shrewd")) or "discard" in study:
            continue
        rows = runs.where(study=study)
        scores = [None if np.isnan(score) else goal.oriented(float(score)) for score in rows.score]
        histories.append(
            [
                Trial(number, text, None, (Measured(SHORT, score),), score)
                for number, (text, score) in enumerate(zip(rows.function, scores, strict=True))
            ]
        )
    return histories


def next_ones(trials: Sequence[Trial], guess: Guess) -> list[tuple[float, float]]:
    """Of the candidates that came next: Spearman, and the part of the best tenth that is kept by
    who takes the better half as guessed.
    """
    scores = np.array([-np.inf if t.score is None else t.score for t in trials])
    best = rankdata(scores) > 0.9 * len(scores)
    rows = []
    for start in range(FIRST, len(trials) - NEXT, STEP):
        now = slice(start, start + NEXT)
        guessed = np.array(guess(trials[:start], [trial.text for trial in trials[now]]))
        half = np.argsort(-guessed)[: NEXT // 2]
        kept = best[now][half].sum() / best[now].sum() if best[now].any() else np.nan
        rows.append((float(spearmanr(guessed, scores[now])[0]), float(kept)))
    return rows


def elsewhere() -> tuple[list[str], np.ndarray]:
    """Functions with several long runs on the default task, and what they are worth."""
    longest = pg.bench().where(task="mnist1d", part="validation", budget=FULL).pooled()
    worth = {text: np.nan_to_num(same.score) for text, same in longest.items()}
    worth = {text: scores.mean() for text, scores in worth.items() if len(scores) >= REPEATS}
    return [*worth], np.array([*worth.values()])


def main() -> None:
    for task in TASKS:
        past = searches(task)
        for name, guess in GUESSES.items():
            rows = [row for trials in past for row in next_ones(trials, guess)]
            rho, kept = np.nanmean(rows, 0)
            print(
                f"{task}, {len(past)} searches, the next {NEXT}, {name}: Spearman {rho:.2f}, "
                f"{kept:.0%} of the best tenth in the better half"
            )
    texts, worth = elsewhere()
    good = worth > GOOD
    past = searches("mnist1d")
    for name, guess in GUESSES.items():
        rows = []
        for trials in past:
            guessed = np.array(guess(trials, texts))
            rows.append((spearmanr(guessed, worth)[0], spearmanr(guessed[good], worth[good])[0]))
        every, best = np.mean(rows, 0)
        print(
            f"mnist1d, {len(texts)} functions of other searches, {name}: Spearman {every:.2f}, "
            f"of the {good.sum()} above {GOOD:g} {best:.2f}"
        )


if __name__ == "__main__":
    main()

"""What functions are like, in seven numbers, and where those that are alike may stand."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from statistics import NormalDist
from typing import TYPE_CHECKING

from pangaea.evolution.freedom import freedom
from pangaea.evolution.trials import Trial
from pangaea.functions.parser import parse

if TYPE_CHECKING:
    import numpy as np

_QUANTILES = (NormalDist().inv_cdf((k + 0.5) / 16) for k in range(16))
_POINTS = (-4.0, -2.8, *_QUANTILES, 2.8, 4.0)
_HUGE = 1e6
_FLAT = 0.05  # a slope that is hardly there, in a function's spread
_LEAST = 1e-3  # what a constant counts as where a logarithm is taken
_FAR = 3.0  # deviations from the trials' mean: beyond, all are alike
_NOISE = 0.3
_POWER = 4  # of a trial's place: what is near the best counts, how bad the bad are does not


@lru_cache(20_000)
def traits(text: str) -> np.ndarray:
    """Freedom, scale, shift, evenness, roughness, peak and flatness."""
    import numpy as np

    function = parse(text)
    values = np.clip(np.nan_to_num([function(x) for x in _POINTS], nan=_HUGE), -_HUGE, _HUGE)
    spread = float(values.std())
    shape = (values - values.mean()) / (spread or 1.0)
    slopes = np.gradient(shape, _POINTS)
    return np.array(
        [
            np.log1p(freedom(text)),
            np.log(spread + _LEAST),
            np.tanh(values.mean() / (spread or 1.0)),
            np.log(np.std(shape + shape[::-1]) + _LEAST),
            np.log1p(np.abs(np.diff(slopes)).sum()),
            np.log1p(np.abs(shape).max()),
            np.mean(np.abs(slopes) < _FLAT),
        ]
    )


def believed(trials: Sequence[Trial], texts: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
    """The place that each is expected at, and how uncertain that is: a Gaussian process."""
    import numpy as np

    scores = np.array([-np.inf if t.score is None else t.score for t in trials])
    order = np.sort(scores)
    ranks = np.searchsorted(order, scores, "left") + np.searchsorted(order, scores, "right") + 1
    place = (ranks / 2 / len(scores)) ** _POWER
    place = (place - place.mean()) / place.std()
    known, new = (np.array([*map(traits, of)]) for of in ([t.text for t in trials], texts))
    middle, spread = known.mean(0), known.std(0)
    spread[spread == 0] = 1.0
    known, new = (np.clip((each - middle) / spread, -_FAR, _FAR) for each in (known, new))

    def kernel(some: np.ndarray, others: np.ndarray) -> np.ndarray:
        squares = (some**2).sum(1)[:, None] + (others**2).sum(1) - 2 * some @ others.T
        return np.asarray(np.exp(-np.sqrt(np.maximum(squares, 0) / some.shape[1])))

    factor = np.linalg.cholesky(kernel(known, known) + _NOISE * np.eye(len(known)))
    across = np.linalg.solve(factor, kernel(known, new))
    mean = across.T @ np.linalg.solve(factor, place)
    return mean, np.sqrt(np.maximum(1 - (across**2).sum(0), 0))

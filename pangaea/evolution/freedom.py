"""What a function's parameters can make of it, beyond what the layers around it do anyway."""

from __future__ import annotations

import math
from functools import lru_cache
from statistics import NormalDist
from typing import TYPE_CHECKING

from pangaea.functions.expression import Function
from pangaea.functions.parser import parse

if TYPE_CHECKING:
    import numpy as np

# Where the outputs of a normalized layer are, and a look at the tails.
_QUANTILES = (NormalDist().inv_cdf((k + 0.5) / 16) for k in range(16))
_POINTS = (-4.0, -2.8, *_QUANTILES, 2.8, 4.0)
_STEP = 1e-3
_HUGE = 1e6


@lru_cache(20_000)
def freedom(text: str) -> float:
    """How far parameters can bend a function, in its own spread.

    The next layer learns any scale and shift of what it is given, so a parameter that only scales
    or shifts adds nothing: what counts is the part of the parameters' tangents that is neither.
    """
    import numpy as np  # which a command that proposes nothing does not wait for

    function = parse(text)
    values = _values(function)
    spread = float(values.std())
    if not function.parameters or not spread:
        return 0.0
    undone = np.stack([np.ones_like(values), values - values.mean()])
    undone /= np.linalg.norm(undone, axis=1, keepdims=True)
    tangents = np.stack(
        [(_values(function, **{name: 1 + _STEP}) - values) / _STEP for name in function.parameters]
    )
    left = tangents - tangents @ undone.T @ undone
    largest = float(np.linalg.svd(left, compute_uv=False)[0])
    return largest / math.sqrt(len(values)) / spread


def _values(function: Function, **parameters: float) -> np.ndarray:
    import numpy as np

    values = [function(x, **parameters) for x in _POINTS]
    return np.clip(np.nan_to_num(values, nan=_HUGE), -_HUGE, _HUGE)

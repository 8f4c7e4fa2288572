"""What a function looks like: bounds, direction, kinks and jumps, found numerically."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise

_STEP = 0.02
_NEAR = tuple(i * _STEP for i in range(-400, 401))
_FAR = (10.0, 1e2, 1e4, 1e8)


@dataclass(frozen=True, slots=True)
class Shape:
    """Bounds are infinite where there are none; a direction is None where it changes."""

    lower: float
    upper: float
    direction: str | None
    kinks: tuple[float, ...]
    jumps: tuple[float, ...]
    undefined: bool


def shape(value: Callable[[float], float], slope: Callable[[float], float]) -> Shape:
    """The shape of a function of one number, from its value and slope."""
    kinks, jumps = _breaks(value, slope)
    close = [x + s * d for x in jumps for d in (1e-3, 1e-6, 1e-9) for s in (1, -1)]
    points = sorted([*(-x for x in _FAR), *_NEAR, *close, *_FAR])
    values = [value(x) for x in points]
    defined = [v for v in values if not math.isnan(v)]
    return Shape(
        lower=-_supremum(lambda x: -value(x), [-v for v in defined]),
        upper=_supremum(value, defined),
        direction=_direction(defined),
        kinks=kinks,
        jumps=jumps,
        undefined=len(defined) < len(values),
    )


def _supremum(value: Callable[[float], float], values: list[float]) -> float:
    best = max(values, default=math.nan)
    if best > 1e8:
        return math.inf  # next to a pole
    for side in (1, -1):
        near, middle, far = (value(side * x) for x in _FAR[1:])
        # What still grows as fast from 1e4 to 1e8 as it did from 1e2 to 1e4 has no limit.
        if math.isinf(far) and far > 0:
            return math.inf
        if far > middle and not far - middle < 0.5 * (middle - near):
            return math.inf
    return best


def _direction(values: list[float]) -> str | None:
    pairs = list(pairwise(values))
    rising = all(b >= a or math.isclose(a, b, rel_tol=1e-12) for a, b in pairs)
    falling = all(b <= a or math.isclose(a, b, rel_tol=1e-12) for a, b in pairs)
    if rising and falling:
        return "constant"
    return "increasing" if rising else "decreasing" if falling else None


def _breaks(
    value: Callable[[float], float], slope: Callable[[float], float]
) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Where the slope breaks, and where the value does."""
    kinks: list[float] = []
    jumps: list[float] = []
    # Off the round numbers, where the breaks are, so that each lies inside one interval.
    edges = [x + _STEP * 0.381966 for x in _NEAR]
    for low, high in pairwise(edges):
        for measure, places in ((value, jumps), (slope, kinks)):
            place = _discontinuity(measure, low, high)
            if place is not None:
                places.append(place)
                break
    return tuple(kinks), tuple(jumps)


def _discontinuity(measure: Callable[[float], float], low: float, high: float) -> float | None:
    at_low, at_high = measure(low), measure(high)
    if not (math.isfinite(at_low) and math.isfinite(at_high)):
        return None

    def apart() -> bool:
        return abs(at_high - at_low) > 1e-3 * (1 + min(abs(at_low), abs(at_high)))

    while high - low > 1e-9:
        if not apart():
            return None
        middle = (low + high) / 2
        at_middle = measure(middle)
        if abs(at_middle - at_low) > abs(at_high - at_middle):
            high, at_high = middle, at_middle
        else:
            low, at_low = middle, at_middle
    return round((low + high) / 2, 6) + 0.0 if apart() else None

"""Goals: what a score means, which of two is better, what a failure is worth, how it is printed."""

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from statistics import fmean, stdev
from typing import Any

from pangaea.errors import PangaeaError

_MOST_DIGITS = 12  # behind the point; a float has no more to tell
_USUAL_DIGITS = 4
_LARGE = 1e9
_PARTS = ("validation ", "test ")  # of the data, which a goal's name may begin with


@dataclass(frozen=True, kw_only=True)
class Goal:
    """What is measured."""

    name: str
    unit: str = ""
    maximised: bool = True
    failure: float | None = None  # what a failed run is worth in a mean; None: infinitely bad
    threshold: float | None = None  # V: a function breeds from this score on; None: from any
    digits: int = _USUAL_DIGITS

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not self.name.strip():
            raise PangaeaError(f"a goal has a name such as 'validation loss', got {self.name!r}")
        for name in ("failure", "threshold"):
            value = getattr(self, name)
            number = isinstance(value, int | float) and not isinstance(value, bool)
            if value is not None and not (number and math.isfinite(value)):
                raise PangaeaError(f"a goal's {name} is a finite number or None, got {value!r}")
        if not isinstance(self.unit, str) or not isinstance(self.maximised, bool):
            raise PangaeaError(
                "a goal's unit is a text, and maximised true or false, "
                f"got {self.unit!r} and {self.maximised!r}"
            )
        if type(self.digits) is not int or not 0 <= self.digits <= _MOST_DIGITS:
            raise PangaeaError(
                f"a goal is printed with 0 to {_MOST_DIGITS} digits, got {self.digits!r}"
            )

    # Which score is better.

    def oriented(self, score: float) -> float:
        """The score so that larger is better; also the way back."""
        return score if self.maximised else -score

    def gain(self, score: float, than: float) -> float:
        """By how much a score is better than another one."""
        return self.oriented(score) - self.oriented(than)

    @property
    def worst(self) -> float:
        """What a failed run is worth in a mean."""
        return self.oriented(-math.inf) if self.failure is None else self.failure

    def worths(self, scores: Sequence[float | None]) -> list[float]:
        """What runs are worth in a mean; None is a failure."""
        return [self.worst if score is None else score for score in scores]

    def mean(self, scores: Sequence[float | None]) -> float | None:
        return fmean(self.worths(scores)) if scores else None

    def sd(self, scores: Sequence[float | None]) -> float | None:
        """Sample standard deviation; None for fewer than two runs, or one infinitely bad."""
        values = self.worths(scores)
        return stdev(values) if len(values) > 1 and all(map(math.isfinite, values)) else None

    # How it is printed.

    @property
    def suffix(self) -> str:
        """What stands behind a number: `%` at once, a word after a space."""
        return self.unit if self.unit in ("", "%") else f" {self.unit}"

    def bare(self, score: float) -> str:
        """A score without its unit, as in a column that names it."""
        return self._digits(score, score)

    @property
    def limits(self) -> tuple[float, float]:
        """Between which sizes the goal's digits tell scores apart; others are shown as 4.20e-5."""
        return 10.0 ** (2 - max(self.digits, _USUAL_DIGITS)), _LARGE

    def _digits(self, number: float, scale: float) -> str:
        """A number as scores of such a size are shown."""
        small, large = self.limits
        if scale == 0 or small <= abs(scale) < large or not math.isfinite(number):
            return f"{number:.{self.digits}f}".replace("inf", "∞")
        digits, power = f"{number:.2e}".split("e")
        return f"{digits}e{int(power):+}"

    def shown(self, score: float) -> str:
        return self.bare(score) + self.suffix

    def shown_mean(self, mean: float, sd: float | None) -> str:
        """`mean ± sd` without the unit."""
        if sd is None:
            return self.bare(mean)
        spread = self._digits(sd, mean)
        hidden = sd > 0 and float(spread.replace("∞", "inf")) == 0  # behind the goal's digits
        return f"{self.bare(mean)} ± {f'{sd:.0e}'.replace('e-0', 'e-') if hidden else spread}"

    def shown_gain(self, score: float, than: float) -> str:
        """By how much a score is better, signed: + is better, whatever the goal."""
        gain = self.gain(score, than)
        sign = "−" if math.copysign(1, gain) < 0 else "+"
        return sign + self.shown_distance(score, than)

    def shown_distance(self, score: float, other: float) -> str:
        """How far two scores are from each other."""
        return self._digits(abs(score - other), max(abs(score), abs(other)))

    @property
    def points(self) -> str:
        """What differences are counted in: points of a percentage, or the unit itself."""
        return "points" if self.unit == "%" else self.unit

    def called(self, part: str = "") -> str:
        """The goal on a part of the data: `validation accuracy`."""
        name = self.name
        for prefix in _PARTS if part else ():
            name = name.removeprefix(prefix)
        return f"{part} {name}".strip()

    def label(self, part: str = "") -> str:
        """What an axis or a column is called: `validation accuracy (%)`."""
        return self.called(part) + (f" ({self.unit})" if self.unit else "")

    @property
    def verb(self) -> str:
        return "maximise" if self.maximised else "minimise"

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


def maximize(name: str, **more: Any) -> Goal:
    """A goal whose larger scores are better: `maximize("accuracy", unit="%", failure=10)`."""
    return Goal(name=name, maximised=True, **more)


def minimize(name: str, **more: Any) -> Goal:
    """A goal whose smaller scores are better: `minimize("validation loss")`."""
    return Goal(name=name, maximised=False, **more)

"""Are two functions the same function of x and their parameters? Decided numerically.

A function's fingerprint is a digest of its values, rounded, at fixed points and fixed parameter
values, the same on every machine and in every run: equal fingerprints mean the same function.
"""

import hashlib
import itertools
import math
from collections.abc import Iterator, Sequence
from functools import cache

from pangaea.functions.catalog import parse
from pangaea.functions.expression import Function
from pangaea.functions.learnable import LEARNABLE
from pangaea.functions.operators import OPERATORS

# Irrational steps keep exact values off the rounding boundaries, where the last bit would decide.
# Beyond 6, identities that cancel (cosh x − sinh x = e⁻ˣ) drown in rounding.
POINTS = (
    0.0,
    *(s * math.sqrt(2) * t for t in (0.02, 0.2, 0.5, 0.9, 1.6, 2.5, 4.2) for s in (1, -1)),
)
_DRAWS = (
    (1.0, 1.0, 1.0),
    (math.sqrt(0.5), math.sqrt(1.2), math.sqrt(1.9)),
    (-math.sqrt(0.6), math.sqrt(1.5), math.sqrt(0.3)),
)


class _Column(tuple[float, ...]):
    """A value at each point; multiplied element by element."""

    def __mul__(self, other: "_Column") -> "_Column":  # type: ignore[override]
        return _Column([a * b for a, b in zip(self, other, strict=True)])


_X = _Column(POINTS * len(_DRAWS))
_PARAMETERS = [_Column(draw[i] for draw in _DRAWS for _ in POINTS) for i in range(3)]
_ONES = len(_PARAMETERS)  # the place of a parameter that is 1 everywhere
_PARAMETERS.append(_Column([1.0] * len(_X)))
_OPERATORS = {
    name: (lambda *inputs, value=row.value: _Column(map(value, *inputs)))
    for name, row in OPERATORS.items()
}


def fingerprint(function: Function | str) -> str:
    """A text that two functions share if they are equivalent; a learnable baseline's is its name.

    Functions may be given as texts or names.
    """
    if not isinstance(function, Function):
        name = str(function).strip().lower()
        return name if name in LEARNABLE else fingerprint(parse(function))
    count = len(function.parameters)
    if count == 0:
        return _digest(0, _rounded(function, []))

    @cache
    def text(places: tuple[int, ...]) -> str:
        return _rounded(function, [_PARAMETERS[place] for place in places])

    orders = [*itertools.permutations(range(count))]
    # A parameter that changes nothing, whichever values the others have, does not make it another
    # function.
    live = [
        i
        for i in range(count)
        if any(text(order) != text(other) for order in orders for other in _changed(order, i))
    ]
    if not live:
        return _digest(0, _rounded(function.form, []))
    texts = []
    for order in itertools.permutations(range(len(live))):
        places = dict(zip(live, order, strict=True))
        texts.append(text(tuple(places.get(i, _ONES) for i in range(count))))
    # The least over all orders of the parameters, so that their names do not matter.
    return _digest(len(live), min(texts))


def _changed(order: tuple[int, ...], i: int) -> Iterator[tuple[int, ...]]:
    """The places of the parameters with another one, or none, for number `i`."""
    for place in ((order[i] + 1) % _ONES, _ONES):
        yield (*order[:i], place, *order[i + 1 :])


def equivalent(f: Function | str, g: Function | str) -> bool:
    """Are `f` and `g` the same function of x and their parameters, whatever these are called?"""
    return fingerprint(f) == fingerprint(g)


def _rounded(function: Function, parameters: Sequence[_Column]) -> str:
    return ",".join(map(_round, function.apply(_OPERATORS, _X, parameters)))


def _round(value: float) -> str:
    """Six digits, but nothing below 1e-9: sums that should vanish leave that much."""
    return f"{round(float(f'{value:.5e}'), 9) + 0.0:.5e}"


def _digest(live: int, text: str) -> str:
    return f"{live}:{hashlib.blake2b(text.encode(), digest_size=16).hexdigest()}"

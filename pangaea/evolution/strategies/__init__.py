"""How the next run is proposed: pure, from the trials so far and a random generator.

Each strategy is a file of this folder, found by its name: a function `propose(trials, rng,
settings)`, the class `Settings` of what it can be told, where that is not evolution's, and
`DEFAULTS`, what a search with it has if neither a person nor the task says something else.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from random import Random
from typing import Any

from pangaea import scanning
from pangaea.errors import UnknownNameError
from pangaea.evolution.trials import Again, Proposal, Trial
from pangaea.functions.cost import cost
from pangaea.functions.expression import Function
from pangaea.functions.space import PAPER, Space
from pangaea.settings import Declared

Propose = Callable[[Sequence[Trial], Random, Any], Proposal | Again]


@dataclass(frozen=True, kw_only=True)
class Settings(Declared):
    """What every strategy is told: the functions, what one may cost, how long it may train."""

    space: Space = PAPER
    dearest: float = math.inf
    longest: float = math.inf

    def affordable(self, function: Function) -> bool:
        return self.dearest == math.inf or cost(str(function)) <= self.dearest


@dataclass(frozen=True)
class Strategy:
    name: str
    about: str  # its first sentence
    propose: Propose
    settings: type[Settings]
    defaults: Mapping[str, Any] = field(default_factory=dict)


@cache
def strategies() -> dict[str, Strategy]:
    """Every strategy by its name."""
    rooms = (m for m in scanning.modules(__name__) if hasattr(m, "propose"))
    known = (
        Strategy(
            room.__name__.rpartition(".")[2].replace("_", "-"),
            (room.__doc__ or "").splitlines()[0],
            room.propose,
            room.Settings,
            getattr(room, "DEFAULTS", {}),
        )
        for room in rooms
    )
    return {strategy.name: strategy for strategy in known}


def strategy(name: str) -> Strategy:
    try:
        return strategies()[name]
    except KeyError:
        raise UnknownNameError("strategy", name, strategies()) from None

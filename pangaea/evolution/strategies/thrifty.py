"""Regularized evolution that trains nothing twice, and nothing that cannot learn.

What is equivalent to a candidate that has a result, constant, infinite or explosive, the paper's
evolution trains; here it is proposed too, and replaced.
"""

import math
from collections.abc import Sequence
from functools import lru_cache
from random import Random

from pangaea.evolution.strategies.evolution import Settings
from pangaea.evolution.strategies.evolution import propose as evolved
from pangaea.evolution.trials import Proposal, Trial
from pangaea.functions.equivalence import POINTS, fingerprint
from pangaea.functions.expression import Function
from pangaea.functions.parser import parse

__all__ = ["Settings", "may_learn", "propose"]

# Cubes and cosh are beyond it on [-6, 6]; no function that was worth anything has been.
EXPLOSIVE = 100.0
_MEMORY = 2_000  # evaluated functions that are remembered
_ATTEMPTS = 100


def propose(trials: Sequence[Trial], rng: Random, settings: Settings) -> Proposal:
    """What evolution proposes, if it is new and may learn; otherwise what it proposes next."""
    tried = [trial.text for trial in trials[-_MEMORY:]]
    forms = set(map(_form, tried))

    def new(text: str) -> bool:
        # Most forms are new, and a form is cheaper to tell than a function.
        form = _form(text)
        return form not in forms or _whole(text) not in {
            _whole(t) for t in tried if _form(t) == form
        }

    proposal = evolved(trials, rng, settings)
    for _ in range(_ATTEMPTS):
        function = proposal.function
        if settings.affordable(function) and may_learn(function) and new(str(function)):
            break
        proposal = evolved(trials, rng, settings)
    return proposal


def may_learn(function: Function) -> bool:
    """Are the values finite, not all the same, and none of them huge, its parameters being 1?"""
    values = [function(x) for x in POINTS]
    return all(abs(v) < EXPLOSIVE for v in values) and not math.isclose(min(values), max(values))


@lru_cache(2 * _MEMORY)
def _form(text: str) -> str:
    return fingerprint(parse(text).form)


@lru_cache(2 * _MEMORY)
def _whole(text: str) -> str:
    return fingerprint(parse(text))

"""A random initial function, mutated three times; nothing is learnt (paper, section 7.2)."""

from collections.abc import Sequence
from random import Random

from pangaea.evolution.creation import initial, parameterized
from pangaea.evolution.mutations import mutate
from pangaea.evolution.strategies import Settings
from pangaea.evolution.trials import Proposal, Trial

__all__ = ["Settings", "propose"]


def propose(trials: Sequence[Trial], rng: Random, settings: Settings) -> Proposal:
    expression, names = initial(rng, settings.space), []
    for _ in range(3):
        name, expression = mutate(expression, rng, settings.space)
        names.append(name)
    function = parameterized(expression, rng, settings.space)
    return Proposal(function, None, "+".join(("initial", *names)))

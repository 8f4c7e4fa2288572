"""A random initial function, mutated three times; nothing is learnt (paper, section 7.2)."""

from collections.abc import Sequence
from random import Random

from pangaea.evolution.creation import initial, parameterized
from pangaea.evolution.mutations import mutate
from pangaea.evolution.strategies import Evaluated, Proposal, Settings


def propose(history: Sequence[Evaluated], rng: Random, settings: Settings) -> Proposal:
    expression, names = initial(rng), []
    for _ in range(3):
        name, expression = mutate(expression, rng)
        names.append(name)
    return Proposal(parameterized(expression, rng), None, "+".join(("initial", *names)))

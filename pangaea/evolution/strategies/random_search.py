"""Mutations without regard to fitness (paper, section 6.1): P = 1, S = 1, V = 0."""

from collections.abc import Sequence
from random import Random

from pangaea.evolution.creation import parameterized
from pangaea.evolution.strategies import Evaluated, Proposal, Settings
from pangaea.evolution.strategies.evolution import evolve

_BLIND = Settings(population=1, sample=1, threshold=0)


def propose(history: Sequence[Evaluated], rng: Random, settings: Settings) -> Proposal:
    return evolve(history, rng, _BLIND, parameterized)

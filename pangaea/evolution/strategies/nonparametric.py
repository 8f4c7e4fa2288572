"""Regularized evolution of functions without parameters, a baseline of the paper (section 6.1)."""

from collections.abc import Sequence
from random import Random

from pangaea.evolution.strategies import Evaluated, Proposal, Settings
from pangaea.evolution.strategies.evolution import evolve
from pangaea.functions.expression import Function


def propose(history: Sequence[Evaluated], rng: Random, settings: Settings) -> Proposal:
    return evolve(history, rng, settings, lambda expression, rng: Function(expression))

"""Regularized evolution of functions without parameters, a baseline of the paper (section 6.1)."""

from collections.abc import Sequence
from random import Random

from pangaea.evolution.strategies.evolution import Settings, evolve
from pangaea.evolution.trials import Proposal, Trial
from pangaea.functions.expression import Function

__all__ = ["Settings", "propose"]


def propose(trials: Sequence[Trial], rng: Random, settings: Settings) -> Proposal:
    return evolve(trials, rng, settings, lambda expression, *_: Function(expression))

"""Mutations without regard to the score (paper, section 6.1): P = 1, S = 1, V = 0."""

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random

from pangaea.evolution import strategies
from pangaea.evolution.creation import parameterized
from pangaea.evolution.strategies import evolution
from pangaea.evolution.trials import Proposal, Trial


@dataclass(frozen=True, kw_only=True)
class Settings(strategies.Settings):
    """Nothing to set."""


class _Blind(evolution.Settings):
    def passes(self, trial: Trial) -> bool:
        """Whatever was tried breeds, failures too."""
        return True


def propose(trials: Sequence[Trial], rng: Random, settings: Settings) -> Proposal:
    blind = _Blind(population=1, sample=1, space=settings.space)
    return evolution.evolve(trials, rng, blind, parameterized)

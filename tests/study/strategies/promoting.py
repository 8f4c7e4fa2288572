"""Evolution that trains good functions again, and for other budgets; for tests."""

from collections.abc import Sequence
from random import Random

from pangaea.evolution.ranking import ranked
from pangaea.evolution.strategies.evolution import Settings
from pangaea.evolution.strategies.evolution import propose as evolved
from pangaea.evolution.trials import Again, Proposal, Trial

__all__ = ["Settings", "propose"]


def propose(trials: Sequence[Trial], rng: Random, settings: Settings) -> Proposal | Again:
    best = ranked(trials)
    if best and rng.random() < 0.3:
        return Again(rng.choice(best[:5]).number, budget=rng.choice((1, 20, 30)))
    proposal = evolved(trials, rng, settings)
    return proposal._replace(budget=5) if rng.random() < 0.2 else proposal

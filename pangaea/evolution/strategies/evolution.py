"""Regularized evolution, the paper's PANGAEA (section 3.2)."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import islice
from random import Random

from pangaea.evolution import strategies
from pangaea.evolution.creation import initial, parameterized
from pangaea.evolution.mutations import mutate
from pangaea.evolution.trials import Proposal, Trial
from pangaea.functions.expression import Expression, Function
from pangaea.functions.space import Space
from pangaea.settings import setting


@dataclass(frozen=True, kw_only=True)
class Settings(strategies.Settings):
    """Population P, sample S and threshold V."""

    population: int = setting(64, "P: functions that may breed.", least=1, most=100_000)
    sample: int = setting(16, "S: drawn for each parent.", least=1, most=10_000)
    threshold: float | None = setting(
        None, "V: the score from which on a function may breed. Default: the goal's.", score=True
    )

    def passes(self, trial: Trial) -> bool:
        """Is the function good enough to breed?"""
        if trial.score is None:
            return False
        return self.threshold is None or trial.score >= self.threshold


def propose(trials: Sequence[Trial], rng: Random, settings: Settings) -> Proposal:
    """The fittest of S functions drawn from the population breeds."""
    return evolve(trials, rng, settings, parameterized)


def evolve(
    trials: Sequence[Trial],
    rng: Random,
    settings: Settings,
    finish: Callable[[Expression, Random, Space], Function],
) -> Proposal:
    """A mutated child, or a random initial function as long as fewer than P have passed V.

    The population is the P functions evaluated most recently among those that passed, as in the
    paper's appendix on implementation.
    """
    space = settings.space
    passed = filter(settings.passes, reversed(trials))
    population = [*islice(passed, settings.population)][::-1]
    if len(population) < settings.population:
        return Proposal(finish(initial(rng, space), rng, space), None, "initial")
    parent = max(rng.choices(population, k=settings.sample), key=_score)
    name, child = mutate(parent.function.expression, rng, space)
    return Proposal(finish(child, rng, space), parent.number, name)


def _score(trial: Trial) -> float:
    return float("-inf") if trial.score is None else trial.score

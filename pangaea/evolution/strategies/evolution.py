"""Regularized evolution, the paper's PANGAEA (section 3.2)."""

from collections.abc import Callable, Sequence
from itertools import islice
from random import Random

from pangaea.evolution.creation import initial, parameterized
from pangaea.evolution.mutations import mutate
from pangaea.evolution.strategies import Evaluated, Proposal, Settings
from pangaea.functions.expression import Expression, Function


def propose(history: Sequence[Evaluated], rng: Random, settings: Settings) -> Proposal:
    """The fittest of S functions drawn from the population breeds."""
    return evolve(history, rng, settings, parameterized)


def evolve(
    history: Sequence[Evaluated],
    rng: Random,
    settings: Settings,
    finish: Callable[[Expression, Random], Function],
) -> Proposal:
    """A mutated child, or a random initial function as long as fewer than P have passed V.

    The population is the P functions evaluated most recently among those that passed, as in the
    paper's appendix on implementation.
    """
    passed = (e for e in reversed(history) if e.fitness >= settings.threshold)
    population = [*islice(passed, settings.population)][::-1]
    if len(population) < settings.population:
        return Proposal(finish(initial(rng), rng), None, "initial")
    parent = max(rng.choices(population, k=settings.sample), key=lambda e: e.fitness)
    name, child = mutate(parent.function.expression, rng)
    return Proposal(finish(child, rng), parent.number, name)

"""How the next candidate is proposed: pure, from the history and a random generator.

Regularized evolution is the paper's PANGAEA (section 3.2); the others are its baselines (sections
6.1 and 7.2). Candidates are proposed from the P functions evaluated most recently among those that
passed the threshold, as in the paper's appendix on implementation.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from random import Random

from pangaea.errors import PangaeaError
from pangaea.evolution.creation import initial, parameterized
from pangaea.evolution.mutations import mutate
from pangaea.functions.expression import Expression, Function


@dataclass(frozen=True, slots=True)
class Evaluated:
    """A candidate that has its result."""

    number: int
    function: Function
    fitness: float  # validation accuracy in percent; 0 for a failure


@dataclass(frozen=True, slots=True)
class Proposal:
    """A function to try: where it comes from, and what was done to it."""

    function: Function
    parent: int | None
    mutation: str


@dataclass(frozen=True, kw_only=True)
class Settings:
    """Population P, sample S and threshold V of regularized evolution."""

    population: int = 64
    sample: int = 16
    threshold: float = 20.0

    def __post_init__(self) -> None:
        if self.population < 1 or self.sample < 1 or not 0 <= self.threshold <= 100:
            raise PangaeaError(
                "population and sample are at least 1 and the threshold lies in 0…100, got "
                f"{self.population}, {self.sample} and {self.threshold}"
            )


Strategy = Callable[[Sequence[Evaluated], Random, Settings], Proposal]


def evolution(history: Sequence[Evaluated], rng: Random, settings: Settings) -> Proposal:
    """Regularized evolution: the fittest of S functions drawn from the population breeds."""
    return _evolve(history, rng, settings, parameterized)


def nonparametric(history: Sequence[Evaluated], rng: Random, settings: Settings) -> Proposal:
    """The same without parameters."""
    return _evolve(history, rng, settings, lambda expression, rng: Function(expression))


def random_search(history: Sequence[Evaluated], rng: Random, settings: Settings) -> Proposal:
    """Mutations without regard to fitness: P = 1, S = 1, V = 0."""
    return _evolve(history, rng, Settings(population=1, sample=1, threshold=0), parameterized)


def random_sampling(history: Sequence[Evaluated], rng: Random, settings: Settings) -> Proposal:
    """A random initial function, mutated three times; nothing is learnt from the history."""
    expression, names = initial(rng), []
    for _ in range(3):
        name, expression = mutate(expression, rng)
        names.append(name)
    return Proposal(parameterized(expression, rng), None, "+".join(("initial", *names)))


STRATEGIES: dict[str, Strategy] = {
    "evolution": evolution,
    "random-search": random_search,
    "nonparametric": nonparametric,
    "random-sampling": random_sampling,
}


def generator(seed: int, number: int) -> Random:
    """Candidate `number` of a study draws from its own generator, so none has to be saved."""
    return Random(f"{seed}/{number}")


def _evolve(
    history: Sequence[Evaluated],
    rng: Random,
    settings: Settings,
    finish: Callable[[Expression, Random], Function],
) -> Proposal:
    passed = [e for e in history if e.fitness >= settings.threshold]
    if len(passed) < settings.population:
        return Proposal(finish(initial(rng), rng), None, "initial")
    population = passed[-settings.population :]
    parent = max(rng.choices(population, k=settings.sample), key=lambda e: e.fitness)
    name, child = mutate(parent.function.expression, rng)
    return Proposal(finish(child, rng), parent.number, name)

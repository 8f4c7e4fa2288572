"""How the next candidate is proposed: pure, from the history and a random generator.

Each strategy is a file of this folder, found by its name, with one function `propose`.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import import_module
from pkgutil import iter_modules
from random import Random

from pangaea.errors import PangaeaError
from pangaea.functions.expression import Function
from pangaea.functions.parser import parse


@dataclass(frozen=True, slots=True)
class Evaluated:
    """A candidate that has its result. Its text is read when somebody needs the function."""

    number: int
    text: str
    fitness: float  # validation accuracy in percent; 0 for a failure

    @property
    def function(self) -> Function:
        return parse(self.text)


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


def generator(seed: int, number: int) -> Random:
    """Candidate `number` of a study draws from its own generator, so none has to be saved."""
    return Random(f"{seed}/{number}")


def _found() -> dict[str, Strategy]:
    names = sorted(module.name for module in iter_modules(__path__))
    return {name.replace("_", "-"): import_module(f"{__name__}.{name}").propose for name in names}


STRATEGIES = _found()

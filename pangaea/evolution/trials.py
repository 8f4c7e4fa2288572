"""What a strategy sees of a search, and what it answers."""

from functools import cached_property
from random import Random
from statistics import fmean
from typing import NamedTuple

from pangaea.functions.expression import Function
from pangaea.functions.parser import parse


class Measured(NamedTuple):
    """One run: how long it trained, and its score, larger being better; None for a failure."""

    budget: int
    score: float | None


class Trial:
    """A candidate with its results so far, in the order in which its first one came."""

    __slots__ = ("__dict__", "cost", "failure", "number", "parent", "runs", "text")

    def __init__(
        self,
        number: int,
        text: str,
        parent: int | None,
        runs: tuple[Measured, ...],
        cost: float = 0.0,
        failure: str | None = None,
    ) -> None:
        self.number = number
        self.text = text
        self.parent = parent
        self.runs = runs
        self.cost = cost  # seconds of all its runs
        self.failure = failure  # of the last run that failed

    @cached_property
    def score(self) -> float | None:
        """The mean at the largest budget that gave one; None if every run failed."""
        largest = max((run.budget for run in self.runs if run.score is not None), default=None)
        scores = [r.score for r in self.runs if r.budget == largest and r.score is not None]
        return fmean(scores) if scores else None

    @property
    def function(self) -> Function:
        """Read from its text when somebody needs it."""
        return parse(self.text)

    def after(self, run: Measured, seconds: float, failure: str | None) -> "Trial":
        """With one run more."""
        runs, cost = (*self.runs, run), self.cost + seconds
        return Trial(self.number, self.text, self.parent, runs, cost, failure or self.failure)


class Proposal(NamedTuple):
    """A new function to try: where it comes from, what was done to it, and how long to train it."""

    function: Function
    parent: int | None
    mutation: str
    budget: int | None = None  # None: the search's


class Again(NamedTuple):
    """Another run of a known candidate, with a fresh seed."""

    number: int
    budget: int


def generator(seed: int, number: int) -> Random:
    """Proposal `number` of a study draws from its own generator, so none has to be saved."""
    return Random(f"{seed}/{number}")

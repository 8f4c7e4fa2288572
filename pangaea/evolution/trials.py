"""What a strategy sees of a search, and what it answers."""

from collections.abc import Sequence
from functools import lru_cache
from random import Random
from statistics import fmean
from typing import NamedTuple

from pangaea.errors import PangaeaError, ParseError
from pangaea.functions.expression import Function
from pangaea.functions.parser import parse


class Measured(NamedTuple):
    """One run: how long it trained, and its score, larger being better; None for a failure."""

    budget: int
    score: float | None


@lru_cache(1024)
def _parsed(text: str) -> Function:
    """Parents breed again and again, and to read one takes a third of what a candidate costs."""
    return parse(text)


class NoFunctionError(PangaeaError):
    """A candidate of a file that this version did not write."""


class Trial(NamedTuple):
    """A candidate with its results so far."""

    number: int
    text: str
    parent: int | None
    runs: tuple[Measured, ...]
    score: float | None  # the mean at the largest budget that gave one; None if every run failed
    cost: float = 0.0  # seconds of all its runs
    failure: str | None = None  # of the last run that failed
    waiting: int = 0  # further runs that were asked for and have no result yet

    @property
    def function(self) -> Function:
        """Read from its text when somebody needs it."""
        try:
            return _parsed(self.text)
        except ParseError as error:
            raise NoFunctionError(f"candidate {self.number} is not a function: {error}") from None

    def after(self, run: Measured, seconds: float, failure: str | None) -> "Trial":
        """With one run more."""
        runs = (*self.runs, run)
        return self._replace(
            runs=runs,
            score=mean_score(runs),
            cost=self.cost + seconds,
            failure=failure or self.failure,
            waiting=max(0, self.waiting - 1),
        )


def mean_score(runs: Sequence[Measured]) -> float | None:
    """What several runs say together: their mean at the largest budget that gave a score."""
    largest = max((run.budget for run in runs if run.score is not None), default=None)
    scores = [run.score for run in runs if run.budget == largest and run.score is not None]
    return fmean(scores) if scores else None


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

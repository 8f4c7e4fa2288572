"""A search that ends in time: what of it still fits. Pure, but for a clock that is given to it.

The runs that have ended say how long others will take. Candidates are proposed as long as what
follows them, training the best again and the test, still fits; these two take half of the time at
most: where they take longer, rounds become smaller alike, and test runs fewer.
"""

import math
import time
from bisect import bisect_right
from collections import deque
from collections.abc import Callable, Sequence
from statistics import fmean
from typing import NamedTuple

FEWEST = 2  # test runs of a function: one tells no spread
_SHARE = 0.25  # of the whole time for training the best again, and as much for the test
_MARGIN = 1.1  # the best functions are a little dearer than others, and neighbours come and go
_CLOSING = 0.15  # of the whole time at most: to start may have taken a download, too
_RECENT = 30  # runs: how fast the machine is now, whatever it was before;
_FEW = 4  # of them, if they were slower: neighbours have come
_SHORTEST = 1e-3  # seconds
_DEARER = 1.4  # times the baseline's fastest run: what a candidate takes, until one has ended


class Rounds(NamedTuple):
    """Rounds alike, one after the other, of training the best again."""

    functions: int
    times: int
    budget: float


class Ending(NamedTuple):
    """What the settings ask for after the candidates."""

    rounds: Sequence[Rounds]
    budget: float  # of a test run
    tested: int  # of the best functions
    beside: int  # functions that are tested with them: the baseline, and others
    runs: int  # test runs of each


class Pace(NamedTuple):
    """How long runs take."""

    candidate: float  # seconds of one, on average; many fail early
    unit: float  # seconds for a unit of budget in a run that does not fail, every worker being busy
    workers: int
    sharing: int = 1  # workers that share a GPU

    def part(self, runs: int) -> float:
        """How long a few runs take, of what they take when every worker is busy.

        On a GPU that they share k runs take (k + 0.5) / 1.5 times as long as one (WRN-10-4 on an
        H200: 1.65 for two, 3.03 for four; `results/at-once.json`).
        """
        devices = max(1, self.workers // self.sharing)
        return (math.ceil(runs / devices) + 0.5) / (self.sharing + 0.5) if runs else 0.0


class Plan(NamedTuple):
    """What fits."""

    candidates: int  # still to be proposed
    contenders: int  # functions that are trained again
    tested: int  # of the best functions
    runs: int  # of each function in the test
    seconds: float  # that rerank and test take


def took(runs: int, budget: float, pace: Pace) -> float:
    """Seconds until so many runs have ended, all workers being free."""
    full, few = divmod(runs, pace.workers)
    return (full + pace.part(few)) * budget * pace.unit * _MARGIN


def smaller(functions: int, contenders: int, most: int) -> int:
    """Functions of a round, if the first of the rounds has `contenders` instead of `most`."""
    return math.ceil(functions * contenders / most)


def again(ending: Ending, pace: Pace, contenders: int) -> list[float]:
    """Seconds for the rounds, if the first has so many functions."""
    most = max((each.functions for each in ending.rounds), default=1)
    return [
        took(smaller(each.functions, contenders, most) * each.times, each.budget, pace)
        for each in ending.rounds
    ]


def contenders(ending: Ending, pace: Pace, room: float) -> int:
    """How many of the best are trained again: as many as all rounds have room for, or the first."""
    most = max((each.functions for each in ending.rounds), default=0)
    for part in (slice(None), slice(1)):
        fit = bisect_right(range(most + 1), room, key=lambda n: sum(again(ending, pace, n)[part]))
        if fit - 1 >= min(2, most):
            return fit - 1
    return 0


def tests(ending: Ending, pace: Pace, tested: int, runs: int) -> float:
    """Seconds for so many test runs of so many of the best, and of what is tested with them."""
    return took(runs * (tested + ending.beside), ending.budget, pace)


def testing(ending: Ending, pace: Pace, room: float) -> tuple[int, int]:
    """How many of the best are tested, in how many runs each.

    The first one alone, if the others would leave it a single run.
    """
    fit = {}
    for tested in (ending.tested, 1):
        runs = ending.runs
        while runs and tests(ending, pace, tested, runs) > room:
            runs -= 1
        fit[tested] = runs
    several = fit[ending.tested] >= min(FEWEST, ending.runs) or fit[1] == fit[ending.tested]
    tested = ending.tested if several else 1
    return tested, fit[tested]


def plan(ending: Ending, pace: Pace, left: float, total: float) -> Plan:
    """As many candidates as leave time for the rest: all of it, or what fits into its share.

    What one of the two does not need of its share, the other may have.
    """
    share = _SHARE * total
    whole = tests(ending, pace, ending.tested, ending.runs)
    room = 2 * share - min(share, whole)
    best = contenders(ending, pace, room)
    rounds = min(room, sum(again(ending, pace, best)))
    tested, runs = testing(ending, pace, 2 * share - rounds)
    seconds = rounds + tests(ending, pace, tested, runs)
    free = max(0.0, left - seconds)
    return Plan(int(free / pace.candidate * pace.workers), best, tested, runs, seconds)


class Schedule:
    """The time of a search: how much of it is left, and what still fits into that."""

    def __init__(
        self,
        minutes: float,
        ending: Ending,
        budget: float,
        spent: float = 0.0,
        closing: float = 0.0,
        clock: Callable[[], float] = time.monotonic,
        sharing: int = 1,
    ) -> None:
        """Candidates have a `budget`. The search ran `spent` seconds so far; pauses do not count.

        To stop the workers and to write the page takes about as long as to start did, `closing`.
        So many workers are `sharing` a GPU.
        """
        self.total, self.ending, self.budget = 60 * minutes, ending, budget
        self.sharing = sharing
        self._clock, self._began = clock, clock() - spent
        self._closing = min(closing, _CLOSING * self.total)
        self._first = math.inf  # seconds for a unit; a worker's first run also loads the data
        self._units: deque[float] = deque(maxlen=_RECENT)
        self._candidates: deque[float] = deque(maxlen=_RECENT)

    @property
    def spent(self) -> float:
        """Seconds, those before an interruption among them."""
        return self._clock() - self._began

    @property
    def left(self) -> float:
        """Seconds for runs."""
        return self.total - self.spent - self._closing

    def ended(
        self, budget: float, seconds: float, *, failed: bool, first: bool = False, proposed: bool
    ) -> None:
        """Learn from a run: one of the first, proposed by the strategy, or of those that follow."""
        if proposed:
            self._candidates.append(seconds)
        if failed:
            return
        if first:
            self._first = min(self._first, seconds / budget)
        else:
            self._units.append(seconds / budget)

    def pace(self, workers: int) -> Pace:
        """As measured: at first by the baseline alone, then by what ended last."""
        last = [*self._units]
        unit = max(fmean(last), fmean(last[-_FEW:])) if last else _DEARER * self._first
        unit = unit if math.isfinite(unit) else 0.0  # nothing has ended yet
        candidate = fmean(self._candidates) if self._candidates else unit * self.budget
        return Pace(max(candidate, _SHORTEST), unit, max(1, workers), self.sharing)

    def plan(self, workers: int) -> Plan:
        return plan(self.ending, self.pace(workers), self.left, self.total)

    def tests(self, tested: int, runs: int, workers: int) -> float:
        """Seconds for so many test runs of so many of the best."""
        return tests(self.ending, self.pace(workers), tested, runs)

    def testing(self, workers: int) -> tuple[int, int]:
        """How many of the best are tested in what is left, in how many runs each."""
        return testing(self.ending, self.pace(workers), self.left)

    def fits(self, runs: int, budget: float, workers: int, reserve: float = 0.0) -> bool:
        """Is there time for so many runs of this budget, and for so much after them?"""
        return took(runs, budget, self.pace(workers)) + reserve <= self.left

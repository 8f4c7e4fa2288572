"""`thrifty` with a choice among twenty children: the one that its parameters can bend most.

On the default task 32% of the functions that their parameters bend by 0.8 to 3 times their spread
score above 79 with the full budget, and 6% of the others (4,958 functions, docs/bench.md). What is
compared shares its seeds, and the best are run again in rounds that halve them.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from operator import attrgetter
from random import Random

from pangaea.evolution.freedom import freedom
from pangaea.evolution.strategies import evolution, thrifty
from pangaea.evolution.trials import Again, Proposal, Trial
from pangaea.settings import setting

DEFAULTS = {"seeds": "common", "rounds": "16,8,4,4,2,2,2,2"}
_ENOUGH = 3.0  # in a function's spread: beyond it, the function is hardly there


@dataclass(frozen=True, kw_only=True)
class Settings(evolution.Settings):
    """Those of evolution, and how choosy it is."""

    children: int = setting(20, "Children of which one is trained.", least=1, most=1000)
    unscreened: float = setting(0.25, "What part is taken as it comes.", least=0, most=1)
    rungs: int = setting(
        0, "The best one of so many is trained again, twice as long; 0: none.", least=0, most=100
    )


def propose(trials: Sequence[Trial], rng: Random, settings: Settings) -> Proposal | Again:
    """What thrifty proposes, or the freest of several such."""
    if settings.rungs and (again := _promoted(trials, settings)):
        return again
    count = 1 if rng.random() < settings.unscreened else settings.children
    children: list[Proposal] = []
    for _ in range(count):
        child = thrifty.propose(trials, rng, settings)
        if not settings.affordable(child.function):  # nor would the next one be
            return max(children, key=_promise, default=child)
        children.append(child)
    return max(children, key=_promise)


def _promoted(trials: Sequence[Trial], settings: Settings) -> Again | None:
    """The best that was trained once, as soon as so many more functions are there."""
    once = [trial for trial in trials if len(trial.runs) + trial.waiting == 1]
    best = max((t for t in once if t.score is not None), key=attrgetter("score"), default=None)
    if best is None or len(trials) - len(once) >= len(trials) // settings.rungs:
        return None
    return Again(best.number, int(min(2 * best.runs[0].budget, settings.longest)))


def _promise(child: Proposal) -> float:
    free = freedom(str(child.function))
    return free if free < _ENOUGH else 0.0

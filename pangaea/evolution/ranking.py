"""Which functions are worth more runs: the best of the trials, and the best of several tasks."""

from collections.abc import Iterable, Mapping, Sequence
from heapq import nlargest
from operator import attrgetter
from statistics import fmean
from typing import NamedTuple, TypeVar

from pangaea.evolution.trials import Trial
from pangaea.functions.equivalence import fingerprint

Name = TypeVar("Name")
_FEW = 4  # times as many as are wanted, for some are equivalent


def ranked(trials: Iterable[Trial]) -> list[Trial]:
    """Those that have a score, the best first."""
    scored = sorted((t for t in trials if t.score is not None), key=attrgetter("number"))
    scored.sort(key=attrgetter("score"), reverse=True)  # of equal ones the first stays first
    return scored


def top(trials: Iterable[Trial], count: int) -> list[Trial]:
    """The best of all trials, no two of them equivalent (paper, section 3.2)."""
    scored = [trial for trial in trials if trial.score is not None]
    # To sort a few takes half as long as to sort 100,000, and they are mostly enough.
    few = nlargest(_FEW * count, scored, key=attrgetter("score"))
    above = [trial for trial in few if trial.score != few[-1].score]  # equal ones may be missing
    best = distinct(ranked(above), count)
    return best if len(best) == count else distinct(ranked(scored), count)


def distinct(trials: Iterable[Trial], count: int) -> list[Trial]:
    """The first ones of which no two are equivalent."""
    by_mark: dict[str, Trial] = {}
    for trial in trials:
        if len(by_mark) == count:
            break
        by_mark.setdefault(fingerprint(trial.function), trial)
    return list(by_mark.values())


class Round(NamedTuple):
    """So many of the best are trained once more, with a budget."""

    functions: int
    budget: int


def played(
    functions: Iterable[str],
    rounds: Sequence[Round],
    scores: Mapping[tuple[str, int], Sequence[float]],
) -> tuple[list[str], int]:
    """The functions in their order after these rounds, and how many of the rounds are complete.

    After each round its functions stand by the mean of their runs with its budget. In one that is
    not complete, those that have all their runs change places among themselves: what the others are
    worth is not known yet.
    """
    order, complete = list(functions), 0
    for count, budget in rounds:
        wanted = runs_of(rounds[: complete + 1], budget)
        runs = {function: scores.get((function, budget), ())[:wanted] for function in order[:count]}
        means = {text: fmean(each) for text, each in runs.items() if len(each) == wanted}
        places = sorted(map(order.index, means))
        best_first = sorted(means, key=means.__getitem__, reverse=True)
        for place, text in zip(places, best_first, strict=True):
            order[place] = text
        if len(means) < len(runs):
            break
        complete += 1
    return order, complete


def runs_of(rounds: Iterable[Round], budget: int) -> int:
    """How often a function that is in all of these rounds is trained with a budget."""
    return sum(each.budget == budget for each in rounds)


def pareto(scores: Mapping[Name, Sequence[float]]) -> list[Name]:
    """The names that no other one dominates: as good everywhere and better somewhere."""

    def dominated(name: Name) -> bool:
        mine = scores[name]
        return any(
            all(a >= b for a, b in zip(others, mine, strict=True)) and tuple(others) != tuple(mine)
            for others in scores.values()
        )

    return [name for name in scores if not dominated(name)]

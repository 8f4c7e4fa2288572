"""Which functions are worth more runs: the best of the trials, and the best of several tasks."""

from collections.abc import Iterable, Mapping, Sequence
from operator import attrgetter

from pangaea.evolution.trials import Trial
from pangaea.functions.equivalence import fingerprint


def ranked(trials: Iterable[Trial]) -> list[Trial]:
    """Those that have a score, the best first."""
    scored = sorted((t for t in trials if t.score is not None), key=attrgetter("number"))
    scored.sort(key=attrgetter("score"), reverse=True)  # of equal ones the first stays first
    return scored


def top(trials: Iterable[Trial], count: int) -> list[Trial]:
    """The best of all trials, no two of them equivalent (paper, section 3.2)."""
    return distinct(ranked(trials), count)


def distinct(trials: Iterable[Trial], count: int) -> list[Trial]:
    """The first ones of which no two are equivalent."""
    by_mark: dict[str, Trial] = {}
    for trial in trials:
        if len(by_mark) == count:
            break
        by_mark.setdefault(fingerprint(trial.function), trial)
    return list(by_mark.values())


def pareto(scores: Mapping[str, Sequence[float]]) -> list[str]:
    """The names that no other one dominates: as good everywhere and better somewhere."""

    def dominated(name: str) -> bool:
        mine = scores[name]
        return any(
            all(a >= b for a, b in zip(others, mine, strict=True)) and tuple(others) != tuple(mine)
            for others in scores.values()
        )

    return [name for name in scores if not dominated(name)]

"""Which functions are worth more runs: the best of a history, and the best of several tasks."""

from collections.abc import Iterable, Mapping, Sequence

from pangaea.evolution.strategies import Evaluated
from pangaea.functions.equivalence import fingerprint


def top(history: Sequence[Evaluated], count: int) -> list[Evaluated]:
    """The fittest of the whole history, no two of them equivalent (paper, section 3.2)."""
    worked = (e for e in history if e.fitness > 0)
    return distinct(sorted(worked, key=lambda e: (-e.fitness, e.number)), count)


def distinct(ranked: Iterable[Evaluated], count: int) -> list[Evaluated]:
    """The first ones of which no two are equivalent."""
    found: dict[str, Evaluated] = {}
    for candidate in ranked:
        if len(found) == count:
            break
        found.setdefault(fingerprint(candidate.function), candidate)
    return list(found.values())


def pareto(scores: Mapping[str, Sequence[float]]) -> list[str]:
    """The names that no other one dominates: as good everywhere and better somewhere."""

    def dominated(name: str) -> bool:
        own = scores[name]
        return any(
            all(a >= b for a, b in zip(other, own, strict=True)) and tuple(other) != tuple(own)
            for other in scores.values()
        )

    return [name for name in scores if not dominated(name)]

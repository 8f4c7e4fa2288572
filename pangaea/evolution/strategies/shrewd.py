"""`thrifty` with a choice among several children: one of those whose like did best so far."""

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random

from pangaea.evolution.strategies import evolution, thrifty
from pangaea.evolution.traits import believed
from pangaea.evolution.trials import Proposal, Trial
from pangaea.settings import setting

DEFAULTS = {"seeds": "common", "rounds": "16,8,4,4,2,2,2,2"}
_FEWEST = 10  # trials before it chooses


@dataclass(frozen=True, kw_only=True)
class Settings(evolution.Settings):
    """Those of evolution, and how shrewd it is."""

    children: int = setting(4, "Children of which one is trained.", least=1, most=1000)
    likely: float = setting(0.0, "What best part one is drawn from; 0: it.", least=0, most=1)
    unscreened: float = setting(0.25, "What part is taken as it comes.", least=0, most=1)
    optimism: float = setting(0.5, "Standard deviations in its favour.", least=0, most=9)


def propose(trials: Sequence[Trial], rng: Random, settings: Settings) -> Proposal:
    """What thrifty proposes, or one of the most promising of several such."""
    screened = len(trials) >= _FEWEST and rng.random() >= settings.unscreened
    count = settings.children if screened else 1
    children = [thrifty.propose(trials, rng, settings) for _ in range(count)]
    if count == 1:
        return children[0]
    mean, sd = believed(trials, [str(child.function) for child in children])
    promise = mean + settings.optimism * sd
    order = sorted(range(count), key=lambda i: -promise[i])
    return children[rng.choice(order[: max(1, int(settings.likely * count))])]

"""What an experiment takes: runs, epochs, and about how many hours on this machine."""

import math
from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any, NamedTuple

from pangaea.paper.contents import Experiment
from pangaea.paper.scales import Scale, task_of, wanted


class Device(NamedTuple):
    """How fast a kind of device trains, as far as a few measurements tell."""

    multiplications: float  # a second, of one run
    layer: float  # seconds that a layer takes in a step at least
    together: int  # runs at once


# WRN-10-4 (166 million multiplications, 13 layers) takes 0.96 ms a step beside three others on an
# H200, ResNet-v1-56 (126 million, 60 layers) 4.4 ms; on two cores WRN-10-4 takes ten minutes an
# epoch.
DEVICES = {
    "cuda": Device(3 * 128 * 166e6 / 0.96e-3, 0.075e-3, 4),
    "cpu": Device(3 * 45_000 * 166e6 / 600, 0.0, 1),
}


class Needs(NamedTuple):
    runs: int
    epochs: int
    seconds: float  # for all of them
    done: int  # runs that are there
    left: float  # seconds


def needs(
    experiment: Experiment, scale: Scale, ended: Iterable[Mapping[str, Any]], device: Device
) -> Needs:
    """At a scale, given the runs that have ended."""
    asked = wanted([experiment.cells], scale, None, {})
    counts: dict[tuple[Any, ...], int] = {}
    for run in ended:
        kind = run["function"], run["scope"], run["task"], run["budget"]
        counts[kind] = counts.get(kind, 0) + 1
    done, epochs, seconds, left = 0, 0, 0.0, 0.0
    for want in asked:
        kind = want.function, want.scope, want.task, want.budget
        cost = want.budget * _epoch(want.task, device)
        epochs, seconds = epochs + want.budget, seconds + cost
        if counts.get(kind, 0) > 0:
            counts[kind] -= 1
            done += 1
        else:
            left += cost
    for search in experiment.searches:
        settings = scale.settings(search)
        budget = settings.get("budget") or task_of(settings["task"]).budgets["search"]
        trained = budget * settings["candidates"]
        epochs, cost = epochs + trained, trained * _epoch(settings["task"], device)
        seconds, left = seconds + cost, left + cost
    return Needs(len(asked), epochs, seconds, done, left)


@cache
def _epoch(task: str, device: Device) -> float:
    """Seconds of an epoch, forward and backward."""
    on: Any = task_of(task)
    # What stands behind a task's name hardly changes its network, which takes a second to measure.
    size: Any = task_of("/".join(task.split("/")[:2]))
    samples = on.data_set.sizes[0]
    steps = math.ceil(samples / on.full.batch)
    alone: float = max(
        3 * size.multiplications * samples / device.multiplications,
        device.layer * size.layers * steps,
    )
    return alone / device.together

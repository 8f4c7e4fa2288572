"""What an experiment takes: runs, epochs, and about how many hours on this machine."""

import math
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from typing import Any, NamedTuple

from pangaea.paper.contents import Experiment
from pangaea.paper.scales import Scale, task_of, wanted
from pangaea.study.search import BASELINE_RUNS
from pangaea.study.settings import Settings, settings
from pangaea.workers.cluster import cores


class Device(NamedTuple):
    """How fast a kind of device trains, as far as a few measurements tell."""

    multiplications: float  # a second, of all runs at once
    layer: float  # seconds that a layer takes in a step of one run at least
    together: int  # runs at once


# Of WRN-10-4 (166 million multiplications, 13 layers) an H200 takes a step in 0.96 ms, four runs
# being at once, of ResNet-v1-56 (126 million, 60 layers) one run's in 4.4 ms; an epoch of WRN-10-4
# takes a core of a CPU 5 minutes (EPYC, Zen 5) to 20 (Xeon at 2.8 GHz).
_H200 = Device(3 * 128 * 166e6 / 0.96e-3, 0.075e-3, 4)
_CORE = Device(3 * 45_000 * 166e6 / 600, 0.0, 1)


def device(kind: str) -> Device:
    """This machine's GPU, `cuda`, as if it were an H200; or its cores, `cpu`, a run on each."""
    if kind == "cuda":
        return _H200
    return _CORE._replace(multiplications=_CORE.multiplications * cores())


class Needs(NamedTuple):
    runs: int
    epochs: int
    seconds: float  # for all of them
    done: int  # runs that are there


def needs(
    experiment: Experiment, scale: Scale, ended: Iterable[Mapping[str, Any]], device: Device
) -> Needs:
    """At a scale, given the runs that have ended."""
    asked = wanted([experiment.cells], scale, None, {})
    counts: dict[tuple[Any, ...], int] = {}
    for run in ended:
        kind = run["function"], run["scope"], run["task"], run["budget"]
        counts[kind] = counts.get(kind, 0) + 1
    done, epochs, seconds = 0, 0, 0.0
    for want in asked:
        kind = want.function, want.scope, want.task, want.budget
        epochs += want.budget
        seconds += task_of(want.task).effort(want.budget) * _epoch(want.task, device)
        if counts.get(kind, 0) > 0:
            counts[kind] -= 1
            done += 1
    for search in experiment.searches:
        given = scale.settings(search)
        task = task_of(given["task"])
        for count, budget in _searched(settings(given, task)):
            epochs += count * budget
            seconds += count * task.effort(budget) * _epoch(given["task"], device)
    return Needs(len(asked), epochs, seconds, done)


def _searched(told: Settings) -> Iterator[tuple[int, int]]:
    """How many runs of which budgets: baseline, candidates, training the best again, the test."""
    budgets = task_of(told.task).budgets
    full = budgets["full"]
    yield BASELINE_RUNS + told.candidates, told.budget or budgets["search"]
    for count, budget in told.again if told.rerank else ():
        yield count, budget or full
    yield (told.tested + 1) * told.runs, full


@cache
def _epoch(task: str, device: Device) -> float:
    """Seconds of an epoch, forward and backward, as many runs being at once as is good."""
    on: Any = task_of(task)
    # What stands behind a task's name hardly changes its network, which takes a second to measure.
    size: Any = task_of("/".join(task.split("/")[:2]))
    samples = on.data_set.sizes[0]
    steps = math.ceil(samples / on.full.batch)
    seconds: float = max(
        3.0 * int(size.multiplications) * samples / device.multiplications,
        device.layer * int(size.layers) * steps / device.together,
    )
    return seconds

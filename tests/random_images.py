"""A task on random images, for what needs no real ones."""

from dataclasses import replace

import numpy as np

import pangaea as pg
from pangaea.data.sets import Arrays, Pair
from pangaea.tasks.classification import Classification


def small(name: str, samples: int = 640, judged: int = 8) -> Classification:
    """A task of the package on random images, a class having its own colour."""
    task = pg.task(name)
    rng = np.random.Generator(np.random.PCG64(0))

    def part(count: int) -> Pair:
        labels = np.arange(count) % task.data_set.classes
        noise = rng.integers(0, 100, (count, *task.data_set.shape))
        return (noise + 15 * labels[:, None, None, None]).astype(np.uint8), labels

    made = replace(
        task.data_set,
        name=f"random-{samples}",
        load=lambda: Arrays(train=part(samples), test=part(judged), validation=part(judged)),
        files=(),
        validation_per_class=None,
        sizes=(samples, judged, judged),
    )
    return replace(task, data_set=made)

"""What may be put behind a task's name: `wrn-10-4/cifar100/pau`, `resnet-v1-56/cifar100/few`."""

from collections.abc import Callable
from dataclasses import replace
from functools import cache, partial
from typing import TYPE_CHECKING, NamedTuple

from pangaea.data.sets import Arrays, DataSet, Pair
from pangaea.training.recipes import pau

if TYPE_CHECKING:
    from pangaea.tasks.classification import Classification

_FEW = 8  # samples of each part: WRN-10-4 takes two seconds for two epochs on a busy core


class Variant(NamedTuple):
    about: str
    change: Callable[["Classification"], "Classification"]


@cache  # data sets are known by themselves: another one would be loaded again
def few(data_set: DataSet) -> DataSet:
    """The first real samples of each part."""
    return replace(
        data_set,
        name=f"{data_set.name}-few",
        sizes=(_FEW,) * 3,
        validation_per_class=None,
        load=partial(_first, data_set),
    )


def _first(data_set: DataSet) -> Arrays:
    whole = data_set.load()
    inputs, labels = whole.train
    apart = whole.validation or (inputs[_FEW:], labels[_FEW:])
    return Arrays(train=_some(whole.train), validation=_some(apart), test=_some(whole.test))


def _some(pair: Pair) -> Pair:
    inputs, labels = pair
    return inputs[:_FEW].copy(), labels[:_FEW].copy()  # and let go of the others


VARIANTS = {
    "pau": Variant(
        "the special set-up that PAU needs",
        lambda task: replace(task, full=pau(task.full)),
    ),
    "few": Variant(
        "eight samples of each part of the data, to see that something works",
        lambda task: replace(task, data_set=few(task.data_set)),
    ),
}


def varied(task: "Classification", variant: str) -> "Classification":
    """The task under its longer name."""
    return replace(VARIANTS[variant].change(task), name=f"{task.name}/{variant}")

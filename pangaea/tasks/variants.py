"""What may be put behind a task's name: `wrn-10-4/cifar100/pau`, `resnet-v1-56/cifar100/few`."""

from collections.abc import Callable
from dataclasses import replace
from functools import cache, partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from pangaea.data.sets import Arrays, DataSet, Pair
from pangaea.errors import PangaeaError
from pangaea.training.recipes import pau

if TYPE_CHECKING:
    from pangaea.tasks.classification import Classification

COARSE_EPOCHS = 15  # enough to rank functions as 50 do (results/rank-audit.json)
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


@cache
def halved(data_set: DataSet) -> DataSet:
    """Images with the mean of every four pixels in their place."""
    channels, *size = data_set.shape
    if len(size) != 2 or any(length % 2 for length in size):
        raise PangaeaError(
            f"coarse is for images of even height and width; {data_set.name} has inputs of "
            f"{' × '.join(map(str, data_set.shape))}"
        )
    return replace(
        data_set,
        name=f"{data_set.name}-half",
        shape=(channels, *(length // 2 for length in size)),
        load=partial(_smaller, data_set),
    )


def _smaller(data_set: DataSet) -> Arrays:
    def pair(images: npt.NDArray[Any], labels: npt.NDArray[Any]) -> Pair:
        count, channels, height, width = images.shape
        squares = images.reshape(count, channels, height // 2, 2, width // 2, 2)
        return ((squares.sum((3, 5), dtype=np.uint16) + 2) // 4).astype(np.uint8), labels

    whole = data_set.load()
    return Arrays(
        train=pair(*whole.train),
        validation=pair(*whole.validation) if whole.validation else None,
        test=pair(*whole.test),
    )


def _coarse(task: "Classification") -> "Classification":
    halved(task.data_set)  # that it cannot be is said now
    epochs = min(COARSE_EPOCHS, task.search_epochs)
    return replace(task, search_epochs=epochs, coarse=epochs)


def _recipe(about: str, **changes: Any) -> Variant:
    return Variant(about, lambda task: replace(task, full=replace(task.full, **changes)))


def _network(about: str, **changes: Any) -> Variant:
    return Variant(about, lambda task: replace(task, choices=replace(task.choices, **changes)))


VARIANTS = {
    "pau": Variant(
        "the special set-up that PAU needs",
        lambda task: replace(task, full=pau(task.full)),
    ),
    "few": Variant(
        "eight samples of each part of the data, to see that something works",
        lambda task: replace(task, data_set=few(task.data_set)),
    ),
    "coarse": Variant("a search of 15 epochs, on images of half the height and width", _coarse),
    "test-curve": _recipe("test data, too, is judged by after each epoch", test_curve=True),
    # On what follows the paper is silent, or points at an original set-up.
    "reflect": _recipe("crops of images padded by mirrored pixels", padding="reflect"),
    "pixel-mean": _recipe("inputs centred pixel by pixel", featurewise=False, pixelwise=True),
    "keras-norm": _network(
        "batch norm's constants of Keras", norm_momentum=0.99, norm_epsilon=1e-3
    ),
    "biases": _network("biases in every convolution", biases=True),
    "truncated": _network("He-normal weights cut off at two standard deviations", truncated=True),
    "option-a": _network("shortcuts of zeros instead of projections", shortcut="padded"),
}


def varied(task: "Classification", variant: str) -> "Classification":
    """The task under its longer name."""
    return replace(VARIANTS[variant].change(task), name=f"{task.name}/{variant}")

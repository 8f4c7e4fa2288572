"""Data sets: arrays in; a training, a validation and a test part out, each of its own type.

A new data set is one file of this folder that holds a `DataSet`.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from pangaea import scanning
from pangaea.errors import PangaeaError, UnknownNameError
from pangaea.files import are_here

Pair = tuple[npt.NDArray[Any], npt.NDArray[Any]]


@dataclass(frozen=True, eq=False, kw_only=True)
class Arrays:
    """A data set as it comes, each part a pair of inputs (N, C, …) and labels (N,)."""

    train: Pair
    test: Pair
    validation: Pair | None = None


@dataclass(frozen=True, kw_only=True)
class DataSet:
    """What there is to know of a data set before its arrays are loaded."""

    name: str
    classes: int
    shape: tuple[int, ...]
    sizes: tuple[int, int, int]  # training, validation and test samples
    validation_per_class: int | None  # None: validation samples come drawn apart
    load: Callable[[], Arrays]
    files: tuple[str, ...] = ()  # of the data folder, without which `load` needs the network

    def here(self) -> bool:
        """Is it on this machine, so that `load` needs no network?"""
        return are_here(self.files)


@dataclass(frozen=True, eq=False)
class _Samples:
    inputs: Tensor
    labels: Tensor

    def __post_init__(self) -> None:
        if len(self.inputs) != len(self.labels) or self.labels.dtype != torch.int64:
            raise ValueError(
                f"each input needs one int64 label, but got {len(self.inputs)} inputs and "
                f"{len(self.labels)} labels of {self.labels.dtype}"
            )

    def __len__(self) -> int:
        return len(self.labels)

    def to(self, device: torch.device | str) -> Self:
        """The same samples on another device."""
        return type(self)(self.inputs.to(device), self.labels.to(device))


class TrainingData(_Samples):
    """Samples to train on."""


class ValidationData(_Samples):
    """Samples a search may judge by."""


class TestData(_Samples):
    """Samples for the last word only: no search is ever handed them."""

    __test__: ClassVar = False  # pytest would collect any class called Test…


@dataclass(frozen=True, eq=False)
class Normalization:
    """Centring and scaling: a mean per channel or pixel, a standard deviation per channel."""

    mean: Tensor
    std: Tensor

    def to(self, device: torch.device | str) -> Self:
        """The same normalization on another device."""
        return type(self)(self.mean.to(device), self.std.to(device))

    def apply(self, inputs: Tensor, dtype: torch.dtype = torch.float32) -> Tensor:
        """The inputs normalized; bytes become [0, 1] first, and float32 until the last step."""
        units = inputs.float() / 255 if inputs.dtype == torch.uint8 else inputs.float()
        return ((units - self.mean) / self.std).to(dtype)


def normalization(data: TrainingData, *, featurewise: bool = True) -> Normalization:
    """Mean and standard deviation of the training part; 0 and 1 if not `featurewise`."""
    channels = data.inputs.shape[1]
    axes = (0, *range(2, data.inputs.dim()))
    total, squares = data.inputs.new_zeros(2, channels, dtype=torch.float64)
    if featurewise:
        # Sums of bytes are exact in float64, in any order and on any device. 100 samples at a
        # time stay in the cache: 0.25 s for CIFAR against 1.1 s with 1000.
        for some in torch.split(data.inputs, 100):
            exact = some.double()
            total += exact.sum(axes)
            squares += exact.square().sum(axes)
    count = data.inputs.numel() / channels
    mean = total / count
    std = (squares / count - mean.square()).clamp_min(0).sqrt()
    if data.inputs.dtype == torch.uint8:
        mean, std = mean / 255, std / 255
    # A constant channel is centred, not divided; rounding alone leaves it up to 1e-8 of its mean.
    std[std <= 1e-7 * mean.abs()] = 1
    shape = (channels, *[1] * (data.inputs.dim() - 2))
    return Normalization(mean.float().reshape(shape), std.float().reshape(shape))


def centred(data: TrainingData) -> Normalization:
    """The mean of every pixel over the training part, and no scaling."""
    total = data.inputs.new_zeros(data.inputs.shape[1:], dtype=torch.float64)
    for some in torch.split(data.inputs, 100):
        total += some.double().sum(0)
    mean = total / len(data)
    mean = mean / 255 if data.inputs.dtype == torch.uint8 else mean
    return Normalization(mean.float(), torch.ones_like(mean, dtype=torch.float32))


def split(
    data_set: DataSet, seed: int = 0, *, hold_out: bool = True
) -> tuple[TrainingData, ValidationData]:
    """The training part, and the validation part held out of it, as many of each class.

    Without `hold_out` the training part stays whole, and validation is empty unless drawn apart.
    """
    arrays = _arrays(data_set)
    inputs, labels = arrays.train
    each = data_set.validation_per_class if hold_out else None
    held = _held_out(labels, data_set, each or 0, seed)
    apart = arrays.validation or (inputs[held], labels[held])
    return TrainingData(*_tensors(inputs[~held], labels[~held])), ValidationData(*_tensors(*apart))


def test_data(data_set: DataSet) -> TestData:
    """The test part."""
    return TestData(*_tensors(*_arrays(data_set).test))


def data_set(name: str) -> DataSet:
    """The data set called `name`."""
    try:
        return data_sets()[name]
    except KeyError:
        raise UnknownNameError("data set", name, data_sets()) from None


@cache
def data_sets() -> Mapping[str, DataSet]:
    """Every data set by its name: those that the modules of this folder hold."""
    values = (value for m in scanning.modules("pangaea.data") for value in vars(m).values())
    return {value.name: value for value in values if isinstance(value, DataSet)}


# A worker trains thousands of candidates on the same arrays.
@cache
def _arrays(data_set: DataSet) -> Arrays:
    arrays = data_set.load()
    for inputs, labels in filter(None, (arrays.train, arrays.validation, arrays.test)):
        if inputs.shape != (len(labels), *data_set.shape):
            raise PangaeaError(
                f"{data_set.name}: inputs must have the shape {(len(labels), *data_set.shape)}, "
                f"but have {inputs.shape}"
            )
        if labels.min() < 0 or labels.max() >= data_set.classes:
            raise PangaeaError(
                f"{data_set.name}: labels must lie in 0–{data_set.classes - 1}, "
                f"but reach from {labels.min()} to {labels.max()}"
            )
    return arrays


def _held_out(
    labels: npt.NDArray[Any], data_set: DataSet, each: int, seed: int
) -> npt.NDArray[np.bool_]:
    fewest = np.bincount(labels, minlength=data_set.classes).min()
    if each and fewest <= each:
        raise PangaeaError(
            f"{data_set.name}: {each} samples of each class are held out for validation, "
            f"but a class has only {fewest}"
        )
    # Ranking one number per sample, because NumPy may change `permutation` between releases.
    draws = np.random.Generator(np.random.PCG64(seed)).random(len(labels))
    shuffled = np.lexsort((draws, labels))  # class by class
    first = np.searchsorted(labels, np.arange(data_set.classes), sorter=shuffled)
    held = np.zeros(len(labels), dtype=np.bool_)
    held[shuffled[first[:, None] + np.arange(each)]] = True
    return held


def _tensors(inputs: npt.NDArray[Any], labels: npt.NDArray[Any]) -> tuple[Tensor, Tensor]:
    # Copies, so that nothing done to a tensor reaches the arrays kept for the next candidate.
    return torch.tensor(inputs), torch.tensor(labels, dtype=torch.int64)

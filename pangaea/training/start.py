"""What a run starts from: its seeds, its data on the device, its groups of parameters."""

import contextlib
import random
from collections.abc import Iterator
from typing import Any

import numpy as np
import torch
from torch import nn

from pangaea import system
from pangaea.activation.module import parameter_groups
from pangaea.data.sets import (
    DataSet,
    Normalization,
    TestData,
    TrainingData,
    ValidationData,
    centred,
    normalization,
    split,
    test_data,
)
from pangaea.training.recipes import Recipe


def derived_seed(seed: int, purpose: int) -> int:
    """Independent seeds for the weights, the order of the data and the noise of a run."""
    return int(np.random.SeedSequence((seed, purpose)).generate_state(1, np.uint64)[0] >> 1)


@contextlib.contextmanager
def seeded(seed: int) -> Iterator[None]:
    """Python's, NumPy's and torch's generators from this seed; those of the first two come back."""
    python, numpy = random.getstate(), np.random.get_state()
    random.seed(seed)
    np.random.seed(derived_seed(seed, 0) % 2**32)
    torch.manual_seed(seed)
    try:
        yield
    finally:
        random.setstate(python)
        np.random.set_state(numpy)


def peak_memory(device: torch.device) -> int:
    """Bytes: on a GPU since the last run began alone there, on the CPU of the whole process."""
    if device.type == "cuda":
        return torch.cuda.max_memory_allocated(device)
    return system.peak_memory()


def device_name(device: torch.device) -> str:
    return torch.cuda.get_device_name(device) if device.type == "cuda" else device.type


_PARTS: dict[
    tuple[DataSet, bool, bool, torch.device], tuple[TrainingData, ValidationData, Normalization]
] = {}


def parts(
    data_set: DataSet, recipe: Recipe, device: torch.device, with_test: bool
) -> tuple[TrainingData, ValidationData, TestData | None, Normalization]:
    """The data on the device, kept there for the next candidate."""
    key = (data_set, recipe.featurewise, recipe.pixelwise, device)
    if key not in _PARTS:
        training, validation = split(data_set)
        normal = normalization(training, featurewise=recipe.featurewise)
        if recipe.pixelwise:
            normal = centred(training)
        _PARTS.clear()  # one data set at a time
        _PARTS[key] = training.to(device), validation.to(device), normal.to(device)
    training, validation, normal = _PARTS[key]
    test = test_data(data_set).to(device) if with_test else None
    return training, validation, test, normal


def groups(model: nn.Module, recipe: Recipe) -> list[dict[str, Any]]:
    """Parameters by weight decay and rate; `constant` is the rate of a group that keeps its own."""
    rows = parameter_groups(model, recipe.weight_decay, recipe.activation_rate)
    return [
        {name: row[name] for name in ("params", "weight_decay")} | {"constant": row.get("lr")}
        for row in rows
        if row["params"]
    ]

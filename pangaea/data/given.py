"""Data that a user has: tensors, a `Dataset` or a `DataLoader`, walked through in batches."""

from collections.abc import Iterator, Mapping
from typing import Any, Protocol

import numpy as np
import torch
from torch import Tensor
from torch.utils.data import DataLoader, Dataset, TensorDataset

from pangaea.errors import PangaeaError

_JUDGED_AT_ONCE = 1024  # samples: without gradients there is room


class GivenBatches(Protocol):
    """Batches of inputs and targets on a device, in a new order each time if they are shuffled."""

    even: bool  # is every batch as large as the others?

    def __len__(self) -> int: ...
    def __iter__(self) -> Iterator[tuple[Any, Any]]: ...


def given_batches(
    data: Any, batch: int, device: torch.device, generator: torch.Generator | None = None
) -> GivenBatches:
    """(x, y), a `Dataset` or list of samples, or a `DataLoader`; shuffled by the generator."""
    if isinstance(data, DataLoader):
        return _Loaded(data, device, generator)
    if isinstance(data, TensorDataset):
        *inputs, targets = moved(data.tensors, device)
        return _Resident(
            inputs[0] if len(inputs) == 1 else tuple(inputs), targets, batch, generator
        )
    if isinstance(data, tuple) and len(data) == 2:
        inputs, targets = moved(data[0], device), moved(data[1], device)
        return _Resident(inputs, targets, batch, generator)
    samples = isinstance(data, list) or (isinstance(data, Dataset) and hasattr(data, "__len__"))
    if not samples or len(data) == 0:
        raise PangaeaError(
            "data is a pair (x, y) of tensors or arrays, a Dataset, a list of samples or a "
            f"DataLoader, with something in it; got {type(data).__name__}"
        )
    shuffled = generator is not None
    size = min(batch if shuffled else max(batch, _JUDGED_AT_ONCE), len(data))
    loader: DataLoader[Any] = DataLoader(
        data, size, shuffle=shuffled, generator=generator, drop_last=shuffled
    )
    return _Loaded(loader, device, generator)


class _Resident:
    """Tensors that lie on the device as a whole."""

    even = True

    def __init__(
        self, inputs: Any, targets: Any, batch: int, generator: torch.Generator | None
    ) -> None:
        sizes = {len(tensor) for tensor in (*_tensors(inputs), *_tensors(targets))}
        if not sizes:
            raise PangaeaError("x and y are tensors or NumPy arrays, with a row for each sample")
        if len(sizes) != 1 or 0 in sizes:
            raise PangaeaError(
                "x and y have one row for each sample, and at least one; got "
                f"{' and '.join(map(str, sorted(sizes)))} rows"
            )
        (self.count,) = sizes
        self.inputs, self.targets, self.generator = inputs, targets, generator
        self.batch = min(batch if generator is not None else _JUDGED_AT_ONCE, self.count)

    def __len__(self) -> int:
        """What is left over in an epoch of training has its turn in another."""
        whole, rest = divmod(self.count, self.batch)
        return whole + (rest > 0 and self.generator is None)

    def __iter__(self) -> Iterator[tuple[Any, Any]]:
        first = next(iter(_tensors(self.inputs)))
        order = torch.arange(self.count)
        if self.generator is not None:
            order = torch.randperm(self.count, generator=self.generator)
        for part in torch.split(order.to(first.device), self.batch)[: len(self)]:
            yield _rows(self.inputs, part), _rows(self.targets, part)


class _Loaded:
    """What a loader gives, moved to the device; all but the last of a batch are the inputs."""

    even = False

    def __init__(
        self, loader: "DataLoader[Any]", device: torch.device, generator: torch.Generator | None
    ) -> None:
        self.loader, self.device = loader, device
        if generator is not None and loader.generator is not None:
            # Its order must follow from the run's seed, not from the runs before.
            loader.generator.manual_seed(generator.initial_seed())
        try:
            self.steps = len(loader)
        except TypeError:
            raise PangaeaError(
                "a DataLoader must know its length, for the schedule: an IterableDataset needs "
                "__len__"
            ) from None
        if self.steps == 0:
            raise PangaeaError("a DataLoader has no batch to give")

    def __len__(self) -> int:
        return self.steps

    def __iter__(self) -> Iterator[tuple[Any, Any]]:
        for given in self.loader:
            batch = moved(given, self.device)
            if isinstance(batch, Mapping):
                yield batch, batch
            elif isinstance(batch, list | tuple) and len(batch) > 1:
                yield batch[0] if len(batch) == 2 else tuple(batch[:-1]), batch[-1]
            else:
                raise PangaeaError(
                    f"a batch is (inputs, targets) or a dict of tensors, got {type(given).__name__}"
                )


def size_of(batch: tuple[Any, Any]) -> int:
    """How many samples a batch has."""
    return len(next(iter(_tensors(batch))))


def _tensors(nested: Any) -> Iterator[Tensor]:
    if isinstance(nested, Tensor):
        yield nested
    elif isinstance(nested, Mapping):
        for value in nested.values():
            yield from _tensors(value)
    elif isinstance(nested, list | tuple):
        for value in nested:
            yield from _tensors(value)


def _rows(nested: Any, rows: Tensor) -> Any:
    if isinstance(nested, Mapping):
        return {name: _rows(value, rows) for name, value in nested.items()}
    if isinstance(nested, tuple):
        return tuple(_rows(value, rows) for value in nested)
    return nested[rows]


def moved(nested: Any, device: torch.device) -> Any:
    """The same nest with its tensors and arrays on the device; what is neither stays."""
    if isinstance(nested, np.ndarray):
        tensor = torch.as_tensor(nested)
        # Arrays are float64 by habit, networks float32.
        nested = tensor.to(torch.get_default_dtype()) if tensor.is_floating_point() else tensor
    if isinstance(nested, list | tuple):
        return tuple(moved(value, device) for value in nested)
    if isinstance(nested, Mapping):
        return {name: moved(value, device) for name, value in nested.items()}
    return nested.to(device) if isinstance(nested, Tensor) else nested

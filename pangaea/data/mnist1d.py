"""MNIST-1D (Greydanus & Kobak, arXiv 2011.14439): ten digits as noisy signals of 40 samples."""

import random
from contextlib import suppress
from importlib.metadata import version
from importlib.util import find_spec
from itertools import chain
from pathlib import Path

import numpy as np

from pangaea.data.sets import Arrays, DataSet, Pair, data_folder
from pangaea.errors import PangaeaError
from pangaea.files import replacing

SHAPE = (1, 40)
# Each part is a drawing of its own: classes balanced, and nothing of one scaled by another.
SIZES = {"train": 1000, "validation": 2000, "test": 6000}
SEEDS = {"train": 1, "validation": 2, "test": 3}


def load() -> Arrays:
    """The arrays from the cache, or made anew, in about 4 s."""
    if not here():
        raise PangaeaError(
            "MNIST-1D is made by the package mnist1d, which is not installed; "
            "install it with: pip install mnist1d"
        )
    with suppress(Exception):  # whatever is wrong with the cache, the data can be made anew
        return _read(_cache())
    parts = {part: _draw(SIZES[part], SEEDS[part]) for part in SIZES}
    with suppress(OSError, PangaeaError):  # nowhere to keep it: next time takes 4 s again
        _write(_cache(), parts)
    return Arrays(**parts)


def here() -> bool:
    """Whether the package that makes the data is installed."""
    return find_spec("mnist1d") is not None


def _draw(count: int, seed: int) -> Pair:
    states = random.getstate(), np.random.get_state()  # mnist1d reseeds both
    from mnist1d.data import get_dataset_args, make_dataset

    settings = get_dataset_args()
    settings.num_samples, settings.train_split, settings.seed = count, 1.0, seed
    try:
        drawn = make_dataset(settings)
    finally:
        random.setstate(states[0])
        np.random.set_state(states[1])
    return drawn["x"].astype(np.float32).reshape(count, *SHAPE), drawn["y"].astype(np.int64)


def _cache() -> Path:
    return data_folder() / f"mnist1d-{version('mnist1d')}.npz"


def _read(path: Path) -> Arrays:
    with path.open("rb") as file, np.load(file, allow_pickle=False) as kept:
        flat = iter([kept[f"arr_{i}"] for i in range(2 * len(SIZES))])
    parts = dict(zip(SIZES, zip(flat, flat, strict=True), strict=True))
    for part, (inputs, labels) in parts.items():
        if inputs.shape != (SIZES[part], *SHAPE) or labels.shape != (SIZES[part],):
            raise ValueError(f"{path} holds {part} inputs of the shape {inputs.shape}")
    return Arrays(**parts)


def _write(path: Path, parts: dict[str, Pair]) -> None:
    with replacing(path) as file:
        np.savez(file, *chain.from_iterable(parts.values()))


MNIST1D = DataSet(
    name="mnist1d",
    classes=10,
    shape=SHAPE,
    sizes=(SIZES["train"], SIZES["validation"], SIZES["test"]),
    validation_per_class=None,
    load=load,
    here=here,
)

import random

import numpy as np
import pytest
import torch

from pangaea.data import mnist1d
from pangaea.data import sets as data
from pangaea.data.sets import Arrays

# Of each part: its first labels, the start of its first signal, and the mean of the cubes.
GOLDEN = {
    "train": (
        [4, 3, 1, 7, 5, 1, 0, 7, 4, 8],
        [-0.6549814, -0.5241591, -0.5857005, -0.0101226],
        -0.086400656,
    ),
    "validation": (
        [8, 7, 2, 2, 4, 8, 8, 4, 1, 0],
        [-0.7414811, -0.9155603, -0.8115581, -0.7358393],
        -0.076051558,
    ),
    "test": (
        [8, 4, 8, 0, 6, 0, 5, 5, 8, 6],
        [-0.3525925, 0.0689259, -0.217687, 0.0874208],
        -0.069997244,
    ),
}


@pytest.fixture(scope="module")
def arrays() -> Arrays:
    return mnist1d.load()


def test_the_parts_have_the_sizes_listed_and_every_class_alike(arrays: Arrays) -> None:
    assert mnist1d.MNIST1D.sizes == (1000, 2000, 6000)
    for part, count in mnist1d.SIZES.items():
        inputs, labels = getattr(arrays, part)
        assert inputs.shape == (count, 1, 40)
        assert inputs.dtype == np.float32
        assert labels.dtype == np.int64
        assert np.bincount(labels).tolist() == [count // 10] * 10


def test_no_sample_stands_in_two_parts_or_twice_in_one(arrays: Arrays) -> None:
    assert arrays.validation is not None
    signals = np.concatenate([arrays.train[0], arrays.validation[0], arrays.test[0]])
    assert len(np.unique(signals.reshape(9000, 40), axis=0)) == 9000
    # A shift or a scale of the same drawing would still correlate; apart, noise differs.
    flat = signals.reshape(9000, 40)
    flat = flat - flat.mean(1, keepdims=True)
    flat /= np.linalg.norm(flat, axis=1, keepdims=True)
    assert (flat[:1000] @ flat[1000:].T).max() < 0.9999


def test_the_data_never_changes(arrays: Arrays) -> None:
    # A change here makes every stored study's accuracy mean something else.
    for part, (labels, signal, third) in GOLDEN.items():
        inputs, found = getattr(arrays, part)
        assert found[:10].tolist() == labels
        np.testing.assert_allclose(inputs[0, 0, :4], signal, rtol=1e-5)
        assert np.mean(inputs, dtype=np.float64) == pytest.approx(0, abs=1e-6)
        assert np.std(inputs, dtype=np.float64) == pytest.approx(1, abs=1e-6)
        assert np.mean(inputs.astype(np.float64) ** 3) == pytest.approx(third, rel=1e-5)


def test_making_the_data_leaves_every_random_state_alone() -> None:
    random.seed(1)
    np.random.seed(2)
    torch.manual_seed(3)
    expected = random.random(), np.random.rand(), torch.rand(1).item()
    random.seed(1)
    np.random.seed(2)
    torch.manual_seed(3)
    once = mnist1d.draw(20, 4)
    assert (random.random(), np.random.rand(), torch.rand(1).item()) == expected
    again = mnist1d.draw(20, 4)
    assert np.array_equal(once[0], again[0])
    assert not np.array_equal(once[0], mnist1d.draw(20, 5)[0])


@pytest.mark.parametrize(
    ("count", "seed"), [(20, 0), (20, 1), (50, 2**32 - 1), *[(300, s) for s in range(3)], (1000, 1)]
)
def test_the_data_is_that_of_the_authors_package_to_the_last_bit(count: int, seed: int) -> None:
    package = pytest.importorskip("mnist1d.data")
    settings = package.get_dataset_args()
    settings.num_samples, settings.train_split, settings.seed = count, 1.0, seed
    states = random.getstate(), np.random.get_state()
    theirs = package.make_dataset(settings)
    random.setstate(states[0])
    np.random.set_state(states[1])
    signals, labels = mnist1d.draw(count, seed)
    assert np.array_equal(signals[:, 0], theirs["x"].astype(np.float32))
    assert np.array_equal(labels, theirs["y"])


def test_the_split_hands_out_the_parts_as_drawn() -> None:
    training, validation = data.split(mnist1d.MNIST1D, seed=1)
    test = data.test_data(mnist1d.MNIST1D)
    assert (len(training), len(validation), len(test)) == mnist1d.MNIST1D.sizes
    assert validation.inputs.dtype == torch.float32
    assert validation.inputs.shape[1:] == mnist1d.MNIST1D.shape

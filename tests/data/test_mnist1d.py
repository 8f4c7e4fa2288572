import random
from pathlib import Path

import numpy as np
import pytest
import torch

from pangaea.data import mnist1d
from pangaea.data import sets as data
from pangaea.data.sets import Arrays
from pangaea.errors import PangaeaError

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
def kept(tmp_path_factory: pytest.TempPathFactory) -> tuple[Arrays, Path]:
    """The data as made, and the cache it left behind."""
    folder = tmp_path_factory.mktemp("made")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PANGAEA_DATA", str(folder))
        arrays = mnist1d.load()
    (cache,) = folder.iterdir()
    return arrays, cache


def equal(one: Arrays, other: Arrays) -> bool:
    return all(
        np.array_equal(a, b)
        for part in mnist1d.SIZES
        for a, b in zip(getattr(one, part), getattr(other, part), strict=True)
    )


@pytest.fixture
def drawings(monkeypatch: pytest.MonkeyPatch, kept: tuple[Arrays, Path]) -> list[int]:
    """The sizes drawn from here on, from the data already made so that it takes no time."""
    drawn: list[int] = []
    by_size = {mnist1d.SIZES[part]: getattr(kept[0], part) for part in mnist1d.SIZES}

    def draw(count: int, seed: int) -> data.Pair:
        drawn.append(count)
        pair: data.Pair = by_size[count]
        return pair

    monkeypatch.setattr(mnist1d, "_draw", draw)
    return drawn


def test_the_parts_have_the_sizes_listed_and_every_class_alike(kept: tuple[Arrays, Path]) -> None:
    arrays, _ = kept
    assert mnist1d.MNIST1D.sizes == (1000, 2000, 6000)
    for part, count in mnist1d.SIZES.items():
        inputs, labels = getattr(arrays, part)
        assert inputs.shape == (count, 1, 40)
        assert inputs.dtype == np.float32
        assert labels.dtype == np.int64
        assert np.bincount(labels).tolist() == [count // 10] * 10


def test_no_sample_stands_in_two_parts_or_twice_in_one(kept: tuple[Arrays, Path]) -> None:
    arrays, _ = kept
    assert arrays.validation is not None
    signals = np.concatenate([arrays.train[0], arrays.validation[0], arrays.test[0]])
    assert len(np.unique(signals.reshape(9000, 40), axis=0)) == 9000
    # A shift or a scale of the same drawing would still correlate; apart, noise differs.
    flat = signals.reshape(9000, 40)
    flat = flat - flat.mean(1, keepdims=True)
    flat /= np.linalg.norm(flat, axis=1, keepdims=True)
    assert (flat[:1000] @ flat[1000:].T).max() < 0.9999


def test_the_data_never_changes(kept: tuple[Arrays, Path]) -> None:
    # A change here makes every stored study's accuracy mean something else.
    arrays, _ = kept
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
    once = mnist1d._draw(20, 4)
    assert (random.random(), np.random.rand(), torch.rand(1).item()) == expected
    again = mnist1d._draw(20, 4)
    assert np.array_equal(once[0], again[0])
    assert not np.array_equal(once[0], mnist1d._draw(20, 5)[0])


def test_the_cache_gives_the_same_arrays_without_drawing(
    kept: tuple[Arrays, Path], drawings: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    arrays, cache = kept
    monkeypatch.setenv("PANGAEA_DATA", str(cache.parent))
    assert equal(mnist1d.load(), arrays)
    assert drawings == []


@pytest.mark.parametrize("damage", ["empty", "truncated", "flipped", "text", "array", "sizes"])
def test_a_damaged_cache_is_made_anew(
    damage: str,
    kept: tuple[Arrays, Path],
    drawings: list[int],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    arrays, whole = kept
    cache, content = tmp_path / whole.name, bytearray(whole.read_bytes())
    monkeypatch.setenv("PANGAEA_DATA", str(tmp_path))
    content[len(content) // 2] ^= 1
    pairs = [array for part in mnist1d.SIZES for array in getattr(arrays, part)]
    if damage in ("array", "sizes"):
        with cache.open("wb") as file:
            np.save(file, pairs[0]) if damage == "array" else np.savez(file, *reversed(pairs))
    else:
        cache.write_bytes(
            {
                "empty": b"",
                "truncated": whole.read_bytes()[:-100],
                "flipped": bytes(content),
                "text": b"not an archive",
            }[damage]
        )
    assert equal(mnist1d.load(), arrays)
    assert drawings == [1000, 2000, 6000]
    assert equal(mnist1d.load(), arrays)
    assert len(drawings) == 3  # the cache was mended
    assert list(tmp_path.iterdir()) == [cache]


def test_a_folder_that_cannot_be_written_is_done_without(
    kept: tuple[Arrays, Path],
    drawings: list[int],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    (tmp_path / "file").touch()
    for folder in (tmp_path / "file", Path("~nobody-is-called-this")):
        monkeypatch.setenv("PANGAEA_DATA", str(folder))
        assert equal(mnist1d.load(), kept[0])
    assert len(drawings) == 6


def test_without_the_package_one_sentence_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(mnist1d, "find_spec", lambda name: None)
    assert not mnist1d.MNIST1D.here()
    with pytest.raises(PangaeaError, match="pip install mnist1d"):
        mnist1d.load()


def test_the_split_hands_out_the_parts_as_drawn(
    kept: tuple[Arrays, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PANGAEA_DATA", str(kept[1].parent))
    assert mnist1d.MNIST1D.here()
    training, validation = data.split(mnist1d.MNIST1D, seed=1)
    test = data.test_data(mnist1d.MNIST1D)
    assert (len(training), len(validation), len(test)) == mnist1d.MNIST1D.sizes
    assert validation.inputs.dtype == torch.float32
    assert validation.inputs.shape[1:] == mnist1d.MNIST1D.shape

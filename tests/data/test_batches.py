"""An epoch: every sample once, its label with it, and no pixel that the paper would not make."""

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from pangaea.data import batches as module
from pangaea.data import sets as data
from pangaea.data.batches import TrainingBatches, judging_batches
from pangaea.data.sets import Normalization, TrainingData, ValidationData, normalization
from pangaea.training.recipes import Recipe

COUNT, SIDE = 400, 6


def recipe(**changes: object) -> Recipe:
    return Recipe(epochs=1, rate=0.1, weight_decay=0.0, **changes)  # type: ignore[arg-type]


def images(count: int = COUNT) -> TrainingData:
    """Random images, each labelled with its own number."""
    rng = np.random.default_rng(0)
    pixels = rng.integers(0, 256, (count, 3, SIDE, SIDE), dtype=np.uint8)
    return TrainingData(torch.tensor(pixels), torch.arange(count))


def signals(count: int) -> TrainingData:
    """Signals that say their number, which is their label too."""
    return TrainingData(
        torch.arange(count).float().view(-1, 1, 1).expand(-1, 1, 5), torch.arange(count)
    )


def generator(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def made(
    samples: TrainingData, how: Recipe, dtype: torch.dtype = torch.float32
) -> tuple[TrainingBatches, Normalization]:
    normal = normalization(samples, featurewise=how.featurewise)
    return TrainingBatches(
        samples, normal, dtype, batch=how.batch, pad=how.pad, flip=how.flip
    ), normal


def epoch(batches: TrainingBatches, draws: torch.Generator) -> tuple[Tensor, Tensor]:
    """The next epoch, as images of the network's layout in one row, and their labels."""
    batches.refill(draws)
    inputs = torch.cat([batches.as_input(batch) for batch in batches.inputs])
    return inputs.clone(), batches.labels.flatten().clone()


def crops(samples: TrainingData, normal: Normalization, pad: int) -> Tensor:
    """What may come of each image: (2, offsets down, offsets across, N, C, H, W), slowly."""
    padded = F.pad(normal.apply(samples.inputs), (pad,) * 4)
    places = range(2 * pad + 1)
    plain = torch.stack(
        [torch.stack([padded[:, :, y : y + SIDE, x : x + SIDE] for x in places]) for y in places]
    )
    return torch.stack([plain, plain.flip(-1)])


@given(count=st.integers(1, 60), batch=st.integers(1, 70))
def test_an_epoch_holds_every_sample_once_and_its_beginning_again(count: int, batch: int) -> None:
    batches, _ = made(signals(count), recipe(batch=batch))
    inputs, labels = epoch(batches, generator())
    size = min(batch, count)
    assert batches.inputs.shape == (batches.steps, size, 1, 5)
    assert len(labels) == size * batches.steps
    assert 0 <= len(labels) - count < size
    assert sorted(labels[:count].tolist()) == list(range(count))
    assert torch.equal(labels[count:], labels[: len(labels) - count])
    assert torch.equal(inputs, labels.float().view(-1, 1, 1).expand(-1, 1, 5))


@pytest.mark.parametrize("chunk", [4096, 7])
def test_labels_stay_with_their_images(chunk: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_CHUNK", chunk)
    samples = images(50)
    batches, normal = made(samples, recipe(batch=16))
    inputs, labels = epoch(batches, generator())
    assert sorted(labels[:50].tolist()) == list(range(50))
    assert torch.equal(labels[50:], labels[:14])
    assert torch.equal(inputs, normal.apply(samples.inputs)[labels])


@pytest.mark.parametrize("featurewise", [True, False])
def test_augmented_images_are_crops_or_mirrored_crops_and_all_of_them(featurewise: bool) -> None:
    how = recipe(batch=64, flip=True, pad=4, featurewise=featurewise)
    samples = images()
    batches, normal = made(samples, how)
    possible = crops(samples, normal, pad=4)
    draws, found = generator(), []
    for _ in range(6):
        inputs, labels = epoch(batches, draws)
        matches = (possible[:, :, :, labels] == inputs).flatten(4).all(4)
        assert matches.flatten(0, 2).sum(0).tolist() == [1] * len(labels)
        found.append(matches.sum(3))
    counts = torch.stack(found).sum(0).double()
    assert counts.shape == (2, 9, 9)
    assert counts.min() > 0
    total = counts.sum()
    # Five standard deviations of a fair draw, for the flips, the rows and the columns.
    for axes, outcomes in (((1, 2), 2), ((0, 2), 9), ((0, 1), 9)):
        share = counts.sum(axes) / total
        fair = 1 / outcomes
        assert (share - fair).abs().max() < 5 * (fair * (1 - fair) / total).sqrt()


@pytest.mark.parametrize(("flip", "pad", "outcomes"), [(True, 0, 2), (False, 4, 81), (True, 1, 18)])
def test_flips_and_crops_go_each_their_own_way(flip: bool, pad: int, outcomes: int) -> None:
    samples = images()
    batches, normal = made(samples, recipe(batch=64, flip=flip, pad=pad))
    possible = crops(samples, normal, pad)[: 1 + flip]
    draws, seen = generator(), torch.zeros(possible.shape[:3], dtype=torch.bool)
    for _ in range(4):
        inputs, labels = epoch(batches, draws)
        matches = (possible[:, :, :, labels] == inputs).flatten(4).all(4)
        assert matches.flatten(0, 2).sum(0).tolist() == [1] * len(labels)
        seen |= matches.any(3)
    assert seen.sum() == outcomes


def test_without_augmentation_images_come_as_they_are() -> None:
    samples = images()
    batches, normal = made(samples, recipe(batch=64, featurewise=True))
    draws = generator()
    for _ in range(2):
        inputs, labels = epoch(batches, draws)
        assert torch.equal(inputs, normal.apply(samples.inputs)[labels])


def test_the_border_is_nothing_after_normalising() -> None:
    pixels = torch.full((64, 3, SIDE, SIDE), 255, dtype=torch.uint8)
    pixels[::2] = 0
    samples = TrainingData(pixels, torch.arange(64))
    batches, _ = made(samples, recipe(batch=64, pad=4, featurewise=True))
    inputs, labels = epoch(batches, generator())
    # Half of the images are white and half black, so centred ones are 1 and −1 all over.
    assert sorted(set(inputs.flatten().tolist())) == [-1, 0, 1]
    inside = inputs != 0
    assert 0 < inside.double().mean() < 1
    assert torch.equal(inputs.sign().amax((1, 2, 3)) == 1, labels % 2 == 1)
    rows = inside.any(3).sum(2)
    assert set(rows.flatten().tolist()) == {2, 3, 4, 5, 6}


def test_two_epochs_differ_and_the_same_seed_gives_the_same_two() -> None:
    def two(seed: int) -> list[Tensor]:
        batches, _ = made(images(), recipe(batch=64, flip=True, pad=4))
        draws = generator(seed)
        return [*epoch(batches, draws), *epoch(batches, draws)]

    first, again, other = two(1), two(1), two(2)
    assert all(torch.equal(a, b) for a, b in zip(first, again, strict=True))
    assert not torch.equal(first[1], first[3])
    assert not torch.equal(first[1], other[1])
    # The same image is cropped anew in the second epoch.
    order = [labels[:COUNT].argsort() for labels in (first[1], first[3])]
    pairs = first[0][order[0]] == first[2][order[1]]
    assert pairs.flatten(1).all(1).double().mean() < 0.1


def test_a_refill_draws_from_its_generator_alone() -> None:
    batches, _ = made(images(), recipe(batch=64, flip=True, pad=4))
    before = torch.get_rng_state()
    batches.refill(generator())
    assert torch.equal(torch.get_rng_state(), before)


def test_the_tensors_stay_where_they_are() -> None:
    batches, _ = made(images(), recipe(batch=64, flip=True, pad=4))
    places = batches.inputs.data_ptr(), batches.labels.data_ptr()
    draws = generator()
    for _ in range(2):
        batches.refill(draws)
        assert (batches.inputs.data_ptr(), batches.labels.data_ptr()) == places


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=str)
def test_a_batch_is_channels_last_and_in_the_precision_asked_for(dtype: torch.dtype) -> None:
    samples = images()
    batches, normal = made(samples, recipe(batch=64, featurewise=True), dtype)
    inputs, labels = epoch(batches, generator())
    assert batches.labels.dtype == torch.int64
    for batch in batches.inputs:
        shown = batches.as_input(batch)
        assert shown.shape == (64, 3, SIDE, SIDE)
        assert shown.dtype == dtype
        assert shown.is_contiguous(memory_format=torch.channels_last)
        assert shown.data_ptr() == batch.data_ptr()
    assert torch.equal(inputs, normal.apply(samples.inputs, dtype)[labels])


@pytest.mark.parametrize("kind", [ValidationData, data.TestData])
def test_judging_batches_keep_order_and_size(kind: type[ValidationData]) -> None:
    samples = images(2500)
    normal = normalization(samples)
    found = judging_batches(kind(samples.inputs, samples.labels), normal, torch.float32)
    assert [len(labels) for _, labels in found] == [1000, 1000, 500]
    assert torch.cat([labels for _, labels in found]).tolist() == list(range(2500))
    inputs = torch.cat([inputs for inputs, _ in found])
    assert torch.equal(inputs, normal.apply(samples.inputs))
    assert all(i.is_contiguous(memory_format=torch.channels_last) for i, _ in found)


def test_judging_batches_of_signals_are_signals() -> None:
    samples = signals(30)
    normal = normalization(samples, featurewise=False)
    ((inputs, labels),) = judging_batches(
        ValidationData(samples.inputs, samples.labels), normal, torch.bfloat16
    )
    assert inputs.shape == (30, 1, 5)
    assert inputs.dtype == torch.bfloat16
    assert torch.equal(inputs[:, 0, 0].long(), labels)

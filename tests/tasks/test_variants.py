"""What stands behind a task's name changes its recipe, its network or its data."""

from dataclasses import replace

import numpy as np
import pytest
import torch

import pangaea as pg
from pangaea.data.batches import TrainingBatches
from pangaea.data.sets import TrainingData, centred
from pangaea.errors import PangaeaError, UnknownNameError
from pangaea.tasks.classification import Classification
from pangaea.tasks.variants import VARIANTS, halved, varied
from tests.random_images import small


def test_several_variants_stand_behind_each_other() -> None:
    task = pg.task("resnet-v1-56/cifar100/pixel-mean/reflect")
    assert isinstance(task, Classification)
    assert (task.full.pixelwise, task.full.padding) == (True, "reflect")
    assert task.name == "resnet-v1-56/cifar100/pixel-mean/reflect"


@pytest.mark.parametrize("name", ["mnist1d/nothing", "wrn-10-4/pau/cifar100", "wrn-10-4/pau"])
def test_what_is_no_variant_is_no_task(name: str) -> None:
    with pytest.raises(UnknownNameError):
        pg.task(name)


@pytest.mark.parametrize("variant", VARIANTS)
def test_every_variant_is_another_task_of_a_longer_name(variant: str) -> None:
    plain, varied = pg.task("wrn-10-4/cifar100"), pg.task(f"wrn-10-4/cifar100/{variant}")
    assert varied != plain
    assert varied.about() != plain.about()


def test_few_samples_of_each_part_train() -> None:
    judged = pg.evaluate("relu", "mnist1d/few", runs=1, epochs=1)
    assert judged.results[0].failure is None
    assert pg.task("mnist1d/few").data_set is pg.task("mnist1d/few").data_set  # type: ignore[attr-defined]


def test_test_data_by_epoch_is_kept_where_it_is_asked_for() -> None:
    plain, asked = (
        pg.train(f"mnist1d{end}/few", "relu", epochs=20, data="test") for end in ("", "/test-curve")
    )
    assert plain.test == {}
    assert asked.test.keys() == asked.validation.keys() != set()
    assert asked.test[20] == asked.score == plain.score
    validated = pg.train("mnist1d/test-curve/few", "relu", epochs=20)
    assert validated.test == {}  # a search never sees it


def test_coarse_images_have_the_mean_of_every_four_pixels() -> None:
    plain = small("wrn-10-1/cifar10", samples=32).data_set
    arrays = plain.load()  # which are others each time
    half = halved(replace(plain, load=lambda: arrays))
    assert (half.shape, half.sizes) == ((3, 16, 16), plain.sizes)
    before, after = arrays.test[0].astype(float), half.load().test[0]
    assert after.shape == (8, 3, 16, 16)
    # A mean that ends in a half is rounded up.
    corner = np.floor(before[:, :, :2, -2:].mean((2, 3)) + 0.5)
    np.testing.assert_array_equal(after[:, :, 0, -1], corner)


@pytest.mark.parametrize(("epochs", "alike"), [(1, False), (2, False), (3, True)])
def test_only_trainings_as_short_as_the_search_s_are_coarse(epochs: int, alike: bool) -> None:
    whole = replace(small("wrn-10-1/cifar10", samples=128), search_epochs=2)
    coarse = varied(whole, "coarse")
    losses = [
        pg.train(task, "relu", epochs=epochs, precision="fp32").loss for task in (whole, coarse)
    ]
    assert (losses[0] == losses[1]) is alike


def test_what_has_no_pixels_to_halve_is_not_coarse() -> None:
    with pytest.raises(PangaeaError, match="mnist1d has inputs of 1 × 40"):
        pg.task("mnist1d/coarse")


def images(count: int = 7) -> TrainingData:
    pixels = torch.randint(0, 256, (count, 3, 8, 8), dtype=torch.uint8)
    return TrainingData(pixels, torch.zeros(count, dtype=torch.int64))


def test_every_pixel_is_centred_by_its_own_mean() -> None:
    data = images(50)
    normal = centred(data)
    assert normal.mean.shape == (3, 8, 8)
    inputs = normal.apply(data.inputs)
    torch.testing.assert_close(inputs.mean(0), torch.zeros(3, 8, 8), atol=1e-6, rtol=0)


def test_reflection_mirrors_the_border() -> None:
    data = images()
    batches = TrainingBatches(data, centred(data), torch.float32, batch=7, pad=2, padding="reflect")
    inputs = centred(data).apply(data.inputs)
    wide = batches._source.permute(0, 3, 1, 2)
    torch.testing.assert_close(wide[:, :, 2:-2, 2:-2], inputs)
    torch.testing.assert_close(wide[:, :, 2:-2, 0], inputs[:, :, :, 2])


def test_coarse_trainings_take_half_the_time_of_whole_ones() -> None:
    coarse, whole = pg.task("wrn-10-4/cifar100/coarse"), pg.task("wrn-10-4/cifar100")
    assert coarse.budgets == {"search": 15, "full": 200}
    assert [coarse.effort(budget) for budget in (15, 16, 200)] == [7.5, 16, 200]
    assert whole.effort(15) == 15

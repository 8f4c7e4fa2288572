import os
import subprocess
import sys
from contextlib import suppress
from dataclasses import replace
from itertools import permutations
from pathlib import Path

import numpy as np
import pytest
import torch

from pangaea.data import sets as data
from pangaea.data.sets import (
    Arrays,
    DataSet,
    Normalization,
    Pair,
    TrainingData,
    ValidationData,
)
from pangaea.errors import PangaeaError, UnknownNameError

# The module, not its names: pytest would collect `test_data` as a test.
from pangaea.files import data_folder, replacing

PARTS = (TrainingData, ValidationData, data.TestData)


def samples(count: int, seed: int) -> Pair:
    """Images whose first bytes number them, as many of each class."""
    rng = np.random.default_rng(seed)
    inputs = rng.integers(0, 256, (count, 3, 4, 4), dtype=np.uint8)
    inputs[:, 0, 0, 0], inputs[:, 0, 0, 1] = np.divmod(np.arange(count), 256)
    return inputs, np.arange(count) * 7 % 10


def numbers(part: TrainingData | ValidationData) -> list[int]:
    high, low = part.inputs[:, 0, 0, 0].int(), part.inputs[:, 0, 0, 1].int()
    return (256 * high + low).tolist()


def toy(**changes: object) -> DataSet:
    made = DataSet(
        name="toy",
        classes=10,
        shape=(3, 4, 4),
        sizes=(900, 100, 200),
        validation_per_class=10,
        load=lambda: Arrays(train=samples(1000, 0), test=samples(200, 1)),
    )
    return replace(made, **changes)  # type: ignore[arg-type]


def test_the_validation_part_is_held_out_of_the_training_part_alone() -> None:
    training, validation = data.split(toy())
    assert len(training) == 900
    assert len(validation) == 100
    assert sorted(numbers(training) + numbers(validation)) == list(range(1000))


def test_each_class_gives_as_many_validation_samples() -> None:
    training, validation = data.split(toy(), seed=3)
    assert validation.labels.bincount().tolist() == [10] * 10
    assert training.labels.bincount().tolist() == [90] * 10


def test_classes_of_different_sizes_are_held_out_alike() -> None:
    uneven = samples(1000, 0)[0], np.minimum(np.arange(1000) % 17, 9)
    counts = np.bincount(uneven[1])
    assert counts.max() > 7 * counts.min()
    made = toy(load=lambda: Arrays(train=uneven, test=samples(200, 1)))
    training, validation = data.split(made)
    assert validation.labels.bincount().tolist() == [10] * 10
    assert training.labels.bincount().tolist() == (counts - 10).tolist()


def test_labels_stay_with_their_inputs() -> None:
    _, labels = samples(1000, 0)
    for part in data.split(toy(), seed=5):
        assert part.labels.tolist() == labels[numbers(part)].tolist()


def test_the_split_of_a_seed_never_changes() -> None:
    # A change here makes every stored study's validation accuracy mean something else.
    _, validation = data.split(toy(), seed=0)
    assert numbers(validation)[:8] == [2, 3, 11, 20, 48, 59, 69, 88]
    _, validation = data.split(toy(), seed=1)
    assert numbers(validation)[:8] == [2, 9, 36, 55, 61, 75, 85, 93]


def test_the_split_does_not_depend_on_the_global_random_states() -> None:
    np.random.seed(7)
    torch.manual_seed(7)
    first = numbers(data.split(toy(), seed=2)[1])
    np.random.seed(8)
    torch.manual_seed(8)
    assert numbers(data.split(toy(), seed=2)[1]) == first


def test_without_hold_out_the_training_part_is_whole_and_validation_empty() -> None:
    training, validation = data.split(toy(), hold_out=False)
    assert numbers(training) == list(range(1000))
    assert len(validation) == 0
    assert validation.inputs.shape == (0, 3, 4, 4)


@pytest.mark.parametrize("hold_out", [True, False])
def test_validation_drawn_apart_leaves_the_training_part_whole(hold_out: bool) -> None:
    apart = samples(50, 9)
    load = lambda: Arrays(train=samples(1000, 0), validation=apart, test=samples(200, 1))  # noqa: E731
    made = toy(validation_per_class=None, load=load)
    training, validation = data.split(made, hold_out=hold_out)
    assert numbers(training) == list(range(1000))
    assert torch.equal(validation.inputs, torch.tensor(apart[0]))
    assert torch.equal(validation.labels, torch.tensor(apart[1]))


def test_more_held_out_than_a_class_has_is_one_sentence() -> None:
    with pytest.raises(PangaeaError, match=r"100 samples of each class .* a class has only 100"):
        data.split(toy(validation_per_class=100))


def test_test_data_is_the_test_part() -> None:
    test = data.test_data(toy())
    assert type(test) is data.TestData
    assert torch.equal(test.inputs, torch.tensor(samples(200, 1)[0]))
    assert torch.equal(test.labels, torch.tensor(samples(200, 1)[1]))


def test_no_part_passes_for_another() -> None:
    training, validation = data.split(toy())
    assert (type(training), type(validation)) == PARTS[:2]
    for one, other in permutations(PARTS, 2):
        assert not issubclass(one, other)


@pytest.mark.slow
def test_mypy_rejects_test_data_where_validation_data_is_expected(tmp_path: Path) -> None:
    script = tmp_path / "searches.py"
    script.write_text(
        "from pangaea.data.sets import ValidationData, data_set, test_data\n"
        "def judge(validation: ValidationData) -> None: ...\n"
        "judge(test_data(data_set('cifar100')))\n"
    )
    command = [sys.executable, "-m", "mypy", "--strict", "--config-file=", script]
    found = subprocess.run(command, capture_output=True, text=True, check=False)
    assert 'incompatible type "TestData"; expected "ValidationData"' in found.stdout


@pytest.mark.parametrize("part", PARTS)
def test_a_part_needs_one_int64_label_for_each_input(part: type) -> None:
    with pytest.raises(ValueError, match="3 inputs and 2 labels"):
        part(torch.zeros(3, 1), torch.zeros(2, dtype=torch.int64))
    with pytest.raises(ValueError, match=r"labels of torch\.uint8"):
        part(torch.zeros(3, 1), torch.zeros(3, dtype=torch.uint8))


def test_a_part_stays_what_it_is_on_another_device() -> None:
    moved = data.test_data(toy()).to("meta")
    assert type(moved) is data.TestData
    assert moved.inputs.device.type == moved.labels.device.type == "meta"


def test_arrays_are_loaded_once_and_tensors_are_copies() -> None:
    loads = []

    def load() -> Arrays:
        loads.append(1)
        return Arrays(train=samples(1000, 0), test=samples(200, 1))

    made = toy(load=load)
    for part in (*data.split(made), data.test_data(made)):
        part.inputs.zero_()
        part.labels.zero_()
    assert numbers(data.split(made)[1]) == numbers(data.split(toy())[1])
    assert data.test_data(made).inputs.any()
    assert data.test_data(made).labels.any()
    assert len(loads) == 1


def test_arrays_of_another_shape_are_one_sentence() -> None:
    with pytest.raises(PangaeaError, match=r"toy: inputs must have the shape \(1000, 3, 4, 5\)"):
        data.split(toy(shape=(3, 4, 5)))


def test_a_label_out_of_range_is_one_sentence() -> None:
    with pytest.raises(PangaeaError, match="toy: labels must lie in 0–8, but reach from 0 to 9"):
        data.split(toy(classes=9))


def test_normalized_training_images_have_mean_0_and_standard_deviation_1() -> None:
    training, _ = data.split(toy())
    images = data.normalization(training).apply(training.inputs, torch.float64)
    torch.testing.assert_close(images.mean((0, 2, 3)), torch.zeros(3).double(), atol=1e-6, rtol=0)
    std = images.std((0, 2, 3), correction=0)
    torch.testing.assert_close(std, torch.ones(3).double(), atol=1e-6, rtol=0)


def test_normalization_matches_float64_numpy() -> None:
    training, _ = data.split(toy())
    exact = training.inputs.numpy().astype(np.float64) / 255
    found = data.normalization(training)
    np.testing.assert_allclose(found.mean.flatten(), exact.mean((0, 2, 3)), rtol=1e-7)
    np.testing.assert_allclose(found.std.flatten(), exact.std((0, 2, 3)), rtol=1e-7)
    assert found.mean.shape == found.std.shape == (3, 1, 1)


def test_signals_are_normalized_without_being_taken_for_bytes() -> None:
    signals = 300 + 20 * torch.randn(250, 2, 40, generator=torch.Generator().manual_seed(0))
    found = data.normalization(TrainingData(signals, torch.zeros(250, dtype=torch.int64)))
    exact = signals.double()
    torch.testing.assert_close(found.mean, exact.mean((0, 2)).float()[:, None])
    torch.testing.assert_close(found.std, exact.std((0, 2), correction=0).float()[:, None])
    torch.testing.assert_close(found.apply(signals), (signals - found.mean) / found.std)


def test_without_centring_images_are_scaled_to_the_unit_interval_only() -> None:
    training, _ = data.split(toy())
    found = data.normalization(training, featurewise=False)
    assert torch.equal(found.apply(training.inputs), training.inputs / 255)
    signals = torch.randn(20, 1, 40, generator=torch.Generator().manual_seed(0))
    found = data.normalization(
        TrainingData(signals, torch.zeros(20, dtype=torch.int64)), featurewise=False
    )
    assert torch.equal(found.apply(signals), signals)


@pytest.mark.parametrize(
    "constant", [torch.tensor(77, dtype=torch.uint8), torch.tensor(0.1), torch.tensor(0.0)], ids=str
)
def test_a_constant_channel_is_centred_and_not_blown_up(constant: torch.Tensor) -> None:
    inputs = constant.expand(21, 1, 7, 7)
    found = data.normalization(TrainingData(inputs, torch.zeros(21, dtype=torch.int64)))
    assert found.std.item() == 1
    assert found.apply(inputs).abs().max() < 1e-7


def test_bfloat16_images_are_rounded_once() -> None:
    training, _ = data.split(toy())
    found = data.normalization(training)
    images = found.apply(training.inputs, torch.bfloat16)
    assert images.dtype == torch.bfloat16
    assert torch.equal(images, found.apply(training.inputs).bfloat16())


def test_a_normalization_moves_to_a_device() -> None:
    moved = Normalization(torch.zeros(3, 1, 1), torch.ones(3, 1, 1)).to("meta")
    assert moved.mean.device.type == moved.std.device.type == "meta"


def test_every_data_set_is_found_by_its_name() -> None:
    assert list(data.data_sets()) == ["cifar10", "cifar100", "mnist1d"]
    for name, known in data.data_sets().items():
        assert data.data_set(name) is known
        assert known.name == name


def test_an_unknown_data_set_is_answered_with_the_nearest_names() -> None:
    with pytest.raises(UnknownNameError, match=r"no data set is called 'cifar-100'; .*cifar100"):
        data.data_set("cifar-100")


def test_the_data_folder_is_the_variable_or_the_users_cache(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for variable in ("PANGAEA_DATA", "XDG_CACHE_HOME", "LOCALAPPDATA"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setattr(sys, "platform", "linux")
    assert data_folder() == tmp_path / ".cache" / "pangaea"
    monkeypatch.setenv("XDG_CACHE_HOME", "/caches")
    assert data_folder() == Path("/caches/pangaea")
    monkeypatch.setattr(sys, "platform", "darwin")
    assert data_folder() == tmp_path / "Library" / "Caches" / "pangaea"
    monkeypatch.setattr(sys, "platform", "win32")
    monkeypatch.setenv("LOCALAPPDATA", "/local")
    assert data_folder() == Path("/local/pangaea")
    monkeypatch.setenv("PANGAEA_DATA", "~/images")
    assert data_folder() == tmp_path / "images"
    monkeypatch.setenv("PANGAEA_DATA", "images")
    assert data_folder() == Path.cwd() / "images"


def test_a_home_folder_nobody_has_is_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PANGAEA_DATA", "~nobody-is-called-this/data")
    with pytest.raises(PangaeaError, match=r"~nobody-is-called-this/data .* set PANGAEA_DATA"):
        data_folder()


def test_a_file_is_replaced_only_when_the_new_one_is_whole(tmp_path: Path) -> None:
    path = tmp_path / "made" / "file.bin"
    with replacing(path) as file:
        file.write(b"old")
    with suppress(KeyboardInterrupt), replacing(path) as file:
        file.write(b"ne")
        raise KeyboardInterrupt
    assert path.read_bytes() == b"old"
    with replacing(path) as file:
        file.write(b"new")
        file.flush()
        assert path.read_bytes() == b"old"
    assert path.read_bytes() == b"new"
    assert list(path.parent.iterdir()) == [path]


def test_a_replaced_file_is_readable_by_whom_the_umask_lets(tmp_path: Path) -> None:
    ordinary = tmp_path / "ordinary"
    ordinary.touch()
    with replacing(tmp_path / "replaced") as file:
        file.write(b"shared")
    assert (tmp_path / "replaced").stat().st_mode == ordinary.stat().st_mode


def test_the_data_sets_are_listed_with_torch_and_numpy_alone(tmp_path: Path) -> None:
    script = (
        "import sys\n"
        "for name in ('rich', 'mnist1d', 'scipy', 'matplotlib'):\n"
        "    sys.modules[name] = None\n"
        "from pangaea.data import sets\n"
        "print({name: known.here() for name, known in sets.data_sets().items()})\n"
    )
    found = subprocess.run(
        [sys.executable, "-c", script],
        env=os.environ | {"PANGAEA_DATA": str(tmp_path)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert found.stdout == "{'cifar10': False, 'cifar100': False, 'mnist1d': True}\n"

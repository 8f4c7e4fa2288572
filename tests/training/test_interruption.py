"""A run that is interrupted goes on as if nothing had happened, whatever befell the disk."""

import errno
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn

import pytest
import torch

import pangaea as pg
from pangaea.errors import PangaeaError
from pangaea.training import train as training
from pangaea.training.result import TrainingResult
from pangaea.training.run import Training
from tests.random_images import small
from tests.training.runs import A, run, short, story


def interrupted(
    at: float, monkeypatch: pytest.MonkeyPatch, train: Callable[..., Any]
) -> list[float]:
    """Run until so much is done, and stop as Ctrl-C does; what had been heard by then."""
    heard: list[float] = []

    def stop(part: float) -> None:
        heard.append(part)
        if part >= at:
            raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(training, "CHECKPOINT_SECONDS", 0.0)
        patch.setattr(os, "fsync", lambda _: None)  # the machine does not stop, only the run
        with pytest.raises(KeyboardInterrupt):
            train(progress=stop)
    return heard


@pytest.mark.parametrize(
    ("batch", "precision", "at"),
    [(1000, "fp32", 0.6), (25, "fp32", 0.4), (25, "fp32", 0.5), (100, "bf16", 0.6)],
)
def test_an_interrupted_run_goes_on_as_if_nothing_had_happened(
    batch: int, precision: str, at: float, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    recipe = short(pg.task("mnist1d"), 3 if at > 0.5 else 2, batch=batch)

    def train(**options: Any) -> TrainingResult:
        return pg.train("mnist1d", A, recipe, precision=precision, **options)

    whole = train()
    stopped = interrupted(at, monkeypatch, lambda **o: train(checkpoints=tmp_path, **o))
    heard: list[float] = []
    resumed = train(checkpoints=tmp_path, progress=heard.append)
    assert story(resumed) == story(whole)
    assert heard[0] >= stopped[-1] >= at


def test_the_seconds_before_an_interruption_count_and_those_of_the_break_do_not() -> None:
    def started() -> Training:
        task, cpu = pg.task("mnist1d"), torch.device("cpu")
        return Training(task, "relu", short(task, 1), 0, device=cpu, dtype=torch.float32)

    saved = started().checkpoint()
    saved["result"]["seconds"] = 1000.0
    began = time.perf_counter()
    resumed = started()
    resumed.restore(saved)
    while not resumed.done:
        resumed.advance()
    assert 1000 <= resumed.result.seconds <= 1000 + time.perf_counter() - began


def test_dropout_goes_on_as_if_nothing_had_happened(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    task = small("wrn-10-1/cifar10", 44)

    def train(**options: Any) -> TrainingResult:
        return pg.train(task, A, short(task, 3, batch=8), **options)

    whole = train()
    interrupted(0.6, monkeypatch, lambda **o: train(checkpoints=tmp_path, **o))
    torch.rand(100)
    assert story(train(checkpoints=tmp_path)) == story(whole)


def test_a_run_can_be_interrupted_again_and_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for at in (0.2, 0.4, 0.9):
        interrupted(
            at,
            monkeypatch,
            lambda **o: pg.train("mnist1d", A, epochs=4, checkpoints=tmp_path, **o),
        )
    resumed = pg.train("mnist1d", A, epochs=4, checkpoints=tmp_path)
    assert story(resumed) == story(run(epochs=4))


def test_an_interrupted_run_survives_a_damaged_checkpoint(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    interrupted(
        0.9, monkeypatch, lambda **o: pg.train("mnist1d", A, epochs=4, checkpoints=tmp_path, **o)
    )
    newest = tmp_path / "seed-0.checkpoint"
    newest.write_bytes(newest.read_bytes()[:-100])
    resumed = pg.train("mnist1d", A, epochs=4, checkpoints=tmp_path)
    assert story(resumed) == story(run(epochs=4))


@pytest.mark.parametrize("function", [A, "exp(exp(exp(x)))"])
def test_a_finished_run_comes_back_at_once(
    function: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    done = pg.train("mnist1d", function, epochs=2, checkpoints=tmp_path)
    assert story(done) == story(run(function))

    def never(self: Training) -> NoReturn:
        raise AssertionError("a finished run is not run again")

    monkeypatch.setattr(Training, "advance", never)
    for _ in range(2):
        again = pg.train("mnist1d", function, epochs=2, checkpoints=tmp_path)
        assert story(again) == story(done)
        assert again.seconds == pytest.approx(done.seconds, abs=0.1)
        assert again.peak_memory == done.peak_memory


def test_several_interrupted_seeds_all_go_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def train(**options: Any) -> list[TrainingResult]:
        return pg.train_seeds("mnist1d", A, "full", [0, 1, 2], epochs=2, **options)

    interrupted(0.5, monkeypatch, lambda **o: train(checkpoints=tmp_path, **o))
    resumed = train(checkpoints=tmp_path)
    assert [story(r) for r in resumed] == [story(run(seed=seed)) for seed in (0, 1, 2)]


@pytest.mark.parametrize(
    "changed", [{"epochs": 3}, {"scope": "layer"}, {"data": "test"}, {"precision": "bf16"}]
)
def test_another_run_in_the_same_folder_is_refused(tmp_path: Path, changed: dict[str, Any]) -> None:
    pg.train("mnist1d", A, epochs=1, checkpoints=tmp_path)
    with pytest.raises(PangaeaError, match="another run") as caught:
        pg.train("mnist1d", A, **{"epochs": 1, "checkpoints": tmp_path, **changed})
    assert str(tmp_path / "seed-0.checkpoint") in str(caught.value)
    with pytest.raises(PangaeaError, match="another run"):
        pg.train("mnist1d", "relu", epochs=1, checkpoints=tmp_path)


def test_a_full_disk_is_said_and_the_run_goes_on_later(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    interrupted(
        0.5, monkeypatch, lambda **o: pg.train("mnist1d", A, epochs=2, checkpoints=tmp_path, **o)
    )
    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", full)
        patch.setattr("pangaea.training.train.CHECKPOINT_SECONDS", 0.0)
        with pytest.raises(PangaeaError, match="No space left"):
            pg.train("mnist1d", A, epochs=2, checkpoints=tmp_path)
    assert story(pg.train("mnist1d", A, epochs=2, checkpoints=tmp_path)) == story(run())


def test_a_disk_that_fills_at_the_end_takes_nothing_from_a_finished_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full)
    assert story(pg.train("mnist1d", A, epochs=2, checkpoints=tmp_path)) == story(run())

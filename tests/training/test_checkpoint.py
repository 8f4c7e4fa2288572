"""Checkpoints: whole or not at all, whatever befalls the file, the disk or the process."""

import errno
import hashlib
import io
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

import pangaea as pg
from pangaea.errors import PangaeaError
from pangaea.tasks.finding import task
from pangaea.training import checkpoint, train
from pangaea.training.how import How
from pangaea.training.recipes import SMALL_CNN

IDENTITY = {"task": "mnist1d", "seed": 3, "recipe": {"epochs": 2, "drops": [0.5, 1.0]}}


def state(number: int) -> dict[str, Any]:
    """All kinds of things that a run keeps, one number different."""
    return {
        "epoch": number,
        "state": [torch.arange(6.0).view(2, 3) + number, torch.tensor(number)],
        "noise": torch.get_rng_state(),
        "result": {"score": None, "loss": [0.1 + number], "validation": {1: 12.5}},
    }


def equal(one: Any, other: Any) -> bool:
    if isinstance(one, dict):
        return list(one) == list(other) and all(equal(one[k], other[k]) for k in one)
    if isinstance(one, list):
        return len(one) == len(other) and all(map(equal, one, other))
    return torch.equal(one, other) if isinstance(one, torch.Tensor) else bool(one == other)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "runs" / "seed-3.checkpoint"


@pytest.fixture
def two(path: Path) -> Path:
    """A checkpoint, and the one before it."""
    checkpoint.save(path, IDENTITY, state(1))
    checkpoint.save(path, IDENTITY, state(2))
    return path


def loaded(path: Path) -> int | None:
    """The number of the state that is found."""
    found = checkpoint.load(path, IDENTITY)
    assert found is None or equal(found, state(found["epoch"]))
    return None if found is None else found["epoch"]


def previous(path: Path) -> Path:
    (found,) = (other for other in path.parent.iterdir() if other != path)
    return found


def flipped(place: float) -> Callable[[bytes], bytes]:
    def flip(content: bytes) -> bytes:
        at = int(place * (len(content) - 1))
        return content[:at] + bytes([content[at] ^ 1]) + content[at + 1 :]

    return flip


DAMAGE: dict[str, Callable[[bytes], bytes]] = {
    "empty": lambda content: b"",
    "cut in the header": lambda content: content[:10],
    "cut after the checksum": lambda content: content[: content.index(b"\n", 30) + 1],
    "cut in half": lambda content: content[: len(content) // 2],
    "a byte short": lambda content: content[:-1],
    "a byte long": lambda content: content + b"\0",
    "first byte flipped": flipped(0),
    "checksum flipped": flipped(0.01),
    "middle flipped": flipped(0.5),
    "last byte flipped": flipped(1),
    "zeros": lambda content: bytes(len(content)),
    "foreign text": lambda content: b"epoch,loss\n1,2.3\n",
    "foreign bytes": lambda content: b"\x89PNG\r\n\x1a\n" + content,
}


def test_what_is_kept_comes_back(path: Path) -> None:
    kept = state(1)
    checkpoint.save(path, IDENTITY, kept)
    found = checkpoint.load(path, dict(reversed(IDENTITY.items())))
    assert equal(found, kept)


def test_the_newest_comes_back_and_no_more_than_two_are_kept(path: Path) -> None:
    for number in range(5):
        checkpoint.save(path, IDENTITY, state(number))
        assert loaded(path) == number
    assert len(list(path.parent.iterdir())) == 2


def test_where_nothing_was_kept_there_is_nothing(path: Path) -> None:
    assert checkpoint.load(path, IDENTITY) is None


def test_a_missing_newest_leaves_the_one_before(two: Path) -> None:
    two.unlink()
    assert loaded(two) == 1


@pytest.mark.parametrize("damage", DAMAGE)
def test_a_damaged_newest_leaves_the_one_before(two: Path, damage: str) -> None:
    two.write_bytes(DAMAGE[damage](two.read_bytes()))
    assert loaded(two) == 1
    checkpoint.save(two, IDENTITY, state(3))
    assert loaded(two) == 3


@pytest.mark.parametrize("damage", DAMAGE)
def test_two_damaged_ones_are_nothing(two: Path, damage: str) -> None:
    for path in (two, previous(two)):
        path.write_bytes(DAMAGE[damage](path.read_bytes()))
    assert loaded(two) is None
    checkpoint.save(two, IDENTITY, state(3))
    assert loaded(two) == 3


@pytest.mark.parametrize(
    "change", [{"seed": 4}, {"recipe": {"epochs": 3}}, {"task": "x"}, {"more": None}]
)
def test_another_run_is_refused_by_its_file(two: Path, change: dict[str, Any]) -> None:
    with pytest.raises(PangaeaError, match="another run") as caught:
        checkpoint.load(two, IDENTITY | change)
    assert str(two) in str(caught.value)
    assert loaded(two) == 2


def test_another_run_is_refused_by_the_file_before_too(two: Path) -> None:
    two.unlink()
    with pytest.raises(PangaeaError, match="another run") as caught:
        checkpoint.load(two, IDENTITY | {"seed": 4})
    assert str(previous(two)) in str(caught.value)


def full_disk(*_: object) -> None:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def test_a_full_disk_is_an_error_and_leaves_the_one_before(
    two: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", full_disk)
        for _ in range(2):
            with pytest.raises(PangaeaError, match="No space left on device") as caught:
                checkpoint.save(two, IDENTITY, state(3))
            assert str(two) in str(caught.value)
            assert loaded(two) == 2
            assert not [p for p in two.parent.iterdir() if p.name.startswith(".")]
    checkpoint.save(two, IDENTITY, state(4))
    assert loaded(two) == 4


@pytest.mark.parametrize(("call", "time"), [("fsync", 1), ("replace", 1), ("replace", 2)])
def test_a_kill_while_writing_leaves_the_one_before(
    two: Path, monkeypatch: pytest.MonkeyPatch, call: str, time: int
) -> None:
    real, calls = getattr(os, call), 0

    def killed(*arguments: object, **options: object) -> None:
        nonlocal calls
        calls += 1
        if calls == time:
            raise KeyboardInterrupt
        real(*arguments, **options)

    with monkeypatch.context() as patch:
        patch.setattr(os, call, killed)
        with pytest.raises(KeyboardInterrupt):
            checkpoint.save(two, IDENTITY, state(3))
    assert calls == time
    assert loaded(two) == 2


def test_a_full_disk_after_damage_leaves_the_one_before(
    two: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    two.write_bytes(two.read_bytes()[:-1])
    assert loaded(two) == 1
    monkeypatch.setattr(os, "fsync", full_disk)
    with pytest.raises(PangaeaError, match="No space left"):
        checkpoint.save(two, IDENTITY, state(3))
    assert loaded(two) == 1


def test_a_folder_that_cannot_be_made_is_an_error(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("not a folder")
    path = file / "seed-3.checkpoint"
    with pytest.raises(PangaeaError, match="could not be written") as caught:
        checkpoint.save(path, IDENTITY, state(1))
    assert str(path) in str(caught.value)
    with pytest.raises(PangaeaError, match="cannot be read") as caught:
        checkpoint.load(path, IDENTITY)
    assert str(path) in str(caught.value)


def test_a_folder_that_cannot_be_written_to_is_an_error(
    two: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(*_: object, **__: object) -> None:
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))

    with monkeypatch.context() as patch:
        patch.setattr(Path, "open", refused)
        with pytest.raises(PangaeaError, match="Permission denied"):
            checkpoint.save(two, IDENTITY, state(3))
    assert loaded(two) == 2


def forge(path: Path, content: Any) -> None:
    """A file with a right checksum, and in it whatever somebody likes."""
    buffer = io.BytesIO()
    torch.save(content, buffer)
    checksum = hashlib.sha256(buffer.getvalue()).hexdigest().encode()
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"\n".join([b"pangaea checkpoint 1", checksum, buffer.getvalue()]))


def test_reading_a_checkpoint_runs_no_code(path: Path, tmp_path: Path) -> None:
    class Trap:
        def __reduce__(self) -> tuple[Callable[..., None], tuple[Path]]:
            return Path.touch, (tmp_path / "sprung",)

    forge(path, {"identity": "{}", "state": Trap()})
    with pytest.raises(PangaeaError, match=r"seed-3\.checkpoint is not a checkpoint of this run"):
        checkpoint.load(path, IDENTITY)
    assert not (tmp_path / "sprung").exists()
    checkpoint.save(path, IDENTITY, state(1))  # its place is taken
    assert loaded(path) == 1


@pytest.mark.parametrize(
    "content",
    [
        *([], 3, "text", {}, {"state": {}}, {"identity": {}, "state": {}}, torch.zeros(3)),
        *({"identity": json.dumps(IDENTITY, sort_keys=True), "state": s} for s in (None, [1])),
    ],
    ids=repr,
)
def test_a_whole_file_with_something_else_in_it_is_said(path: Path, content: Any) -> None:
    forge(path, content)
    with pytest.raises(PangaeaError, match=r"seed-3\.checkpoint is not a checkpoint of this run"):
        checkpoint.load(path, IDENTITY)


# What is wrong in an otherwise right state of a run.
UNEXPECTED: dict[str, Callable[[dict[str, Any]], object]] = {
    "nothing": lambda state: state.clear(),
    "no result": lambda state: state.pop("result"),
    "an epoch that never comes": lambda state: state.update(epoch=10**9),
    "an epoch that is a text": lambda state: state.update(epoch="second"),
    "a step before the first": lambda state: state.update(at=-1),
    "a tensor less": lambda state: state["state"].pop(),
    "a tensor of one value": lambda state: state["state"].__setitem__(0, torch.zeros(())),
    "a tensor that is none": lambda state: state["state"].__setitem__(0, "zeros"),
    "a result of more": lambda state: state["result"].update(more=1),
    "a score that is a text": lambda state: state["result"].update(score="good"),
    "an order that is none": lambda state: state.update(order=torch.zeros(3)),
}


@pytest.fixture(scope="module")
def interrupted(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What a run keeps that was interrupted in its second epoch."""
    folder = tmp_path_factory.mktemp("interrupted")

    def stop(share: float) -> None:
        if share > 0.6:
            raise KeyboardInterrupt

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(train, "CHECKPOINT_SECONDS", 0.0)
        with pytest.raises(KeyboardInterrupt):
            run(folder, progress=stop)
    return folder / "seed-0.checkpoint"


def run(folder: Path, *, passing: bool = False, progress: Any = None) -> Any:
    how = How(device="cpu", checkpoints=str(folder), passing=passing)
    subject, recipe = task("mnist1d"), SMALL_CNN.compressed(2)
    (result,) = train.train_seeds(subject, "relu", recipe, [0], how=how, progress=progress)
    return result


@pytest.mark.parametrize("what", UNEXPECTED)
def test_a_state_that_no_run_has_written_is_said_or_begun_again(
    what: str, interrupted: Path, tmp_path: Path
) -> None:
    payload = interrupted.read_bytes().split(b"\n", 2)[2]
    content = torch.load(io.BytesIO(payload), weights_only=True)
    assert content["state"]["epoch"] == 1
    UNEXPECTED[what](content["state"])
    file = tmp_path / interrupted.name
    forge(file, content)
    with pytest.raises(PangaeaError, match=r"seed-0\.checkpoint is not a checkpoint of this run"):
        run(tmp_path)
    assert run(tmp_path, passing=True).score == run(tmp_path / "fresh").score


def test_removing_checkpoints_leaves_what_is_not_theirs(tmp_path: Path) -> None:
    stranger = tmp_path / "thesis.txt"
    stranger.write_text("three years")
    path = tmp_path / "seed-0.checkpoint"
    for number in range(2):
        checkpoint.save(path, IDENTITY, state(number))
    checkpoint.remove(path)
    assert [*tmp_path.iterdir()] == [stranger]
    alone = tmp_path / "run-1" / "seed-0.checkpoint"
    checkpoint.save(alone, IDENTITY, state(0))
    checkpoint.remove(alone)
    assert [*tmp_path.iterdir()] == [stranger]


def test_a_passing_run_in_a_folder_of_other_files_deletes_none_of_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "precious.py").write_text("x = 1")
    monkeypatch.chdir(tmp_path)
    for folder in ("", "."):
        pg.train("mnist1d", "relu", epochs=1, checkpoints=folder, passing=True)
        assert [p.name for p in tmp_path.rglob("*")] == ["src", "precious.py"]

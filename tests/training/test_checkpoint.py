"""Checkpoints: whole or not at all, whatever befalls the file, the disk or the process."""

import errno
import hashlib
import io
import os
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

import pangaea as pg
from pangaea.errors import PangaeaError
from pangaea.training import checkpoint

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


def test_reading_a_checkpoint_runs_no_code(path: Path, tmp_path: Path) -> None:
    class Trap:
        def __reduce__(self) -> tuple[Callable[..., None], tuple[Path]]:
            return Path.touch, (tmp_path / "sprung",)

    checkpoint.save(path, IDENTITY, state(1))
    header, _ = path.read_bytes().split(b"\n", 1)
    buffer = io.BytesIO()
    torch.save({"identity": "{}", "state": Trap()}, buffer)
    checksum = hashlib.sha256(buffer.getvalue()).hexdigest().encode()
    path.write_bytes(b"\n".join([header, checksum, buffer.getvalue()]))
    with pytest.raises(pickle.UnpicklingError):
        checkpoint.load(path, IDENTITY)
    assert not (tmp_path / "sprung").exists()


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

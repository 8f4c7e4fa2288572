"""The study's file: foreign ones are refused untouched, damage is said, one driver at a time."""

import contextlib
import errno
import os
import random
import sqlite3
from pathlib import Path

import pytest

from pangaea import system
from pangaea.errors import PangaeaError
from pangaea.study import file
from pangaea.study.driver import resume
from pangaea.study.file import Lock
from pangaea.study.stages import PROPOSED, STAGES
from pangaea.study.study import Study
from tests.study.driving import Drivers, until
from tests.study.making import RESULT, candidate, created, ran, searched, wanted


def left(folder: Path) -> list[str]:
    return sorted(found.name for found in folder.iterdir())


def test_a_study_closed_is_one_file(path: Path) -> None:
    with created(path):
        assert {"a.study", "a.study.lock"} <= {*left(path.parent)}
    assert left(path.parent) == ["a.study"]


@pytest.mark.parametrize("content", ["precious", ""])
def test_a_study_is_never_made_over_a_file(path: Path, content: str) -> None:
    path.write_text(content)
    with pytest.raises(PangaeaError, match="is not a study of pangaea: choose another name"):
        created(path)
    assert (path.read_text(), left(path.parent)) == (content, ["a.study"])


def test_a_study_is_never_made_over_another_one(path: Path) -> None:
    created(path).close()
    with pytest.raises(PangaeaError, match="exists: go on with `pangaea resume"):
        created(path)


def test_a_study_is_not_a_folder(tmp_path: Path) -> None:
    with pytest.raises(PangaeaError, match="is a folder: a study is a file in it"):
        created(tmp_path)


@pytest.mark.parametrize("end", ["-wal", "-journal"])
def test_what_is_left_of_a_moved_study_is_not_taken_for_the_new_ones(path: Path, end: str) -> None:
    rest = path.with_name(path.name + end)
    rest.write_bytes(b"changes of another study")
    with pytest.raises(PangaeaError, match="is left of a study that was moved or deleted"):
        created(path)
    assert left(path.parent) == [rest.name]


def test_a_half_made_study_is_made_again(path: Path) -> None:
    path.with_name("a.study.new").write_text("from a process that was killed")
    created(path).close()
    assert left(path.parent) == ["a.study"]


def test_a_folder_that_is_missing_is_named(tmp_path: Path) -> None:
    with pytest.raises(PangaeaError, match=r"the folder .*none does not exist"):
        created(tmp_path / "none" / "a.study")


def foreign_database(path: Path, journal: str = "delete", **pragmas: int) -> None:
    with contextlib.closing(sqlite3.connect(path)) as connection:
        connection.execute(f"pragma journal_mode={journal}")
        connection.execute("create table about (name, value)")
        for name, value in pragmas.items():
            connection.execute(f"pragma {name}={value}")
        connection.commit()


FOREIGN = {
    "text": (lambda path: path.write_text("candidates = 7\n" * 100), "is not a study"),
    "empty": (lambda path: path.touch(), "is not a study"),
    "another database": (foreign_database, "is not a study"),
    "another database with a log": (lambda path: foreign_database(path, "wal"), "is not a study"),
    "a newer study": (
        lambda path: foreign_database(path, application_id=file.APPLICATION, user_version=3),
        r"newer pangaea \(schema 3, this one knows 2\)",
    ),
    "a folder": (lambda path: path.mkdir(), "is a folder, not a study"),
    "nothing": (lambda path: None, "there is no study at"),
}


@pytest.mark.parametrize("kind", FOREIGN)
@pytest.mark.parametrize("use", [Study.open, Study.resume, resume], ids=["open", "lock", "resume"])
def test_a_file_that_is_no_study_is_refused_untouched(path: Path, kind: str, use: object) -> None:
    make, sentence = FOREIGN[kind]
    make(path)
    before = (left(path.parent), path.read_bytes() if path.is_file() else None)
    with pytest.raises(PangaeaError, match=sentence) as caught:
        use(path)  # type: ignore[operator]
    assert "\n" not in str(caught.value)
    assert (left(path.parent), path.read_bytes() if path.is_file() else None) == before


def look(path: Path) -> None:
    """Read everything there is."""
    with Study.open(path) as study:
        study.table(), study.trials(), study.best(10), study.failures(), study.pending([*STAGES])
        for row in study.runs():
            study.curves(row["run"])


@pytest.mark.parametrize("what", ["overwritten", "truncated"])
def test_damage_is_one_sentence(tmp_path: Path, what: str) -> None:
    whole = tmp_path / "whole.study"
    searched(whole)
    content, rng = whole.read_bytes(), random.Random(0)
    path, refused = tmp_path / "a.study", 0
    for _ in range(60):
        place = rng.randrange(len(content))
        hurt = bytearray(content)
        if what == "truncated":
            del hurt[place:]
        else:
            hurt[place : place + 3000] = rng.randbytes(len(hurt[place : place + 3000]))
        path.write_bytes(hurt)
        try:
            look(path)
        except PangaeaError as error:
            refused += 1
            assert "\n" not in str(error)
            assert str(path) in str(error)
    assert refused > 15


def test_a_study_that_lacks_something_is_damaged_and_not_held(path: Path) -> None:
    created(path).close()
    with contextlib.closing(sqlite3.connect(path)) as connection:
        connection.execute("update about set value = '{' where name = 'settings'")
        connection.commit()
    for _ in range(2):  # the first time left no lock behind
        with pytest.raises(PangaeaError, match=r"a\.study is damaged"):
            Study.resume(path)
    assert ".lock" not in "".join(left(path.parent))


@pytest.mark.parametrize(
    ("name", "value", "unknown"),
    [("patience", "30", "a setting .*'patience'"), ("strategy", '"bold"', "a strategy .*'bold'")],
)
def test_a_study_of_another_version_is_not_called_damaged_at_once(
    path: Path, name: str, value: str, unknown: str
) -> None:
    created(path).close()
    with contextlib.closing(sqlite3.connect(path)) as connection:
        connection.execute(
            "update about set value = json_set(value, ?, json(?)) where name = 'settings'",
            (f"$.{name}", value),
        )
        connection.commit()
    with pytest.raises(PangaeaError, match=rf"a\.study has {unknown}: open it with the version"):
        Study.open(path)


def test_a_transaction_is_all_or_nothing(path: Path) -> None:
    def record(*numbers: int) -> None:
        with study.transaction():
            for number in numbers:
                study.record(number, RESULT)

    with created(path) as study:
        with study.transaction():
            runs = [study.ask(wanted("test", seed=seed)).number for seed in (1, 2)]
        with pytest.raises(PangaeaError, match="UNIQUE"):
            record(*runs, runs[0])
        assert study.runs() == []
        record(runs[0])
        assert [row["run"] for row in study.runs()] == runs[:1]
        assert [run.number for run in study.pending(["test"])] == runs[1:]


@pytest.mark.parametrize("remote", [False, True])
@pytest.mark.parametrize("again", [False, True])
def test_what_was_recorded_is_on_the_disk_itself(
    path: Path, monkeypatch: pytest.MonkeyPatch, remote: bool, again: bool
) -> None:
    monkeypatch.setattr(file, "_remote", lambda path: remote)
    if again:
        created(path).close()
    with Study.resume(path) if again else created(path) as study:
        assert study._rows("pragma synchronous") == [(2,)]  # FULL: synced at every commit
        assert study._rows("pragma journal_mode") == [("delete" if remote else "wal",)]
        assert study._rows("pragma foreign_keys") == [(1,)]


def test_a_run_has_one_result_and_a_result_a_run(path: Path) -> None:
    with created(path) as study:
        run = candidate(study, 1, "tanh(x)", score=50.0)
        for number, sentence in ((run.number, "UNIQUE"), (run.number + 1, "FOREIGN KEY")):
            with pytest.raises(PangaeaError, match=sentence), study.transaction():
                study.record(number, RESULT | {"score": 99.0})
        assert [row["score"] for row in study.runs()] == [50.0]
        with pytest.raises(PangaeaError, match="FOREIGN KEY"), study.transaction():
            ran(study, wanted(candidate=2), score=1.0)


def test_a_second_driver_is_refused_as_long_as_the_first_lives(
    path: Path, drivers: Drivers
) -> None:
    first = drivers.start(path, "sleeping", candidates=3, workers=0, runs=0)
    until(path.exists)
    until(lambda: Study.open(path).pending(PROPOSED))
    second = drivers.start(path, "instant", workers=0)
    assert f"is being searched by process {first.pid} on " in second.end()
    with pytest.raises(PangaeaError, match=f"is being searched by process {first.pid}"):
        Study.resume(path)
    with pytest.raises(PangaeaError, match=f"is being searched by process {first.pid}"):
        created(path)
    first.kill()
    assert drivers.start(path, "instant", workers=0).end() == "done"
    with Study.open(path) as study:
        assert len(study.trials()) == 3


def test_a_lock_on_a_file_that_was_just_removed_guards_nothing(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, calls = system.lock, []

    def late(handle: int) -> None:
        real(handle)
        calls.append(handle)
        if len(calls) == 1:
            path.with_name("a.study.lock").unlink()

    monkeypatch.setattr(system, "lock", late)
    lock = Lock(path)
    assert len(calls) == 2
    with pytest.raises(PangaeaError, match=f"process {os.getpid()}"):
        Lock(path)
    lock.release()


def test_a_lock_that_cannot_be_written_is_a_sentence(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(file.os, "write", full)
    with pytest.raises(PangaeaError, match=r"lock cannot be written: No space left on device"):
        Lock(path)

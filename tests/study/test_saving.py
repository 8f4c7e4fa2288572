"""A study that goes missing under its driver: noticed within a result or two, and saved."""

import random
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from pangaea.errors import PangaeaError
from pangaea.study.driver import resume, search
from pangaea.study.study import Study
from pangaea.testing.judges import instant
from pangaea.workers.judge import Job, Result
from tests.study.making import created, ran, searched, wanted
from tests.study.test_disk import small_disk as small_disk

BEFORE = 8  # runs until something happens to the file


class Meanwhile:
    """A judge during whose eighth run something happens."""

    def __init__(self, what: Callable[[], object], at: int = BEFORE) -> None:
        self.what, self.at, self.runs = what, at, 0

    def __call__(self, job: Job) -> Result:
        self.runs += 1
        if self.runs == self.at:
            self.what()
        return instant(job)


def interrupted(path: Path, what: Callable[[], object], at: int = BEFORE) -> tuple[str, int]:
    """What a search says whose file goes missing, and how many runs it began."""
    judge = Meanwhile(what, at)
    with pytest.raises(PangaeaError, match="replaced, overwritten or unmounted while it") as caught:
        search("mnist1d", study=path, candidates=30, runs=0, rerank=False, workers=0, judge=judge)
    return str(caught.value), judge.runs


def goes_on(saved: Path, runs: int = BEFORE) -> None:
    with Study.open(saved) as study:
        assert len(study.runs()) == runs
    resume(saved, workers=0, judge=instant).close()
    with Study.open(saved) as study:
        assert len(study.trials()) == 30
    assert not [*saved.parent.glob("*.lock"), *saved.parent.glob("*.new")]


def test_a_deleted_study_is_noticed_at_once_and_saved_beside(path: Path) -> None:
    said, runs = interrupted(path, path.unlink)
    saved = path.with_name("a.saved.study")
    assert runs == BEFORE
    assert f"go on with `pangaea resume {saved}`" in said
    assert sorted(p.name for p in path.parent.iterdir()) == ["a.saved.study"]
    goes_on(saved)


def test_what_was_saved_before_is_not_overwritten_and_the_command_can_be_pasted(
    tmp_path: Path,
) -> None:
    path = tmp_path / "a study.study"
    (tmp_path / "a study.saved.study").write_text("precious")
    said, _ = interrupted(path, path.unlink)
    assert f"`pangaea resume '{tmp_path / 'a study.saved-2.study'}'`" in said
    assert (tmp_path / "a study.saved.study").read_text() == "precious"
    goes_on(tmp_path / "a study.saved-2.study")


def test_a_study_that_took_its_place_is_left_alone(path: Path) -> None:
    other = path.with_name("other.study")
    searched(other)
    content = other.read_bytes()
    said, runs = interrupted(path, lambda: other.rename(path))
    assert runs == BEFORE
    assert "a.saved.study" in said
    assert path.read_bytes() == content
    assert sorted(p.name for p in path.parent.iterdir()) == ["a.saved.study", "a.study"]
    goes_on(path.with_name("a.saved.study"))


def test_a_study_that_was_moved_is_whole_where_it_is_now(path: Path) -> None:
    moved = path.with_name("b.study")
    interrupted(path, lambda: path.rename(moved))
    for file in (moved, path.with_name("a.saved.study")):
        goes_on(file)


def test_with_its_folder_gone_it_is_saved_where_one_stands(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "here").mkdir()
    (tmp_path / "there").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    path = tmp_path / "there" / "a.study"
    said, _ = interrupted(path, lambda: shutil.rmtree(path.parent))
    assert str(tmp_path / "here" / "a.saved.study") in said
    goes_on(tmp_path / "here" / "a.saved.study")


def test_nowhere_to_save_it_is_said(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*_: object, **__: object) -> None:
        raise PermissionError

    monkeypatch.setattr("pangaea.study.saving._copied", refused)
    said, _ = interrupted(path, path.unlink)
    assert said.endswith("and it could not be saved elsewhere")


def test_the_very_last_run_counts_too(path: Path) -> None:
    judge = Meanwhile(path.unlink, at=3 + 5)  # the baseline's, and the candidates'
    with pytest.raises(PangaeaError, match=r"what was recorded is in .*a\.saved\.study"):
        search("mnist1d", study=path, candidates=5, runs=0, rerank=False, workers=0, judge=judge)
    with Study.open(path.with_name("a.saved.study")) as study:
        assert len(study.trials()) == 5


def test_a_disk_that_is_unmounted_is_noticed(small_disk: Path) -> None:
    def unmount() -> None:
        subprocess.run(["umount", "--lazy", str(small_disk)], check=True)

    try:
        interrupted(small_disk / "a.study", unmount)
        goes_on(small_disk / "a.saved.study")  # in the folder that was under it
    finally:  # what the fixture takes away
        subprocess.run(["mount", "-t", "tmpfs", "tmpfs", str(small_disk)], check=True)


def garbage(path: Path) -> None:
    path.write_bytes(random.Random(0).randbytes(path.stat().st_size + 5_000))


def truncated(path: Path) -> None:
    path.write_bytes(b"")


def another(path: Path) -> None:
    """A larger study."""
    other = path.with_name("other")
    searched(other, candidates=100)
    path.write_bytes(other.read_bytes())
    other.unlink()


@pytest.mark.parametrize("write_over", [garbage, truncated, another])
def test_a_study_that_is_overwritten_is_saved_from_its_log(
    path: Path, write_over: Callable[[Path], None]
) -> None:
    content = b""

    def happens() -> None:
        nonlocal content
        write_over(path)
        content = path.read_bytes()

    said, runs = interrupted(path, happens)
    saved = path.with_name("a.saved.study")
    assert runs == BEFORE
    assert f"go on with `pangaea resume {saved}`" in said
    assert path.read_bytes() == content  # somebody else's now
    assert sorted(p.name for p in path.parent.iterdir()) == ["a.saved.study", "a.study"]
    goes_on(saved, BEFORE - 1)  # the last one's result had nowhere to go


def test_a_study_that_was_gone_on_with_is_saved_whole(path: Path) -> None:
    searched(path, candidates=20, runs=0, rerank=False)
    judge = Meanwhile(lambda: truncated(path))
    with pytest.raises(PangaeaError, match=r"what was recorded is in .*a\.saved\.study"):
        resume(path, candidates=40, workers=0, judge=judge)
    with Study.open(path.with_name("a.saved.study")) as study:
        assert len(study.trials()) == 20 + BEFORE - 1


def test_what_the_log_lacks_is_not_made_up(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another study of the same shape, in which SQLite would find nothing wrong."""
    monkeypatch.setattr("pangaea.study.file._LOGGED_PAGES", 30)
    said, runs = interrupted(path, lambda: another(path))
    assert runs == BEFORE
    assert said.endswith("and it could not be saved elsewhere")
    assert [p.name for p in path.parent.iterdir()] == ["a.study"]


def test_an_earlier_copy_of_the_study_itself_is_noticed(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pangaea.study.file._LOGGED_PAGES", 30)
    searched(path, candidates=20, runs=0, rerank=False)
    earlier = path.read_bytes()
    judge = Meanwhile(lambda: path.write_bytes(earlier), at=60)
    with pytest.raises(PangaeaError, match="and it could not be saved elsewhere"):
        resume(path, candidates=100, workers=0, judge=judge)
    assert judge.runs == 60
    assert path.read_bytes() == earlier


def test_far_away_nothing_is_written_into_what_took_its_place(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pangaea.study.file._remote", lambda _: True)
    said, _ = interrupted(path, lambda: another(path))
    assert said.endswith("and it could not be saved elsewhere")
    with Study.open(path) as study:
        assert len(study.trials()) == 100
    assert [p.name for p in path.parent.iterdir()] == ["a.study"]


@pytest.mark.parametrize("remote", [False, True])
def test_a_study_that_is_touched_or_written_by_its_driver_is_no_alarm(
    path: Path, monkeypatch: pytest.MonkeyPatch, remote: bool
) -> None:
    monkeypatch.setattr("pangaea.study.file._remote", lambda _: remote)
    monkeypatch.setattr("pangaea.study.file._LOGGED_PAGES", 30)
    judge = Meanwhile(path.touch)
    searched(path, candidates=60, judge=judge)
    with Study.open(path) as study:
        assert len(study.trials()) == 60
    assert judge.runs > 60


def test_a_task_that_changes_its_folder_is_no_alarm(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    judge = Meanwhile(lambda: monkeypatch.chdir("/"))
    how = {"candidates": 8, "runs": 0, "rerank": False, "workers": 0}
    with pytest.raises(PangaeaError, match="there is no study at"):  # of the path it was given
        search("mnist1d", study="a.study", judge=judge, **how)  # type: ignore[arg-type]
    assert judge.runs == 11


LOOK = """
import sqlite3, sys
connection = sqlite3.connect(sys.argv[1])
print(connection.execute("select count(*) from results").fetchone()[0])
connection.close()  # the last one to close takes the log away
"""


def test_a_look_at_a_study_that_this_process_writes_leaves_its_locks_alone(path: Path) -> None:
    with created(path) as study:
        with study.transaction():
            ran(study, wanted("test"), score=1.0)
        Study.open(path).close()
        said = subprocess.run(
            [sys.executable, "-c", LOOK, path], capture_output=True, text=True, check=True
        )
        assert said.stdout == "1\n"
        assert path.with_name("a.study-wal").exists()
        with study.transaction():
            ran(study, wanted("test", seed=1), score=2.0)
    with Study.open(path) as study:
        assert len(study.runs("test")) == 2

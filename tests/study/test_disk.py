"""The disk under a study: read-only, full, far away; and a driver killed while it writes."""

import mmap
import re
import shlex
import shutil
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import psutil
import pytest

from pangaea.errors import PangaeaError
from pangaea.study import file
from pangaea.study.driver import resume, search
from pangaea.study.study import Study
from pangaea.testing.judges import instant, long_winded
from tests.study.driving import REPOSITORY
from tests.study.making import created, ran, searched, wanted


def run(script: str, *arguments: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", script, *map(str, arguments)],
        cwd=REPOSITORY,
        capture_output=True,
        text=True,
        timeout=300,
    )


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A folder that anybody may enter."""
    folder = Path(tempfile.mkdtemp())
    folder.chmod(0o755)
    yield folder
    folder.chmod(0o755)
    shutil.rmtree(folder)


ONLY_READ = """
import os, sys, pangaea.study.study
os.chmod(os.path.dirname(sys.argv[1]), 0o555)
if os.geteuid() == 0: os.setgid(65534), os.setuid(65534)
assert not os.access(os.path.dirname(sys.argv[1]), os.W_OK)
print(len(pangaea.study.study.open_study(sys.argv[1]).trials()))
"""


def test_a_study_opens_from_a_folder_that_can_only_be_read(open_folder: Path) -> None:
    path = open_folder / "a study #1?.study"
    searched(path)
    assert run(ONLY_READ, path).stdout == "6\n"


def test_a_study_that_was_closed_under_a_readers_eyes_opens_there_too(open_folder: Path) -> None:
    path = open_folder / "a.study"
    searched(path)
    study = Study.resume(path)
    with Study.open(path) as reader:
        reader.table()
        study.close()
    assert path.with_name("a.study-wal").exists()  # the reader stood in the way
    assert run(ONLY_READ, path).stdout == "6\n"


def test_what_cannot_be_read_rightly_is_not_read_at_all(open_folder: Path) -> None:
    """Beside it lie changes that were not yet brought in, and the folder is read-only."""
    path = open_folder / "a.study"
    with created(open_folder / "b.study") as study, study.transaction():
        ran(study, wanted("test", seed=1))
    study = Study.resume(open_folder / "b.study")
    with study.transaction():
        ran(study, wanted("test", seed=2))
    for end in ("", "-wal"):
        shutil.copy(open_folder / f"b.study{end}", open_folder / f"a.study{end}")
    study.close()
    said = run(ONLY_READ, path)
    assert said.stdout == ""
    assert "PangaeaError" in said.stderr


@pytest.mark.parametrize(
    ("kind", "journal"),
    [
        *[(kind, "delete") for kind in ("nfs4", "cifs", "fuse.sshfs", "lustre", "9p")],
        *[(kind, "delete") for kind in ("nfs", "smbfs", "afpfs", "webdav", "macfuse")],  # macOS
        *[(kind, "wal") for kind in ("ext4", "tmpfs", "overlay", "xfs", "apfs", "")],
    ],
)
def test_a_network_file_system_gets_a_rollback_journal(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str, journal: str
) -> None:
    folder = tmp_path / "two words"
    folder.mkdir()
    places = [SimpleNamespace(mountpoint="/", fstype="ext4")]
    places += [SimpleNamespace(mountpoint=str(folder), fstype=kind)]
    monkeypatch.setattr(psutil, "disk_partitions", lambda **_: places)
    with created(folder / "a.study") as study:
        (found,) = study._rows("pragma journal_mode")
    assert tuple(found) == (journal,)
    assert file._remote(tmp_path / "a.study") is False


KILLED = """
import os, signal, sys
from pangaea.study import file
from pangaea.study.study import Study
from tests.study.making import ran, wanted
file._remote = lambda path: True
study = Study.resume(sys.argv[1])
study._connection.execute("pragma cache_size=2")  # so that half a change is in the file
with study.transaction():
    study._connection.execute("update results set score = 1")
    study._connection.execute("update runs set function = function || '!'")
    for seed in range(500):
        ran(study, wanted("test", seed=seed), detail="x" * 500)
    os.kill(os.getpid(), signal.SIGKILL)
"""


def test_a_change_that_was_cut_off_is_taken_back_before_anybody_reads(path: Path) -> None:
    searched(path)
    with Study.open(path) as study:
        before = study.table(), study.runs()
    run(KILLED, path)
    assert path.with_name("a.study-journal").exists()
    with Study.open(path) as study:
        assert (study.table(), study.runs()) == before


def test_a_full_disk_is_said_and_nothing_is_lost(path: Path) -> None:
    def fill(study: Study) -> None:
        for seed in range(1000):
            with study.transaction():
                ran(study, wanted("test", seed=seed), detail="x" * 500)

    with created(path) as study:
        (pages,) = study._rows("pragma page_count")
        study._connection.execute(f"pragma max_page_count={pages[0] + 10}")
        with pytest.raises(PangaeaError, match=r"a\.study cannot be written \(.* full\)"):
            fill(study)
        seen = study.runs("test")
    assert len(seen) > 10
    with Study.resume(path) as study:
        assert study.runs("test") == seen


def test_a_broken_disk_is_said_as_a_full_one_is(path: Path) -> None:
    advice = r"cannot be written \(disk I/O error\)\. What was recorded is safe: make room"
    with created(path) as study, pytest.raises(PangaeaError, match=advice), study.transaction():
        raise sqlite3.OperationalError("disk I/O error")


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    folder = tmp_path / "disk"
    folder.mkdir()
    made = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=768k", "tmpfs", str(folder)], capture_output=True
    )
    if made.returncode:
        pytest.skip("a small disk can only be made by somebody who may mount one")
    yield folder
    subprocess.run(["umount", "--lazy", str(folder)], check=True)


@pytest.mark.parametrize("room", [0, 1, 4])
def test_a_study_that_cannot_even_be_made_leaves_nothing_and_is_not_said_to_be_safe(
    small_disk: Path, room: int
) -> None:
    """Not a byte, a page for the lock alone, or not all of the pages for the study."""
    pages = (768 << 10) // mmap.PAGESIZE
    (small_disk / "full").write_bytes(bytes((pages - room) * mmap.PAGESIZE))
    path = small_disk / "a.study"
    with pytest.raises(PangaeaError, match=r"cannot be (made|written)") as caught:
        search("mnist1d", study=path, candidates=3, runs=0, workers=0, judge=instant)
    assert "safe" not in str(caught.value)
    assert [p.name for p in small_disk.iterdir()] == ["full"]
    (small_disk / "full").unlink()
    search("mnist1d", study=path, candidates=3, runs=0, workers=0, judge=instant).close()


def test_what_to_do_is_a_command_that_can_be_pasted(tmp_path: Path) -> None:
    path = tmp_path / "it's; a study"
    created(path).close()
    with pytest.raises(PangaeaError, match="exists: go on with") as caught:
        created(path)
    (command,) = re.findall(r"`(.*)`", str(caught.value))
    assert shlex.split(command) == ["pangaea", "resume", str(path)]


def test_a_search_on_a_disk_that_is_really_full_goes_on_when_there_is_room(
    small_disk: Path,
) -> None:
    path = small_disk / "a.study"
    with pytest.raises(PangaeaError, match=r"cannot be written .* safe: make room, then"):
        search("mnist1d", study=path, candidates=30, runs=0, workers=0, judge=long_winded)
    with Study.open(path) as study:
        before = [row for row in study.table() if row["position"]]
    assert before
    with pytest.raises(PangaeaError):  # still no room
        resume(path, workers=0, judge=long_winded)
    subprocess.run(["mount", "-o", "remount,size=64m", str(small_disk)], check=True)
    resume(path, workers=0, judge=long_winded).close()
    with Study.open(path) as study:
        after = study.table()
    assert [row for row in after if row["number"] in {r["number"] for r in before}] == before
    assert [row["number"] for row in after if row["score"]] == list(range(1, 31))

"""Linux, macOS and Windows, as each of them speaks."""

import platform
import resource
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import psutil
import pytest

import pangaea as pg
from pangaea import system
from pangaea.errors import PangaeaError
from pangaea.study.lock import Lock
from pangaea.workers import cluster

SENTENCE = "Linux and macOS, not on Windows"


@pytest.mark.parametrize(("name", "unit"), [("linux", 1024), ("darwin", 1)])
def test_memory_is_in_bytes_whatever_the_system_counts_in(
    name: str, unit: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "platform", name)
    monkeypatch.setattr(resource, "getrusage", lambda who: SimpleNamespace(ru_maxrss=5000))
    assert system.peak_memory() == 5000 * unit


def test_the_peak_is_at_least_what_is_held_now() -> None:
    assert system.peak_memory() >= psutil.Process().memory_info().rss // 2


def test_the_innermost_file_system_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kinds = {"/": "apfs", str(tmp_path): "smbfs", str(tmp_path / "in"): "nfs", "/elsewhere": "ufs"}
    places = [SimpleNamespace(mountpoint=place, fstype=kind) for place, kind in kinds.items()]
    monkeypatch.setattr(psutil, "disk_partitions", lambda **_: places)
    assert system.file_system(tmp_path / "a.study") == "smbfs"
    assert system.file_system(tmp_path / "in" / "a.study") == "nfs"
    assert system.file_system(Path("/a.study")) == "apfs"


def test_a_system_that_tells_nothing_of_its_disks_is_no_reason_to_stop(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(**_: object) -> None:
        raise FileNotFoundError("/proc/self/mounts")

    monkeypatch.setattr(psutil, "disk_partitions", refuse)
    assert system.file_system(tmp_path) == ""


def test_cores_are_counted_where_no_process_is_tied_to_some(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delattr("os.sched_getaffinity", raising=False)
    monkeypatch.setattr("os.cpu_count", lambda: 6)
    assert cluster.cores() == 6


WINDOWS = """
import sys
sys.modules.update(fcntl=None, resource=None)
from pangaea.cli import main
sys.platform = "win32"
sys.argv = ["pangaea", "search"]
main()
"""


def test_on_windows_the_command_line_says_one_sentence() -> None:
    shown = subprocess.run([sys.executable, "-c", WINDOWS], capture_output=True, text=True)
    assert (shown.returncode, shown.stdout) == (2, "")
    assert SENTENCE in shown.stderr
    assert shown.stderr.startswith("error: ")
    assert shown.stderr.count("\n") == 1


def test_on_windows_functions_can_be_had_but_not_trained(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "platform", "win32")
    assert pg.parse("wrn-1").parameters == ("alpha", "beta")
    with pytest.raises(PangaeaError, match=SENTENCE):
        pg.train("mnist1d", "relu", epochs=1)
    with pytest.raises(PangaeaError, match=SENTENCE):
        Lock(path)


@pytest.mark.parametrize(
    ("table", "name"),
    [
        (
            "processor\t: 0\nmodel name\t: Xeon: the fast one\nmodel name\t: other\n",
            "Xeon: the fast one",
        ),
        ("processor\t: 0\n", None),
        (None, None),
    ],
)
def test_a_processor_has_a_name(
    table: str | None, name: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    def read(path: Path) -> str:
        if table is None:
            raise FileNotFoundError(path)
        return table

    monkeypatch.setattr(Path, "read_text", read)
    assert system.cpu() == (name or platform.processor() or platform.machine())

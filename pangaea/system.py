"""The operating system: what Linux and macOS tell in ways of their own, and Windows does not."""

import contextlib
import platform
import sys
from pathlib import Path

from pangaea.errors import PangaeaError


def check() -> None:
    """Raise where a search cannot run."""
    if sys.platform == "win32":
        raise PangaeaError(
            "pangaea searches and trains on Linux and macOS, not on Windows itself: install it "
            "inside WSL, Windows' own Linux (`wsl --install`)"
        )


def lock(file: int) -> None:
    """Keep an open file for this process until it ends; `BlockingIOError` if another has it."""
    check()
    import fcntl  # Windows has none

    fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)


def cpu() -> str:
    """What the processor is called, `AMD EPYC 9654`; of those that do not say it, their kind."""
    with contextlib.suppress(OSError):
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            name, _, text = line.partition(":")
            if name.strip() == "model name":
                return text.strip()
    return platform.processor() or platform.machine()


def peak_memory() -> int:
    """The most bytes that this process has held so far."""
    check()
    import resource  # Windows has none

    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else 1024 * peak  # macOS counts bytes, Linux KiB


def file_system(path: Path) -> str:
    """The kind of file system that a file lies on, such as ext4; empty where nobody knows."""
    import psutil

    best, kind = "", ""
    with contextlib.suppress(OSError, psutil.Error):
        for mount in psutil.disk_partitions(all=True):
            place = mount.mountpoint
            if path.resolve().is_relative_to(place) and len(place) >= len(best):
                best, kind = place, mount.fstype
    return kind

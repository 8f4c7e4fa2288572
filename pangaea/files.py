"""Files that are there at once and whole, or not at all, and where they are kept."""

import os
import re
import stat
import sys
import uuid
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from pangaea.errors import PangaeaError

_LINKS = 40  # followed at most, as Linux does


@contextmanager
def replacing(path: Path) -> Iterator[BinaryIO]:
    """A file to write that takes the place of `path` once it is whole and on the disk."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f".{path.name}-{uuid.uuid4().hex}")
    try:
        with part.open("xb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)


def save(path: Path, content: str | bytes) -> None:
    """A plain file is there at once and whole, and keeps its mode; never in place of a study.

    What is no plain file, such as a pipe or a device, is written into.
    """
    if isinstance(content, str):
        content = content.encode("utf-8", "backslashreplace")
    try:
        mode = _mode(path)
        if mode is not None and stat.S_ISDIR(mode):
            raise PangaeaError(f"{path} is a folder: give the name of a file")
        if _descriptor(path) or (mode is not None and not stat.S_ISREG(mode)):
            with path.open("ab") as stream:
                stream.write(content)
            return
        if _database(path):
            raise PangaeaError(f"{path} is a study, which is not written over: give another name")
        with replacing(path.resolve()) as file:  # what a link leads to is replaced, not the link
            if mode is not None:
                os.fchmod(file.fileno(), stat.S_IMODE(mode))
            file.write(content)
    except OSError as error:
        raise PangaeaError(f"cannot write {path}: {error.strerror or error}") from None


def _mode(path: Path) -> int | None:
    try:
        return path.stat().st_mode
    except FileNotFoundError:
        return None


def _descriptor(path: Path) -> bool:
    """Does a path such as /dev/stdout lead to a stream of this process, whatever that is?"""
    for _ in range(_LINKS):
        if re.fullmatch(r"/dev/fd|/proc/\w+(/task/\w+)?/fd", str(path.parent.resolve())):
            return True
        if not path.is_symlink():
            return False
        path = path.parent / path.readlink()
    return False


def _database(path: Path) -> bool:
    if not path.is_file():
        return False
    with path.open("rb") as file:
        return file.read(15) == b"SQLite format 3"


def cache_folder() -> Path:
    """`pangaea` in the user's cache; a RuntimeError where nobody knows the user's home."""
    caches = {
        "darwin": "~/Library/Caches",
        "win32": os.environ.get("LOCALAPPDATA") or "~/AppData/Local",
    }
    home = caches.get(sys.platform) or os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    return Path(home, "pangaea").expanduser().absolute()


def data_folder() -> Path:
    """Where data sets are kept: PANGAEA_DATA, or `pangaea` in the user's cache."""
    given = os.environ.get("PANGAEA_DATA")
    try:
        return Path(given).expanduser().absolute() if given else cache_folder()
    except RuntimeError:
        raise PangaeaError(
            f"{given or 'the cache'} is in a home folder that is not known here; "
            "set PANGAEA_DATA to the full path of a folder for data"
        ) from None


def are_here(files: Iterable[str]) -> bool:
    """Is every one of these files in the data folder?"""
    try:
        return all((data_folder() / file).is_file() for file in files)
    except OSError:  # a folder that may not be entered
        return False

"""Files that are there at once and whole, or not at all, and where they are kept."""

import os
import sys
import uuid
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from pangaea.errors import PangaeaError


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

"""Files that are there at once and whole, or not at all, and where they are kept."""

import os
import sys
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO


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

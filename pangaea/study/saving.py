"""A study that its driver still has open, though its file is gone: noticed, and saved beside.

What was deleted, or replaced by a file of the same name, lives on as long as somebody has it open.
"""

import contextlib
import shlex
import sqlite3
import tempfile
from collections.abc import Iterator
from itertools import count
from pathlib import Path

from pangaea.errors import PangaeaError

Identity = tuple[int, int]


def identity(path: Path) -> Identity | None:
    """Which file a path leads to, at the cost of two microseconds; None if to none."""
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_dev, status.st_ino


def resume_command(path: Path) -> str:
    """What goes on with a study, as a shell reads it."""
    return f"pangaea resume {shlex.quote(str(path))}"


def lost(connection: sqlite3.Connection, path: Path) -> PangaeaError:
    """What to say of a study that is no longer at its path, once it is saved elsewhere."""
    kept = _saved(connection, path)
    if kept is None:
        rest = "and it could not be saved elsewhere"
    else:
        rest = f"what was recorded is in {kept}: go on with `{resume_command(kept)}`"
    return PangaeaError(
        f"{path} was deleted, moved, replaced or unmounted while it was being searched, so the "
        f"search has stopped; {rest}"
    )


def _saved(connection: sqlite3.Connection, path: Path) -> Path | None:
    """A copy of all that the connection sees, beside the path or as near as it can be."""
    for folder in (path.parent, Path.cwd(), Path(tempfile.gettempdir())):
        with contextlib.suppress(OSError, sqlite3.Error):
            return _copied(connection, next(_names(folder, path)))
    return None


def _names(folder: Path, path: Path) -> Iterator[Path]:
    """`first.saved.study`, or `first.saved-2.study` if that exists, and so on."""
    stem = path.name.removesuffix(".study")
    names = (folder / f"{stem}.saved{'' if n == 1 else f'-{n}'}.study" for n in count(1))
    return (name for name in names if not name.exists())


def _copied(connection: sqlite3.Connection, name: Path) -> Path:
    aside = name.with_name(name.name + ".new")
    aside.touch(exist_ok=False)
    try:
        with contextlib.closing(sqlite3.connect(aside)) as copy:
            copy.execute("pragma synchronous=full")
            connection.backup(copy)
            copy.execute("pragma journal_mode=delete")
        return aside.rename(name)
    finally:
        aside.unlink(missing_ok=True)

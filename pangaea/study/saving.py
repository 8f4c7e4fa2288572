"""A study whose file is gone or overwritten while its driver writes it: noticed, and saved beside.

What was deleted, or replaced by a file of the same name, lives on as long as somebody has it open.
Of what was overwritten there is left what stands in SQLite's log.
"""

import contextlib
import os
import shlex
import shutil
import sqlite3
import tempfile
from collections.abc import Callable, Iterator
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


class Written:
    """The file that a driver writes: is it still there, and what the driver left?"""

    def __init__(self, path: Path, connection: sqlite3.Connection) -> None:
        self.path = path.absolute()
        self._created = _created(connection)
        self._status = self.path.stat()

    @property
    def identity(self) -> Identity:
        return self._status.st_dev, self._status.st_ino

    @property
    def size(self) -> int:
        return self._status.st_size

    def in_place(self) -> bool:
        """Is it still the file at its path?"""
        return identity(self.path) == self.identity

    def overwritten(self) -> bool:
        """Did somebody else write into it? One look at its size and time while nobody does."""
        try:
            status = self.path.stat()
        except OSError:
            return False
        if (status.st_dev, status.st_ino) != self.identity:
            return False  # it is another file
        if (status.st_mtime_ns, status.st_size) == (self._status.st_mtime_ns, self.size):
            return False
        # SQLite brings its log in now and then; but a study neither shrinks nor becomes another.
        if status.st_size < self.size or not self._same_study():
            return True
        self._status = status
        return False

    def _same_study(self) -> bool:
        """By the file itself, without its log."""
        with contextlib.suppress(sqlite3.Error):
            file = sqlite3.connect(f"{self.path.as_uri()}?immutable=1", uri=True)
            with contextlib.closing(file):
                return _created(file) == self._created
        return False


def _created(connection: sqlite3.Connection) -> object:
    """When a study was begun, to the microsecond: no two say the same."""
    return connection.execute("select value from about where name = 'created'").fetchone()


def lost(connection: sqlite3.Connection, path: Path) -> PangaeaError:
    """What to say of a study that is no longer at its path, once it is saved elsewhere."""
    return _told(path, _saved(lambda name: _copied(connection, name), path))


def overwritten(connection: sqlite3.Connection, written: Written) -> PangaeaError:
    """What to say of a study that somebody else wrote over, once what is left is saved elsewhere.

    The connection ends, and nothing of it goes into the file, which is somebody else's now.
    """
    path = written.path
    log = path.with_name(path.name + "-wal")
    kept = _saved(lambda name: _restored(log, written.size, name), path)
    with contextlib.suppress(OSError):
        os.truncate(log, 0)
    connection.close()
    for left in (log, path.with_name(path.name + "-shm")):
        left.unlink(missing_ok=True)
    return _told(path, kept)


def _told(path: Path, kept: Path | None) -> PangaeaError:
    if kept is None:
        rest = "and it could not be saved elsewhere"
    else:
        rest = f"what was recorded is in {kept}: go on with `{resume_command(kept)}`"
    return PangaeaError(
        f"{path} was deleted, moved, replaced, overwritten or unmounted while it was being "
        f"searched, so the search has stopped; {rest}"
    )


def _saved(save: Callable[[Path], Path], path: Path) -> Path | None:
    """What was saved, beside the path or as near as it can be."""
    for folder in (path.parent, Path.cwd(), Path(tempfile.gettempdir())):
        with contextlib.suppress(OSError, sqlite3.Error):
            return save(next(_names(folder, path)))
    return None


def _names(folder: Path, path: Path) -> Iterator[Path]:
    """`first.saved.study`, or `first.saved-2.study` if that exists, and so on."""
    stem = path.name.removesuffix(".study")
    names = (folder / f"{stem}.saved{'' if n == 1 else f'-{n}'}.study" for n in count(1))
    return (name for name in names if not name.exists())


def _copied(connection: sqlite3.Connection, name: Path) -> Path:
    """All that the connection sees."""
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


def _restored(log: Path, size: int, name: Path) -> Path:
    """All that the log has; SQLite's error if the study, of so many bytes, was more than that."""
    if size > log.stat().st_size:
        raise sqlite3.DatabaseError("the log does not have all of the study")
    aside = name.with_name(name.name + ".new")
    log_aside = aside.with_name(aside.name + "-wal")
    with aside.open("xb") as file:
        file.write(b"\xff" * size)  # what no page that the log lacks could be taken for
    try:
        shutil.copyfile(log, log_aside)
        with contextlib.closing(sqlite3.connect(aside)) as copy:
            copy.execute("pragma synchronous=full")
            if copy.execute("pragma integrity_check").fetchall() != [("ok",)]:
                raise sqlite3.DatabaseError("the log does not have all of the study")
            copy.execute("pragma journal_mode=delete")
        return aside.rename(name)
    finally:
        for left in (aside, log_aside, aside.with_name(aside.name + "-shm")):
            left.unlink(missing_ok=True)

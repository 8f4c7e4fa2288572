"""The study's SQLite file: opened safely, owned by one driver, never lost.

A study is written by one process, which holds a lock beside the file for as long as it lives; any
number may read. A change is on the disk (`synchronous=FULL`) before anything follows from it.
"""

import contextlib
import os
import shutil
import sqlite3
from collections.abc import Iterator, Mapping
from pathlib import Path

from pangaea import system
from pangaea.errors import PangaeaError
from pangaea.files import replacing
from pangaea.study import migration, schema
from pangaea.study.lock import Lock, beside, guarded
from pangaea.study.saving import resume_command

APPLICATION = 0x50474541  # what marks the file as ours: "PGEA"
# A candidate of the default task changes seven pages: 1,000 of them go into a log of 33 MB before
# it is written into the file and begun anew.
_LOGGED_PAGES = 8_000
_SMALL = 4 << 20  # bytes, written again within 0.1 s
_CACHE = 65_536  # KB: of 100,000 candidates all pages that are checked first and read then
# Shared memory, which WAL needs, does not reach across machines.
_REMOTE = (
    "nfs",
    "cifs",
    "smb",
    "9p",
    "fuse",
    "lustre",
    "gpfs",
    "beegfs",
    "ceph",
    "afs",
    "pvfs",
    "ocfs",
    "gfs",
    # as macOS calls them
    "afp",
    "webdav",
    "macfuse",
    "osxfuse",
)


def check_free(path: Path) -> None:
    """Raise if there cannot be a new file."""
    _check_folder(path)
    if path.is_dir():
        raise PangaeaError(f"{path} is a folder: a study is a file in it, such as first.study")
    if path.exists():
        _recognize(path, "choose another name for the new one")
        raise PangaeaError(
            f"{path} exists: go on with `{resume_command(path)}`, or choose another name"
        )


def _check_folder(path: Path) -> None:
    if not path.parent.is_dir():
        raise PangaeaError(f"the folder {path.parent} does not exist: make it, or choose another")


def create(path: Path, about: Mapping[str, str]) -> tuple[Path, sqlite3.Connection, Lock]:
    """A new file, there at once and whole, or not at all; and the right to write it."""
    _check_folder(path)
    lock = Lock(path)
    aside = beside(path, ".new")
    try:
        check_free(path)
        for left in (beside(path, "-wal"), beside(path, "-journal")):
            if left.exists():
                raise PangaeaError(
                    f"{left} is left of a study that was moved or deleted: bring the two together "
                    "again, delete it, or choose another name"
                )
        aside.unlink(missing_ok=True)
        with sentences(path, begun=False):
            with contextlib.closing(_connect(aside, "mode=rwc")) as connection:
                connection.executescript(
                    f"begin;{schema.SCHEMA}pragma application_id={APPLICATION};"
                    f"pragma user_version={schema.VERSION};"
                )
                connection.executemany("insert into about values (?, ?)", about.items())
                connection.execute("commit")
            aside.rename(path)
            _sync(path.parent)
            return path, _durable(path, lock), lock
    except BaseException:
        aside.unlink(missing_ok=True)
        lock.release()
        raise


def write(path: Path) -> tuple[Path, sqlite3.Connection, Lock]:
    """An existing study to go on with, and the right to write it; an earlier one is migrated."""
    read(path).close()
    lock = Lock(path)
    try:
        with sentences(path):
            if _version(path) < schema.VERSION:
                _migrate(path)
            return path, _durable(path, lock), lock
    except BaseException:
        lock.release()
        raise


def read(path: Path, *, whole: bool = True) -> sqlite3.Connection:
    """An existing study, to look at; refused untouched if it is not one, or a newer one.

    One of an earlier schema is shown as a copy in memory. A `whole` one has every value checked.
    """
    if path.is_dir():
        raise PangaeaError(f"{path} is a folder, not a study")
    if not path.is_file():
        raise PangaeaError(f"there is no study at {path}")
    _recognize(path)
    with sentences(path):
        connection = _reading(path)
        if connection.execute("pragma user_version").fetchone()[0] != schema.VERSION:
            with contextlib.closing(connection) as earlier:
                connection = _migrated(earlier, path)
        try:
            if whole:
                schema.check_values(connection, path)
        except BaseException:
            connection.close()
            raise
        return connection


def _reading(path: Path) -> sqlite3.Connection:
    with sentences(path):
        try:
            return _identified(path, "mode=ro")
        except sqlite3.OperationalError:
            if beside(path, "-journal").exists():
                # A driver was killed in the middle of a change: SQLite takes it back first.
                return _identified(path, "mode=rw")
            wal = beside(path, "-wal")
            if wal.exists() and wal.stat().st_size:
                raise
            # A study from a read-only folder: nobody writes, so nothing needs to be shared.
            return _identified(path, "immutable=1")


def close(connection: sqlite3.Connection) -> None:
    """Leave one plain file behind, which also opens where nothing can be written."""
    with contextlib.suppress(sqlite3.Error):  # readers may stand in the way; nothing is lost
        connection.execute("pragma busy_timeout=1000")
        connection.execute("pragma wal_checkpoint(truncate)")
        connection.execute("pragma journal_mode=delete")
    connection.close()


def let_go(connection: sqlite3.Connection) -> None:
    """Close what was only read."""
    with contextlib.suppress(sqlite3.ProgrammingError):  # another thread's; it ends when freed
        connection.close()


@contextlib.contextmanager
def transaction(connection: sqlite3.Connection, path: Path) -> Iterator[None]:
    """All of it on the disk, or none."""
    with sentences(path):
        connection.execute("begin immediate")
        try:
            yield
            connection.execute("commit")
        except BaseException:
            with contextlib.suppress(sqlite3.Error):
                connection.execute("rollback")
            raise


def _connect(path: Path, how: str) -> sqlite3.Connection:
    return sqlite3.connect(
        f"{path.absolute().as_uri()}?{how}", uri=True, isolation_level=None, timeout=30
    )


def _sync(folder: Path) -> None:
    """A new name is on the disk when its folder is."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _durable(path: Path, lock: Lock) -> sqlite3.Connection:
    connection = _connect(path, "mode=rw")
    lock.guard(connection)
    connection.execute("pragma synchronous=full")
    connection.execute("pragma fullfsync=on")  # macOS: through the disk's own cache, too
    connection.execute("pragma foreign_keys=on")
    if _remote(path):
        connection.execute("pragma journal_mode=delete")
    else:
        connection.execute("pragma journal_mode=wal")
        _log(connection, path)
    return connection


def _log(connection: sqlite3.Connection, path: Path) -> None:
    """Keep all of a small study in its log, from which it can be saved if it is overwritten.

    A larger one could not be saved, and with such a log takes a fifth longer to record a result.
    """
    if path.stat().st_size < _SMALL:
        connection.execute(f"pragma wal_autocheckpoint={_LOGGED_PAGES}")
        connection.execute("vacuum")


def recognized(path: Path) -> bool:
    """By the file's first bytes: SQLite would put its log beside what is somebody else's."""
    if guarded(path):  # to close it would release the locks that SQLite has on it
        return True
    try:
        with path.open("rb") as stream:
            start = stream.read(100)
    except OSError as error:
        raise PangaeaError(f"{path} cannot be read: {error.strerror}") from None
    return start[:16] == b"SQLite format 3\0" and int.from_bytes(start[68:72]) == APPLICATION


def _recognize(path: Path, remedy: str = "") -> None:
    if not recognized(path):
        raise PangaeaError(f"{path} is not a study of pangaea" + (remedy and f": {remedy}"))


def _identified(path: Path, how: str) -> sqlite3.Connection:
    connection = _connect(path, how)
    try:
        connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, schema.LARGEST)
        connection.execute(f"pragma cache_size=-{_CACHE}")
        schema.check_tables(connection, path)
    except BaseException:
        connection.close()
        raise
    return connection


def _version(path: Path) -> int:
    with contextlib.closing(_connect(path, "mode=ro")) as connection:
        (version,) = connection.execute("pragma user_version").fetchone()
        return int(version)


def _migrated(old: sqlite3.Connection, path: Path) -> sqlite3.Connection:
    """The same study in memory, in today's schema."""
    memory = sqlite3.connect(":memory:", isolation_level=None)
    try:
        old.backup(memory)
        migration.migrate(memory, schema.SCHEMA)
        memory.execute(f"pragma user_version={schema.VERSION}")
    except sqlite3.Error:
        memory.close()
        raise
    except (*schema.NONSENSE, AttributeError, LookupError) as error:
        memory.close()
        raise schema.damaged(path, schema.brief(error)) from None
    return memory


def _migrate(path: Path) -> None:
    """Put today's schema in the file's place, at once and whole; what it was stays beside it."""
    with contextlib.closing(_connect(path, "mode=rw")) as old:
        old.execute("pragma wal_checkpoint(truncate)")
        old.execute("pragma journal_mode=delete")
        version = old.execute("pragma user_version").fetchone()[0]
        kept, aside = beside(path, f".schema-{version}"), beside(path, ".new")
        aside.unlink(missing_ok=True)
        with contextlib.closing(_migrated(old, path)) as memory:
            with contextlib.closing(_connect(aside, "mode=rwc")) as new:
                memory.backup(new)
            _sync(aside)
    try:
        if not kept.exists():
            _keep(path, kept)
        aside.rename(path)
        _sync(path.parent)
    except OSError as error:
        raise PangaeaError(
            f"{path} cannot be migrated: {error.strerror}. It is as it was: make room beside it, "
            f"then `{resume_command(path)}`"
        ) from None


def _keep(path: Path, name: Path) -> None:
    """The same file under another name; a copy where a file has but one."""
    try:
        os.link(path, name)
    except OSError:
        with path.open("rb") as whole, replacing(name) as copy:
            shutil.copyfileobj(whole, copy)


def _remote(path: Path) -> bool:
    """Does the file lie on a network file system?"""
    return system.file_system(path).startswith(_REMOTE)


@contextlib.contextmanager
def sentences(path: Path, *, begun: bool = True) -> Iterator[None]:
    """SQLite's errors, as what they mean for a study that has been begun, or has not."""
    try:
        yield
    except sqlite3.OperationalError as error:
        why = schema.brief(error)
        if "full" in why or "disk I/O" in why:
            if not begun:
                raise PangaeaError(
                    f"{path} cannot be made ({why}): make room there, or choose another disk"
                ) from None
            raise PangaeaError(
                f"{path} cannot be written ({why}). What was recorded is safe: make room, then "
                f"`{resume_command(path)}`"
            ) from None
        raise PangaeaError(f"{path} cannot be opened or written: {why}") from None
    except sqlite3.DatabaseError as error:
        raise PangaeaError(
            f"{path} is not a study of pangaea, or it is damaged: {schema.brief(error)}"
        ) from None

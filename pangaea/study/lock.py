"""Who writes a study: the one process that holds the lock beside its file."""

import contextlib
import os
import socket
import sqlite3
from pathlib import Path

from pangaea import system
from pangaea.errors import PangaeaError
from pangaea.study.saving import Identity, Written, identity

_GUARDED: set[Identity] = set()  # the studies that this process writes


class Lock:
    """Held by the driver of a study; the kernel lets go of it when the process dies."""

    def __init__(self, path: Path) -> None:
        self.path = beside(path, ".lock")
        self._study = path
        self._written: Written | None = None
        try:
            while not self._taken(path):
                pass
            os.ftruncate(self._file, 0)
            os.write(self._file, f"process {os.getpid()} on {socket.gethostname()}".encode())
        except OSError as error:
            with contextlib.suppress(OSError, AttributeError):  # it may not even be open
                os.close(self._file)
                self.path.unlink()
            raise PangaeaError(
                f"{self.path} cannot be written: {error.strerror}; a search needs a folder it may "
                "write to"
            ) from None

    def _taken(self, path: Path) -> bool:
        self._file = os.open(self.path, os.O_RDWR | os.O_CREAT, 0o644)
        try:
            system.lock(self._file)
        except BlockingIOError:
            owner = os.read(self._file, 200).decode(errors="replace") or "another process"
            os.close(self._file)
            raise PangaeaError(
                f"{path} is being searched by {owner}: wait for it, or stop it first"
            ) from None
        # Its last owner may have removed it between the two calls: then it guards nothing.
        with contextlib.suppress(FileNotFoundError):
            if self.path.stat().st_ino == os.fstat(self._file).st_ino:
                return True
        os.close(self._file)
        return False

    def guard(self, connection: sqlite3.Connection) -> None:
        """From here on this process writes the file that is there now."""
        self._written = Written(self._study, connection)
        _GUARDED.add(self._written.identity)

    @property
    def written(self) -> Written:
        assert self._written is not None
        return self._written

    def release(self) -> None:
        if self._written is not None:
            _GUARDED.discard(self._written.identity)
        with contextlib.suppress(OSError):
            self.path.unlink()
        os.close(self._file)


def guarded(path: Path) -> bool:
    """Does this process write the file at the path?"""
    return identity(path) in _GUARDED


def beside(path: Path, end: str) -> Path:
    """A file that belongs to the study, such as its log."""
    return path.with_name(path.name + end)

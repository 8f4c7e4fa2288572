"""Every value of a large file is looked at while others read it: SQLite does that beside Python."""

import sqlite3
from contextlib import suppress
from pathlib import Path
from threading import Thread

from pangaea.errors import PangaeaError
from pangaea.study import schema


class Check:
    """On a connection of its own, which it closes."""

    def __init__(self, connection: sqlite3.Connection, path: Path) -> None:
        self._connection, self._path = connection, path
        self._error: Exception | None = None
        self._thread = Thread(target=self._look, daemon=True)
        self._thread.start()

    def _look(self) -> None:
        try:
            schema.check_values(self._connection, self._path)
        except (PangaeaError, sqlite3.Error) as error:
            self._error = error
        finally:
            self._connection.close()

    def done(self) -> None:
        """Wait for it, and raise if there is something wrong."""
        self._thread.join()
        if self._error is not None:
            raise self._error

    def stop(self) -> None:
        """Nobody wants to know any more."""
        with suppress(sqlite3.ProgrammingError):  # it has just ended
            self._connection.interrupt()
        self._thread.join()

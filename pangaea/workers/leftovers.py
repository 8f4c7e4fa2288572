"""Ends what a worker leaves behind: the processes that its tasks started, once it is gone.

Beside every worker waits one process of this file, for a worker that is killed can do nothing. It
ends the worker's session, and whoever left that but still carries the worker's mark in its
environment. Out of its reach is a process that has neither, or that belongs to another user.
"""

import contextlib
import os
import secrets
import signal
import subprocess
import sys
import time

_MARK = "PANGAEA_WORKER"
_LOOK_SECONDS = 0.2
_PATIENCE_SECONDS = 10.0  # with processes that start others faster than they are ended


def end_with_worker() -> "subprocess.Popen[bytes]":
    """To be called by a worker before it starts anything."""
    if os.getpgid(0) != os.getpid():
        os.setsid()
    mark = secrets.token_hex(16)
    environment = {name: value for name, value in os.environ.items() if name != _MARK}
    os.environ[_MARK] = mark
    return subprocess.Popen(
        # Neighbours of this file are not to be taken for modules that have their names.
        [sys.executable, "-P", __file__, str(os.getpid()), mark, str(_parent())],
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )


def _parent() -> int:
    """Whose end the worker would not hear of; on Linux the kernel sees to that, and it is 0."""
    return 0 if sys.platform == "linux" else os.getppid()


def _orphaned(worker: int, parent: int) -> bool:
    if not parent:
        return False
    import psutil

    with contextlib.suppress(psutil.Error):
        return bool(psutil.Process(worker).ppid() != parent)
    return False


def _kill_marked(mark: str) -> bool:
    """Returns if there were any."""
    import psutil  # not above, for a driver without workers needs none

    any_left = False
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error, OSError):
            if process.environ().get(_MARK) == mark:
                any_left = True
                process.kill()
    return any_left


def _main(worker: int, mark: str, parent: int) -> None:
    while os.getppid() == worker and not _orphaned(worker, parent):
        time.sleep(_LOOK_SECONDS)
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(worker, signal.SIGKILL)
    deadline = time.monotonic() + _PATIENCE_SECONDS
    while _kill_marked(mark) and time.monotonic() < deadline:
        time.sleep(0.01)


if __name__ == "__main__":
    _main(int(sys.argv[1]), sys.argv[2], int(sys.argv[3]))

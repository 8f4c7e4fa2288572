"""Preloaded into every worker process: it dies with its parent, and what it started with it."""

import ctypes
import multiprocessing
import os
import signal
import sys

from pangaea.workers.leftovers import end_with_worker

_PR_SET_PDEATHSIG = 1
_watchers: list[object] = []


def dask_setup(worker: object) -> None:
    # Ctrl-C in a terminal reaches every process; what becomes of the workers the driver decides.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    die_with_parent()
    _watchers.append(end_with_worker())
    # Dask marks its workers as daemons, which may have no children; a task's DataLoader wants some.
    multiprocessing.current_process().daemon = False


def die_with_parent() -> None:
    """A worker deep in C code holds the interpreter and hears nothing; the kernel ends it."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        parent = multiprocessing.parent_process()
        if parent is not None and os.getppid() != parent.pid:  # too late to be told
            os._exit(1)

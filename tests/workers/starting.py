"""A task's code that starts processes, in every way in which they could be left behind."""

import os
import subprocess
import time
from pathlib import Path
from typing import Any

import psutil

from pangaea.workers.judge import Job
from tests.study.judges import sleeping

_SLEEP = ["sleep", "1000"]


def start() -> list[int]:
    """Their numbers: a child, one with a session of its own, a daemon, one that is a mere fork."""
    child = subprocess.Popen(_SLEEP)
    leader = subprocess.Popen(_SLEEP, start_new_session=True)
    shell = ["sh", "-c", "sleep 1000 > /dev/null 2>&1 & echo $!"]
    daemon = subprocess.run(
        shell, start_new_session=True, capture_output=True, check=True, text=True
    )
    fork = os.fork()
    if fork == 0:
        time.sleep(1000)
        os._exit(0)
    return [child.pid, leader.pid, int(daemon.stdout), fork]


def starting(file: Path, job: Job) -> Any:
    """A judge that starts them, and takes forever."""
    file.write_text(" ".join(map(str, start())))
    return sleeping(job)


def alive(numbers: list[int]) -> list[int]:
    return [n for n in numbers if psutil.pid_exists(n) and _status(n) != psutil.STATUS_ZOMBIE]


def _status(number: int) -> str:
    try:
        return str(psutil.Process(number).status())
    except psutil.NoSuchProcess:
        return str(psutil.STATUS_ZOMBIE)

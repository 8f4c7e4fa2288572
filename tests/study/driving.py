"""Drivers in processes of their own, for tests that kill them.

`python -m tests.study.driving` imports what takes seconds to import, and then forks a driver for
each line that it is told, so that hundreds can be started and killed.
"""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import psutil

REPOSITORY = Path(__file__).parents[2]
STRATEGIES = Path(__file__).parent / "strategies"  # of tests alone
PATIENCE_SECONDS = 300.0  # nothing that lives takes so long, on whatever busy machine


class Driver:
    """One driver: a search, or a study resumed if the file exists."""

    def __init__(self, pid: int, study: Path) -> None:
        self.pid, self.study = pid, study

    @property
    def alive(self) -> bool:
        return bool(psutil.pid_exists(self.pid))

    def send(self, number: int) -> None:
        os.kill(self.pid, number)

    def kill(self) -> None:
        """End it at once, and wait until it is gone."""
        if self.alive:
            self.send(signal.SIGKILL)
        until(lambda: not self.alive)

    def end(self) -> str:
        """How it ended: `done`, or what was raised."""
        until(lambda: not self.alive)
        return self.outcome.read_text()

    @property
    def outcome(self) -> Path:
        """Where it says how it ended, unless it was killed."""
        return _outcome(self.study)


class Drivers:
    """The process that forks drivers."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.study.driving"],
            cwd=REPOSITORY,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def start(self, study: Path, judge: str, *arguments: Any, **how: Any) -> Driver:
        """`judge` names one of `judges`, or is `real`; arguments are its first ones.

        A search may be begun in a folder of its own; what else is said of it are its settings.
        """
        assert self._process.stdin
        assert self._process.stdout
        _outcome(study).unlink(missing_ok=True)
        line = {"study": str(study), "judge": judge, "arguments": arguments, "how": how}
        self._process.stdin.write(json.dumps(line) + "\n")
        self._process.stdin.flush()
        return Driver(int(self._process.stdout.readline()), study)

    def close(self) -> None:
        """Every driver that still runs goes with it."""
        self._process.kill()
        self._process.communicate()


def until(done: Callable[[], object], patience: float = PATIENCE_SECONDS) -> float:
    """Wait; returns how long it took."""
    started = time.monotonic()
    while not done():
        assert time.monotonic() < started + patience, "it takes too long"
        time.sleep(0.005)
    return time.monotonic() - started


def _outcome(study: Path) -> Path:
    return study.with_suffix(".outcome")


def _drive(study: Path, judge: str, arguments: list[Any], how: Mapping[str, Any]) -> None:
    from functools import partial

    from pangaea.study import driver
    from pangaea.workers.judge import judge as real
    from tests.study import judges

    chosen = real if judge == "real" else partial(getattr(judges, judge), *arguments)
    try:
        if study.exists():
            places = ("workers", "cluster")
            driver.resume(study, judge=chosen, **{k: how[k] for k in places if k in how}).close()
        else:
            given = dict(how)
            os.chdir(given.pop("folder", "."))
            driver.search(study=study, judge=chosen, **given).close()
        said = "done"
    except BaseException as error:
        said = f"{type(error).__name__}: {error}"
    _outcome(study).write_text(said)


def _serve() -> None:
    import pangaea.study.driver  # noqa: F401
    import tests.study.judges  # noqa: F401
    from pangaea.workers.worker import die_with_parent
    from tests.rooms import extend

    extend("pangaea.evolution.strategies", STRATEGIES)

    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    for line in sys.stdin:
        told = json.loads(line)
        if told["judge"] == "real":
            import torch._dynamo  # noqa: F401  (optimizers import it, and it takes seconds)
        pid = os.fork()
        if pid == 0:
            die_with_parent()
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            _drive(Path(told["study"]), told["judge"], told["arguments"], told["how"])
            os._exit(0)
        print(pid, flush=True)


if __name__ == "__main__":
    signal.signal(signal.SIGHUP, signal.SIG_DFL)  # whatever the tests' own terminal does
    _serve()

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.rooms import extended
from tests.study.driving import REPOSITORY, STRATEGIES, Drivers, until


@pytest.fixture(scope="session")
def drivers() -> Iterator[Drivers]:
    made = Drivers()
    yield made
    made.close()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "a.study"


@pytest.fixture
def promoting() -> Iterator[str]:
    """A strategy that proposes several runs of a candidate, with several budgets."""
    with extended("pangaea.evolution.strategies", STRATEGIES):
        yield "promoting"


class ByHand(NamedTuple):
    address: str
    scheduler: subprocess.Popen[bytes]


@pytest.fixture
def by_hand(tmp_path: Path) -> Iterator[ByHand]:
    """A scheduler and two workers, each started with its own command."""
    file = tmp_path / "scheduler.json"
    common = ["--scheduler-file", str(file), "--host", "127.0.0.1", "--no-dashboard"]
    preload = ["--preload", "pangaea.workers.worker", "--nthreads", "1", "--nworkers", "2"]
    commands = [["scheduler", "--port", "0", *common], ["worker", *preload, *common]]
    environment = os.environ | {"PYTHONPATH": str(REPOSITORY)}
    with (tmp_path / "log").open("w") as log:
        running = [
            subprocess.Popen(
                [sys.executable, "-m", "dask", *command],
                env=environment,
                cwd=tmp_path,
                stdout=log,
                stderr=log,
            )
            for command in commands
        ]
        try:
            until(lambda: (tmp_path / "log").read_text().count("Registered to") == 2)
            yield ByHand(json.loads(file.read_text())["address"], running[0])
        finally:
            for process in running:
                process.kill()  # its workers go with it
                process.wait()

"""The first task file of docs/your_task.md, fifteen lines, and commands on it as people type them.

Its searches are killed and resumed: on two cores, on a scheduler started by hand, on Slurm.
"""

import os
import re
import signal
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from pangaea.study.stages import STAGES
from pangaea.study.study import Study
from tests.study.driving import until

DOCS = Path(__file__).parents[1] / "docs/your_task.md"
CANDIDATES = 16
SEARCH = (
    *("search", "--task", "my_task.py:task", "--candidates", str(CANDIDATES)),
    *("--population", "6", "--sample", "3", "--runs", "1"),
)


def written(folder: Path) -> Path:
    """A new folder with the file `my_task.py`."""
    block = re.search(r"^```python\n(# my_task\.py\n.*?)^```", DOCS.read_text(), re.S | re.M)
    assert block is not None
    lines = [line for line in block[1].splitlines() if line.strip() and line[0] != "#"]
    assert len(lines) <= 15
    folder.mkdir()
    (folder / "my_task.py").write_text(block[1])
    return folder


def pangaea(
    folder: Path, *words: str, environment: Mapping[str, str] = os.environ
) -> subprocess.Popen[str]:
    """A command that was begun there."""
    return subprocess.Popen(
        [sys.executable, "-c", "from pangaea.cli import main; main()", *words],
        cwd=folder,
        env={**environment, "COLUMNS": "120", "NO_COLOR": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def killed(process: subprocess.Popen[str], path: Path) -> None:
    """SIGKILL for the driver, in the middle of its search."""
    until(lambda: process.poll() is not None or _ended(path) >= CANDIDATES // 2, patience=240)
    assert process.poll() is None, process.communicate()[0]
    process.send_signal(signal.SIGKILL)
    process.communicate()
    assert _ended(path) < CANDIDATES


def _ended(path: Path) -> int:
    """How many runs have their result."""
    if not path.exists():
        return 0
    with Study.open(path) as study:
        return study.last


def finished(process: subprocess.Popen[str], path: Path) -> str:
    """What it said; every run that was asked for has one result, and none failed for the task."""
    said, _ = process.communicate(timeout=300)
    assert process.returncode == 0, said
    with Study.open(path) as study:
        assert study.pending([*STAGES]) == []
        assert [row["number"] for row in study.table()] == list(range(1, CANDIDATES + 1))
        assert len(study.runs("rerank")) == 2 * len(study.best(10))
        assert len({run["seed"] for run in study.runs()}) == len(study.runs())
        assert not {"exception", "no score", "worker killed"} & {*study.failures()}
    return said

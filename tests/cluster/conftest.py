from pathlib import Path

import pytest

from pangaea.workers import batch
from tests.cluster.commands import Commands


@pytest.fixture
def commands(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Commands:
    """Commands that are found, and a driver that looks at its jobs whenever it may."""
    made = Commands(tmp_path)
    monkeypatch.setenv("PATH", str(made.bin))
    monkeypatch.setattr(batch, "_LOOK_SECONDS", 0.0)
    return made

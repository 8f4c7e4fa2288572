"""The examples of docs/export.md, run one after another."""

import re
import shlex
from pathlib import Path

import pytest

from tests.test_cli import output, run

TEXT = (Path(__file__).parents[2] / "docs" / "export.md").read_text()


def test_the_python_examples_run() -> None:
    namespace: dict[str, object] = {}
    blocks = re.findall(r"```python\n(.*?)```", TEXT, re.DOTALL)
    assert len(blocks) == 3
    for block in blocks:
        exec(block, namespace)


def test_the_commands_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    commands = [
        shlex.split(c, comments=True) for c in re.findall(r"^    (pangaea .*)$", TEXT, re.M)
    ]
    assert len(commands) == 3
    for _, *arguments in commands:
        output(run(*arguments))
    assert {path.name for path in tmp_path.iterdir()} == {"loss_leader.py", "wrn_1.h"}

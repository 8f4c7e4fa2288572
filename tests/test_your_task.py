"""What docs/your_task.md tells people to write works, from the first block to the last."""

import re
from pathlib import Path
from typing import Any

import pytest

import pangaea as pg

TEXT = (Path(__file__).parents[1] / "docs/your_task.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```python\n(.*?)^```", TEXT, re.DOTALL | re.MULTILINE)
TINY = {"candidates": 2, "runs": 1, "rerank": False, "workers": 0}


def test_the_blocks_run_in_their_order(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    search, evaluate = pg.search, pg.evaluate

    def tiny(task: Any, **given: Any) -> Any:
        return search(task, **given | TINY)

    monkeypatch.setattr(pg, "search", tiny)
    monkeypatch.chdir(tmp_path)
    namespace: dict[str, Any] = {}
    for block in BLOCKS:
        if named := re.match(r"# (\w+\.py)\n", block):
            Path(named[1]).write_text(block)
        exec(compile(block, "docs/your_task.md", "exec"), namespace)
    printed = capsys.readouterr().out.split("\n")
    assert len(printed) == 4
    pg.parse(printed[0])
    assert float(printed[1]) > 0
    pg.parse(printed[2])
    assert evaluate("relu", "my_task.py:task", runs=1, epochs=1).mean is not None
    with pg.open_study("sine.study") as study:
        assert (study.goal.name, study.baseline) == ("squared error", "gelu(x)")
        assert len(study.table()) == 2


def test_the_first_block_is_no_longer_than_it_is_said_to_be() -> None:
    lines = [line for line in BLOCKS[0].splitlines() if line.strip() and not line.startswith("#")]
    assert len(lines) <= 15

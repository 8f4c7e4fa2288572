"""Everything that README and docs tell people to write works."""

import re
from collections import Counter
from pathlib import Path

import pytest

from tests.docs.blocks import EVERY, ROOT, Block, commands
from tests.docs.running import run_blocks, understood

REASONS = {
    "needs a GPU",
    "needs a batch system",
    "needs other machines",
    "needs the network",
    "needs root",
    "needs a browser",
    "needs another framework",
    "ends when it is told to",
    "takes minutes",
    "is one of our own",
}
EVERY_BLOCK = [block for blocks in EVERY.values() for block in blocks]


@pytest.mark.parametrize("page", EVERY, ids=lambda page: page.stem)
def test_the_blocks_of_a_page_run_in_their_order(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("results").symlink_to(ROOT / "results")  # as in a clone
    run_blocks(EVERY[page], monkeypatch)


def test_what_is_not_run_says_why() -> None:
    count = Counter((block.how, block.reason) for block in EVERY_BLOCK)
    for (how, reason), times in sorted(count.items()):
        print(f"{times:3} blocks {how}{reason and ': ' + reason}")
    assert {block.reason for block in EVERY_BLOCK if block.how == "not run"} <= REASONS
    run = [block for block in EVERY_BLOCK if block.how != "not run" and block.language != "text"]
    assert len(run) > len(EVERY_BLOCK) / 2


@pytest.mark.parametrize(
    ("wrong", "why"),
    [
        ("pangaea serch", "there is no command serch"),
        ("pangaea search --gpu all", "unknown: {'--gpu'}"),
        ("pangaea search --candidates many", "integer"),
        ("pangaea report", "Missing"),
        ("dask worker tcp://10.0.0.1:8786 --my-workers 8", "unknown: {'--my-workers'}"),
        ("make everything", "unknown: {'everything'}"),
    ],
)
def test_the_test_sees_a_command_that_does_not_exist(wrong: str, why: str) -> None:
    with pytest.raises(Exception, match=re.escape(why)):
        understood(commands(wrong)[0])


def test_the_test_sees_a_block_that_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for language, text in (("python", "1 / 0"), ("bash", "pangaea top none.file")):
        with pytest.raises((ZeroDivisionError, AssertionError)) as error:
            run_blocks([Block("page", 1, language, text)], monkeypatch)
        assert "in page:1" in error.value.__notes__[0]


def test_a_task_of_ones_own_takes_fifteen_lines() -> None:
    first = EVERY[ROOT / "docs" / "your_task.md"][0].text
    lines = [line for line in first.splitlines() if line.strip() and not line.startswith("#")]
    assert len(lines) <= 15

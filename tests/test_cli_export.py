"""`pangaea export`, as a person runs it."""

from pathlib import Path

import pytest

import pangaea as pg
from tests.test_cli import complaint, output, run


def test_export_prints_or_writes_what_python_gives(tmp_path: Path) -> None:
    expected = pg.export("wrn-1", to="torch", parameters={"alpha": 0.9})
    assert output(run("export", "wrn-1", "--to", "torch", "--alpha", "0.9")) == expected
    path = tmp_path / "new" / "wrn_1.py"
    assert str(path) in output(
        run("export", "wrn-1", "--to", "torch", "--alpha=0.9", "-o", str(path))
    )
    assert path.read_text() == expected


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("wrn-1", "--to", "pytorch"), "did you mean torch"),
        (("splash", "--to", "torch"), "learnable baseline"),
        (("relu", "--to", "c", "--alpha", "2"), "has no parameters"),
        (("wrn-1", "--to", "c", "--name", "a b"), "a name has letters"),
        (("wrn-1", "--to", "c", "-o", "/dev/null/f.h"), "cannot write /dev/null/f.h"),
        (("nonsense", "--to", "c"), "not a function"),
    ],
)
def test_a_mistake_is_answered_with_one_sentence(arguments: tuple[str, ...], sentence: str) -> None:
    assert sentence in complaint(run("export", *arguments))

"""`pangaea inspect` as a person runs it."""

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from pangaea.cli import main

CODE = """
import torch
from torch import nn
import torch.nn.functional as F

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv, self.head, self.act = nn.Conv2d(3, 6, 3), nn.Linear(6, 2), nn.GELU()
    def forward(self, x):
        return self.head(F.relu(self.act(self.conv(x)).mean([2, 3])))

class Wide(Net):
    def __init__(self, width):
        super().__init__()

def make_model():
    return Net()

def broken():
    return nn.Linear("a", 2)

def example():
    return torch.randn(2, 3, 8, 8)

number = 3
"""


@pytest.fixture
def inspect(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[..., tuple[int, str]]:
    (tmp_path / "mine.py").write_text(CODE)
    monkeypatch.chdir(tmp_path)

    def run(*arguments: str) -> tuple[int, str]:
        monkeypatch.setattr(sys, "argv", ["pangaea", "inspect", *arguments])
        with pytest.raises(SystemExit) as left:
            main()
        said = capsys.readouterr()
        return int(left.value.code or 0), said.out + said.err

    return run


@pytest.mark.parametrize("example", ["2,3,8,8", "2x3x8x8", "mine.py:example"])
def test_what_would_be_replaced_is_shown(
    inspect: Callable[..., tuple[int, str]], example: str
) -> None:
    code, text = inspect("mine.py:make_model", "--example", example)
    rows = [line.split() for line in text.splitlines()]
    assert code == 0
    assert rows[2] == ["act", "GELU", "channel", "6", "1"]
    assert rows[3][:4] == ["relu", "F.relu", "channel", "6"]


def test_which_function_and_scope_are_options(inspect: Callable[..., tuple[int, str]]) -> None:
    options = ("--which", "a*", "--function", "pswish", "--scope", "layer")
    code, text = inspect("mine.py:make_model", "--example", "2,3,8,8", *options)
    assert (code, "1 activation\n" in text, "not selected" in text) == (0, True, True)
    assert inspect("mine:Net", "--scope", "layer")[0] == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("mine.py:make_modl",), "did you mean make_model"),
        (
            ("mine.py:number",),
            "mine.py:number is no torch.nn.Module, nor a function that makes one, but of type int",
        ),
        (("nothing.py:x",), "there is no file nothing.py"),
        (("mine.py:broken",), "the code of mine.py:broken fails: TypeError"),
        (
            ("mine.py:Wide",),
            "fails: TypeError: Wide.__init__() missing 1 required positional argume",
        ),
        (("mine.py:make_model", "--example", "2,3"), "cannot be called with the example"),
        (("mine.py:make_model", "--example", "2,,3"), "an example is a shape such as 2,3,32,32"),
        (("mine.py:make_model", "--example", "99999,99999,999,999"), "does not fit into memory"),
        (("mine.py:make_model", "--example", f"{10**20},3"), "does not fit into memory"),
        (("mine.py:make_model", "--function", "relo"), "not a function"),
        (("mine.py:make_model", "--scope", "lay"), "no scope is called 'lay'"),
    ],
)
def test_mistakes_are_one_sentence(
    inspect: Callable[..., tuple[int, str]], arguments: tuple[str, ...], message: str
) -> None:
    code, text = inspect(*arguments)
    assert code == 2
    assert text.startswith("error: ")
    assert text.count("\n") == 1
    assert message in text
    assert "inspect.py" not in text

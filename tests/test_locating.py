"""Objects of the user's by where they stand, and what is said of mistakes there."""

import re
import sys
from pathlib import Path

import pytest
import torch

import pangaea as pg
from pangaea.errors import PangaeaError
from pangaea.locating import locate, signature


def written(folder: Path, text: str, name: str = "mine.py") -> str:
    path = folder / name
    path.write_text(text)
    return str(path)


def test_a_file_is_loaded_once_and_sees_its_neighbours(tmp_path: Path) -> None:
    written(tmp_path, "value = 3\n", "neighbour_of_mine.py")
    file = written(
        tmp_path,
        "import neighbour_of_mine\n"
        "class Things:\n    best = [neighbour_of_mine.value]\n"
        "thing = Things()\n",
    )
    assert locate(f"{file}:thing.best") == [3]
    assert locate(f"{file}:thing") is locate(f"{file}:thing")
    assert locate(f"{file}:Things").__module__.startswith("mine_")


def test_a_module_is_found_here_and_among_the_installed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    written(tmp_path, "value = 4\n", "module_of_mine.py")
    monkeypatch.chdir(tmp_path)
    assert locate("module_of_mine:value") == 4
    assert locate("pathlib:Path") is Path


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("mine.py", "names nothing: write file.py:name"),
        (":x", "names nothing"),
        ("nowhere/mine.py:x", "there is no file nowhere/mine.py"),
        ("no_such_module:x", "there is no module no_such_module"),
        ("pathlib:Pat", "did you mean Path"),
    ],
)
def test_what_is_not_there_is_one_sentence(text: str, message: str) -> None:
    with pytest.raises(PangaeaError, match=re.escape(message)) as caught:
        locate(text)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("code", "message"),
    [
        ("a = 1\nb = 1 / 0\n", "fails: ZeroDivisionError: division by zero (mine.py, line 2: b = "),
        ("import no_such_thing\n", "ModuleNotFoundError: No module named 'no_such_thing'"),
        ("def f(:\n", "mine.py is not Python: invalid syntax (mine.py, line 1: def f(:)"),
        ("import json\njson.loads('{')\n", "mine.py, line 2: json.loads"),
    ],
)
def test_errors_in_the_users_code_are_theirs_with_their_line(
    tmp_path: Path, code: str, message: str
) -> None:
    with pytest.raises(PangaeaError, match=re.escape(message)):
        locate(written(tmp_path, code) + ":x")


@pytest.mark.skipif(sys.version_info < (3, 14), reason="annotations are evaluated at once")
def test_annotations_for_type_checkers_alone_are_left_alone(tmp_path: Path) -> None:
    file = written(
        tmp_path,
        "from typing import TYPE_CHECKING\n"
        "from torch import nn\n"
        "if TYPE_CHECKING:\n    from torch import Tensor\n"
        "class Net(nn.Module):\n"
        "    def forward(self, x: Tensor) -> Tensor:\n"
        "        return x.relu() + 1\n",
    )
    net = locate(f"{file}:Net")
    assert [*signature(net.forward).parameters] == ["self", "x"]
    model, x = net(), torch.randn(3, 4)
    assert "replaced by" in str(pg.replace_activations(model, "swish", example=x))
    assert torch.allclose(model(x), torch.nn.functional.silu(x) + 1)

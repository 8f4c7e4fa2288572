"""`pangaea export`, as a person runs it."""

import json
from pathlib import Path

import pytest
import torch

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


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a small study, and the state dict of a model."""
    folder = tmp_path_factory.mktemp("files")
    small = {"candidates": 3, "budget": 1, "population": 2, "sample": 1, "workers": 0}
    brief = small | {"rounds": "1", "runs": 0}
    pg.search("mnist1d", study=folder / "a.study", seed=5, preset="smooth", **brief).close()
    torch.manual_seed(0)
    act = pg.Activation("wrn-1", shape=2)
    with torch.no_grad():
        act.alpha.copy_(torch.tensor([0.25, 0.5]))
    model = torch.nn.Sequential(torch.nn.Linear(2, 2), act)
    torch.save(model.state_dict(), folder / "model.pt")
    torch.save({"epoch": 3, "state_dict": model.state_dict()}, folder / "checkpoint.pt")
    torch.save([1, 2], folder / "list.pt")
    return folder


@pytest.mark.parametrize("name", ["model.pt", "checkpoint.pt"])
def test_a_state_dict_is_exported_with_its_values(files: Path, name: str) -> None:
    text = output(run("export", str(files / name), "--to", "json"))
    data = json.loads(text)
    assert data["canonical"] == str(pg.parse("wrn-1"))
    assert data["parameters"]["alpha"] == [0.25, 0.5]
    again = output(run("export", str(files / name), "--to", "json", "--layer", "1"))
    assert again == text


def test_a_candidate_of_a_study_is_exported_with_what_training_made_of_it(files: Path) -> None:
    file = str(files / "a.study")
    with pg.open_study(file) as study:
        row = next(row for row in study.best(3) if pg.parse(row["function"]).parameters)
        number = row["number"]
        mean, second = study.activation(number), study.activation(number, layer=2)
        expected = pg.export(mean, to="torch"), pg.export(second, to="torch")
    assert output(run("export", file, str(number), "--to", "torch")) == expected[0]
    assert output(run("export", file, str(number), "--to", "torch", "--layer", "2")) == expected[1]
    name = second.parameter_names[0]
    values = getattr(second, name)
    assert values.shape == (16,)  # each channel has its own
    assert len(values.unique()) > 1
    assert "alpha" in expected[0]


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("a.study", "99", "--to", "c"), "no candidate 99"),
        (("a.study", "--layer", "stem", "--to", "c"), "numbers from 1, got 'stem'"),
        (("model.pt", "--layer", "2", "--to", "c"), "numbered from 1 to 1, got 2"),
        (("list.pt", "--to", "c"), "holds a list, not a state dict"),
        (("nothing.study", "--to", "c"), "cannot be read"),
        (("text.txt", "--to", "c"), "is neither a study nor a state dict"),
    ],
)
def test_a_file_that_does_not_have_it_is_said(
    files: Path, arguments: tuple[str, ...], sentence: str
) -> None:
    (files / "text.txt").write_text("nothing")
    name, *more = arguments
    assert sentence in complaint(run("export", str(files / name), *more))


@pytest.mark.parametrize(
    "command",
    [
        ("export", "relu", "--to", "c", "-o"),
        ("show", "relu", "--png"),
        ("paper", "export", "--study", "a.study"),
    ],
)
def test_nothing_that_is_written_takes_the_place_of_a_study(
    files: Path, command: tuple[str, ...]
) -> None:
    study = files / "a.study"
    before = study.read_bytes()
    words = [str(files / word) if word == "a.study" else word for word in command]
    assert "is a study, which is not written over" in complaint(run(*words, str(study)))
    assert study.read_bytes() == before


def test_a_learnable_baseline_is_taken_along_with_where_it_starts() -> None:
    source = run("export", "prelu", "--to", "numpy").stdout
    assert "def prelu(x, alpha=0.25):" in source
    assert "alpha=0.5" in run("export", "prelu", "--to", "numpy", "--alpha", "0.5").stdout


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("wrn-1", "--to", "pytorch"), "did you mean torch"),
        (("relu", "--to", "c", "--alpha", "2"), "has no parameters"),
        (("wrn-1", "--to", "c", "--name", "a b"), "a name has letters"),
        (("wrn-1", "--to", "c", "-o", "/dev/null/f.h"), "cannot write /dev/null/f.h"),
        (("nonsense", "--to", "c"), "not a function"),
        (("wrn-1", "--to", "c", "--layer", "1"), "wrn-1 has no layers"),
    ],
)
def test_a_mistake_is_answered_with_one_sentence(arguments: tuple[str, ...], sentence: str) -> None:
    assert sentence in complaint(run("export", *arguments))

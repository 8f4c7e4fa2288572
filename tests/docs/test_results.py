"""What results/README.md says of the published files is true of them."""

import json
import re
from pathlib import Path

import pytest

from tests.docs.blocks import ROOT

RESULTS = ROOT / "results"
README = (RESULTS / "README.md").read_text()
ROWS = {
    name: row
    for row in re.findall(r"^\| \S+\.(?:json|csv).*$", README, re.MULTILINE)
    for name in re.findall(r"[\w.-]+\.(?:jsonl?|csv\.gz)", row.split("|")[1])
}
TRAININGS = [*RESULTS.glob("wrn-10-4-*.json"), *RESULTS.glob("*-short.json")]
TRAININGS += [RESULTS / "mnist1d.json", *RESULTS.glob("common-*.json")]
CURVES = ("loss", "training", "validation", "parameters")
TASKS = (ROOT / "docs" / "tasks.md").read_text()


def test_every_file_is_in_the_table() -> None:
    files = {path.name for path in RESULTS.iterdir()} - {"README.md"}
    assert files - ROWS.keys() == set()


@pytest.mark.parametrize("path", TRAININGS, ids=lambda path: path.stem)
def test_a_whole_training_has_its_circumstances_and_curves(path: Path) -> None:
    published = json.loads(path.read_text())
    for name in ("command", "device", "versions", "recipe"):
        assert published[name], name
    runs = [run for function in published["functions"] for run in function["runs"]]
    assert runs
    for run in runs:
        assert run.keys() >= {"seed", *CURVES}
        assert run["loss"]


@pytest.mark.parametrize("name", sorted(name for name in ROWS if name.endswith(".json")))
def test_the_command_stands_in_the_file_or_in_its_row(name: str) -> None:
    published = json.loads((RESULTS / name).read_text())
    assert "command" in published or "`benchmarks/" in ROWS[name] or "`pangaea " in ROWS[name]


@pytest.mark.parametrize(("place", "task"), [(2, "charlm"), (3, "pinn"), (4, "tabular")])
def test_the_table_of_common_functions_is_that_of_its_files(place: int, task: str) -> None:
    published = json.loads((RESULTS / f"common-{task}.json").read_text())
    digits = published["goal"]["digits"]
    table = TASKS.split("| function |")[1].split("\n\n")[0]
    cells = [line.split("|")[place].strip(" *") for line in table.splitlines()[2:]]
    scores = [
        f"{row['mean']:.{digits}f} ± {row['sd']:.{digits}f}".replace("-", "−")
        for row in published["functions"]
    ]
    assert [cell for cell in cells if cell] == scores

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
TRAININGS.append(RESULTS / "mnist1d.json")
CURVES = ("loss", "training", "validation", "parameters")


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

"""docs/paper_map.md names what exists, and leaves nothing out."""

import json
import re
from statistics import fmean, stdev
from typing import Any

import numpy as np
import pytest
from scipy.stats import spearmanr

from pangaea.paper import lines
from pangaea.paper.contents import experiments
from pangaea.paper.scales import SCALES
from pangaea.paper.standing import standings
from pangaea.tasks.variants import VARIANTS
from tests.study.driving import REPOSITORY

TEXT = (REPOSITORY / "docs" / "paper_map.md").read_text(encoding="utf-8")
CODE = re.findall(r"`([^`]+)`", re.sub(r"```.*?```", "", TEXT, flags=re.DOTALL))


def test_every_file_that_the_map_names_is_there() -> None:
    files = [text for text in CODE if re.fullmatch(r"[\w/]+\.(py|csv)", text)]
    assert len(files) > 40
    folders = [REPOSITORY / top for top in ("pangaea", "tests", "benchmarks")]
    for file in files:
        name = file.removeprefix("benchmarks/")
        assert any((top / name).exists() or [*top.rglob(name)] for top in folders), file


@pytest.mark.parametrize("name", experiments())
def test_the_map_has_every_experiment(name: str) -> None:
    assert re.search(rf"`{name}`|pangaea paper run {name}\b|paper show {name}\b", TEXT)


@pytest.mark.parametrize("variant", [*VARIANTS])
def test_the_map_has_every_other_choice(variant: str) -> None:
    if variant not in ("pau", "few"):
        assert f"/{variant}`" in TEXT or f"…/{variant}`" in TEXT


# What was found: every figure is of the file that its cell names.

RESULTS = REPOSITORY / "results"
FILES = sorted({text for text in CODE if re.fullmatch(r"[\w-]+\.jsonl?", text)})


def of(name: str) -> Any:
    return json.loads((RESULTS / name).read_text(encoding="utf-8"))


def found(file: str) -> str:
    """The cells that name a file."""
    cells = [
        cell for line in TEXT.splitlines() for cell in line.split(" | ") if f"`{file}`" in cell
    ]
    return " ".join(cells)


@pytest.mark.parametrize("file", FILES)
def test_every_published_file_that_the_map_names_is_there(file: str) -> None:
    assert (RESULTS / file).exists()


@pytest.mark.parametrize(
    ("name", "epochs"),
    [
        (name, epochs)
        for epochs in (15, 50)
        for name in (
            *("wrn-1", "wrn-2", "wrn-3", "general-1", "general-2", "general-3"),
            *("gelu", "swish", "relu", "child-6", "child-7"),
        )
    ],
)
def test_the_scores_of_short_trainings_are_those_of_the_runs(name: str, epochs: int) -> None:
    lines = (RESULTS / "rank-audit.jsonl").read_text(encoding="utf-8").splitlines()
    runs = [
        run
        for run in map(json.loads, lines)
        if (run["task"], run["name"], run["epochs"]) == ("wrn-10-4/cifar100", name, epochs)
    ]
    assert len(runs) == 2
    assert f"{fmean(run['score'] for run in runs):.2f}" in found("rank-audit.jsonl")


def test_the_other_figures_are_those_of_their_files() -> None:
    arms = of("strategies.json")["arms"]
    others = ("random-search:candidates=200", "nonparametric:candidates=200")
    for name in ("evolution", "thrifty", "choosy", *others):
        rows = [row["test"] for row in of("strategies.json")["rows"] if row["arm"] == name]
        assert len(rows) == arms[name]["searches"] == 16
        assert f"{fmean(rows):.1f} ± {stdev(rows):.1f}" in found("strategies.json")
    assert f"{arms['evolution']['optimism']:.1f} points below" in found("strategies.json")
    for net in ("all-cnn-c", "resnet-v1-56", "resnet-v2-56"):
        (run,) = of(f"{net}-short.json")["functions"][0]["runs"]
        assert f"{run['accuracy']:.2f}" in found(f"{net}-short.json")
    for file in ("training-speed.json", "training-speed-resnet-v1-56.json"):
        relu, other = (row["ours"] for row in of(file)["rows"][:2])
        assert f"{other / relu:.3f}" in found(file)
    assert f"{of('throughput.json')['candidates_per_hour']:.0f} candidates" in found(
        "throughput.json"
    )


def test_how_our_order_agrees_with_the_papers_is_as_the_cells_say() -> None:
    runs = lines.read(RESULTS / "paper.jsonl")
    rows = [row for row in standings(experiments()["telling"], runs, SCALES["paper"]) if row.scores]
    assert {row.cell.task for row in rows} == {"wrn-10-4/cifar100"}
    here = np.array([fmean(row.scores) for row in rows])
    paper = np.array([row.cell.printed.mean for row in rows if row.cell.printed])
    assert len(here) == len(paper) == 13
    main = {(cell.function, cell.task, cell.scope) for cell in experiments()["results"].cells}
    cells = [row.cell for row in rows]
    assert sum((cell.function, cell.task, cell.scope) in main for cell in cells) == 11
    assert "eleven cells, above" in found("paper.jsonl")
    drawn = np.random.default_rng(0).integers(13, size=(4000, 13))
    low, high = np.percentile([spearmanr(here[i], paper[i])[0] for i in drawn], (2.5, 97.5))
    agreed = spearmanr(here, paper)[0]
    assert f"agree by {agreed:.2f} (Spearman; 95% {low:.2f} to {high:.2f})" in TEXT


def test_every_difference_beyond_two_standard_errors_is_discussed() -> None:
    table, _, discussed = TEXT.partition("Differences beyond two standard errors (‡): ")
    apart = [line.split(" | ")[0].strip("| ") for line in table.splitlines() if "‡ |" in line]
    assert len(apart) == 3
    for function in apart:
        assert function in discussed.split(" come")[0]


def test_the_adaptation_is_that_of_the_published_runs() -> None:
    for run in of("wrn-10-4-a.json")["functions"][0]["runs"]:
        alpha, beta = (run["parameters"][name] for name in ("alpha", "beta"))
        assert {*alpha[0], *beta[0]} == {1.0}
        *first, last = alpha[-1]
        assert len(first) == 6
        assert all(0.3 <= round(value, 1) <= 0.8 for value in first)
        assert (round(last, 1), round(beta[-1][-1], 1)) in ((1.7, 3.7), (1.7, 3.8))

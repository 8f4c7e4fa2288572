"""`benchmarks/strategies.py`: what an arm is, and what its figures say."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

import pangaea as pg

REPOSITORY = Path(__file__).parents[1]
PUBLISHED = sorted(path.stem for path in (REPOSITORY / "results").glob("strategies*.json"))
sys.path.insert(0, str(REPOSITORY / "benchmarks"))

import strategies  # noqa: E402


def test_an_arm_is_a_strategy_with_settings_of_its_own() -> None:
    assert strategies.settings("evolution") == {"strategy": "evolution"}
    arm = "thrifty:candidates=100;budget=40"
    assert strategies.settings(arm) == {"strategy": "thrifty", "candidates": 100, "budget": 40}
    assert "/" not in strategies.stem(arm, 3)
    assert ":" not in strategies.stem(arm, 3)


def test_the_difference_of_two_arms_has_an_interval_around_it() -> None:
    rows = [
        {"arm": arm, "test": test, "optimism": 1.0, "units": 10, "candidates": 5}
        for arm, tests in {"one": (70, 71, 72), "other": (74, 75, 77)}.items()
        for test in tests
    ]
    report = strategies.report(rows)
    assert report["arms"]["one"]["test"] == pytest.approx(71)
    difference = report["differences"]["other - one"]
    low, high = difference["interval"]
    assert difference["difference"] == pytest.approx(4.333, abs=1e-3)
    assert 0 < low < difference["difference"] < high


@pytest.mark.parametrize("name", PUBLISHED)
def test_the_published_figures_are_those_of_the_published_rows(name: str) -> None:
    published = json.loads((REPOSITORY / f"results/{name}.json").read_text())
    figures = strategies.report(published["rows"])
    assert figures["arms"] == published["arms"]
    assert figures["differences"] == published["differences"]


@pytest.mark.parametrize("name", PUBLISHED)
def test_the_open_table_holds_the_runs_of_the_published_searches(name: str) -> None:
    published = json.loads((REPOSITORY / f"results/{name}.json").read_text())
    runs = pg.bench().where(task=published["rows"][-1]["task"])
    runs = runs[runs.stage != "baseline"]
    budgets: dict[str, list[int]] = {}
    for study, budget, failure in zip(runs.study, runs.budget, runs.failure, strict=True):
        # What was behind the others its search stopped after 3 epochs.
        budgets.setdefault(study, []).append(3 if failure == "behind" else int(budget))
    for row in published["rows"]:
        trained = budgets[strategies.stem(row["arm"], row["search"])]
        assert (len(trained), sum(trained)) == (row["runs"], row["units"])


def test_the_command_and_the_machine_are_those_of_the_rows() -> None:
    published = json.loads((REPOSITORY / "results/strategies-tabular-3.json").read_text())
    rows = published["rows"]
    assert strategies.command(rows) == published["command"]
    assert "--task tabular-3 --searches 16 --arms choosy:candidates=150 " in published["command"]
    assert strategies.hardware(rows) == published["hardware"]


def test_a_search_of_each_arm_is_tested_and_not_made_twice(tmp_path: Path) -> None:
    arms = [
        "random-search:candidates=2;budget=1;rerank=false",
        "evolution:candidates=2;budget=1;population=2;sample=1;rerank=false",
    ]
    command = [
        *(sys.executable, str(REPOSITORY / "benchmarks/strategies.py"), str(tmp_path)),
        *("--arms", *arms, "--searches", "1", "--processes", "1", "--epochs", "1"),
    ]
    subprocess.run(command, check=True, timeout=300, cwd=REPOSITORY)
    rows = [json.loads(path.read_text()) for path in tmp_path.glob("*.json")]
    assert {row["units"] for row in rows} == {2}
    assert all(len(row["tests"]) == strategies.TEST_RUNS for row in rows)
    before = {path: path.stat().st_mtime_ns for path in tmp_path.iterdir()}
    subprocess.run(command, check=True, timeout=300, cwd=REPOSITORY)
    assert {path: path.stat().st_mtime_ns for path in tmp_path.iterdir()} == before

"""What was killed in the middle goes on: long runs from their checkpoints, tasks of one's own."""

from pathlib import Path

import pytest

import pangaea as pg
from pangaea.study.study import Study
from tests.study.driving import Drivers, until

LONG = {"candidates": 1, "budget": 1, "rounds": "1,1", "runs": 0, "seed": 3}


@pytest.mark.parametrize("killed", ["the worker", "the driver"])
def test_a_long_run_goes_on_from_its_checkpoint(path: Path, drivers: Drivers, killed: str) -> None:
    notes = path.with_name("notes")
    notes.mkdir()

    def start() -> str:
        place = {"workers": 1 if killed == "the worker" else 0}
        driver = drivers.start(path, "dying_once", str(notes), "rerank", 0.5, **LONG, **place)
        until(lambda: not driver.alive, patience=240)
        return driver.end() if driver.outcome.exists() else "killed"

    ends = [start()]
    if killed == "the driver":
        assert path.with_name("a.study.checkpoints").exists()
        ends.append(start())
    assert ends == (["done"] if killed == "the worker" else ["killed", "done"])
    with Study.open(path) as study:
        first, second = study.runs("rerank")
    begun = {
        run["run"]: [float(share) for share in (notes / f"run-{run['run']}").read_text().split()]
        for run in (first, second)
    }
    (interrupted,) = (run for run in (first, second) if len(begun[run["run"]]) == 2)
    assert begun[interrupted["run"]][0] == 0.0
    assert 0.1 < begun[interrupted["run"]][1] <= 0.52  # what was done was not done again
    (whole,) = (run for run in (first, second) if len(begun[run["run"]]) == 1)
    assert begun[whole["run"]] == [0.0]
    assert not path.with_name("a.study.checkpoints").exists()
    assert None not in (first["score"], second["score"])


HELPER = """
import time

def distance(values, wanted):
    time.sleep(0.05)
    return (values - wanted).square().mean().item()
"""
TASK = """
import pangaea as pg
import torch
from their_helper import distance

def train(activation, budget, seed):
    x = torch.linspace(-2, 2, 32).unsqueeze(1)
    return distance(activation(shape=1)(x), x.abs())

budgets = {"search": 1, "full": 2}
task = pg.Task("mine", train, goal=pg.minimize("distance"), budgets=budgets)
"""


def test_a_task_in_a_file_goes_on_from_another_folder(
    tmp_path: Path, path: Path, drivers: Drivers, monkeypatch: pytest.MonkeyPatch
) -> None:
    theirs = tmp_path / "theirs"
    theirs.mkdir()
    (theirs / "their_helper.py").write_text(HELPER)
    (theirs / "my_task.py").write_text(TASK)
    given = {"candidates": 40, "population": 5, "sample": 3, "runs": 1}
    driver = drivers.start(
        path, "real", task="my_task.py:task", folder=str(theirs), workers=2, **given
    )
    until(lambda: not driver.alive or (path.exists() and len(Study.open(path).trials()) >= 10))
    assert driver.alive, driver.end()
    driver.kill()
    with Study.open(path) as study:
        assert 10 <= len(study.trials()) < 40
        assert study.settings.task == f"{theirs}/my_task.py:task"
    monkeypatch.chdir(tmp_path)
    with pg.resume(path, workers=0) as study:
        rows, best = study.table(), study.best(1)[0]
        assert [row["number"] for row in rows] == list(range(1, 41))
        assert best["score"] == min(row["score"] for row in rows if row["score"] is not None)
        assert best["score"] < study.baseline_score
        oriented = {trial.number: trial.score for trial in study.trials()}
        assert all(oriented[r["number"]] == -r["score"] for r in rows if r["score"] is not None)
        workers = {row["worker"] for row in rows}
    assert len(workers) == 3

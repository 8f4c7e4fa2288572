"""The tasks and what they take here: measured once, then read without torch in a moment."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from pangaea.tasks import finding, overview
from pangaea.tasks.goal import minimize
from pangaea.tasks.own import OwnTask

OWN = OwnTask(
    "mine",
    lambda activation, budget, seed: 1.0,
    goal=minimize("loss"),
    budgets={"search": 5, "full": 50},
    unit="steps",
)


@pytest.fixture
def two(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Two tasks, and a cache that is empty."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(finding, "tasks", lambda: ("mnist1d", "resnet-v1-8/cifar10"))


@pytest.mark.usefixtures("two")
def test_rows_tell_parameters_cost_and_time() -> None:
    said: list[str] = []
    small, image = overview.rows(said.append)
    assert len(said) == 1
    assert json.loads(json.dumps([small, image])) == [small, image]
    task: Any = finding.task("mnist1d")
    assert (small["task"], small["goal"], small["unit"]) == ("mnist1d", "accuracy (%)", "epochs")
    assert small["parameters"] == sum(p.numel() for p in task.build("relu").parameters())
    # Three multiplications in training for one in use, for 1,000 samples and 40 epochs.
    assert small["full_cost"] == 2 * small["search_cost"] == 3 * task.multiplications * 1000 * 40
    assert small["samples"] == [1000, 2000, 6000]
    assert (image["search_budget"], image["full_budget"]) == (100, 200)
    for row in (small, image):
        assert row["full_seconds"] == pytest.approx(2 * row["search_seconds"])
    assert 0.1 < small["search_seconds"] < image["search_seconds"] / 10
    assert overview.rows(said.append) == [small, image]
    assert len(said) == 1  # which was measured once


@pytest.mark.usefixtures("two")
def test_it_is_measured_again_where_data_has_come(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(overview, "_seconds", lambda task: 1.0)
    data = tmp_path / "data"
    data.mkdir()
    monkeypatch.setenv("PANGAEA_DATA", str(data))
    said: list[str] = []
    for _ in range(2):
        overview.rows(said.append)
    assert len(said) == 1
    (data / "cifar-10-batches-bin").mkdir()
    overview.rows(said.append)
    assert len(said) == 2


def test_a_cache_that_cannot_be_written_is_no_obstacle(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "pangaea").write_text("a file")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(finding, "tasks", lambda: ("mine",))
    monkeypatch.setattr(finding, "task", lambda name: OWN)
    (row,) = overview.rows(lambda text: None)
    assert (row["parameters"], row["full_cost"], row["data_here"]) == (None, None, None)
    assert row["search_seconds"] is None


def test_a_task_that_tells_how_far_it_is_is_measured_from_its_beginning() -> None:
    each = overview._begun(finding.task("tabular"), "cpu")
    assert each is not None
    assert 0.005 < each < 60


@pytest.mark.usefixtures("two")
def test_what_is_known_is_read_without_torch(tmp_path: Path) -> None:
    overview.rows(lambda text: None)
    program = (
        "import sys; from pangaea.tasks import overview\n"
        "print(len(overview.rows(print)), 'torch' in sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        env=os.environ | {"XDG_CACHE_HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.stdout == "2 False\n", done.stderr

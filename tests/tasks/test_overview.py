"""The tasks and what they take here: told without torch, from a table and from the runs here."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import pangaea as pg
from pangaea.tasks import overview
from pangaea.training.how import How
from pangaea.training.result import TrainingResult
from pangaea.workers.judge import Job, judge


@pytest.fixture(autouse=True)
def cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A machine without a GPU on which nothing was run yet."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    return tmp_path


def row(task: str) -> dict[str, Any]:
    return next(row for row in overview.rows() if row["task"] == task)


def ran(task: str, seconds: float, **changes: Any) -> None:
    """As if the baseline had been trained here in so many seconds for a unit of budget."""
    on = pg.task(task)
    budget = on.budgets["full"]
    about: dict[str, Any] = {
        "task": task,
        "function": on.baseline,
        "scope": None,
        "budget": budget,
        "seed": 0,
        "part": "test",
        "score": 50.0,
        "seconds": seconds * budget,
    }
    overview.remember(on, TrainingResult(**about | changes))


def test_the_table_says_of_every_task_what_the_code_does() -> None:
    """Where it does not any more: `python benchmarks/tasks.py MACHINE TASK`."""
    table = json.loads(overview.TABLE.read_text(encoding="utf-8"))
    if table["modules"] == overview.modules():  # otherwise the tasks themselves are asked
        assert [row["task"] for row in table["tasks"]] == [*pg.tasks()]
    for row in table["tasks"]:
        assert row.pop("seconds")["cpu"] > 0
        assert row == overview.described(pg.task(row["task"]))


def test_rows_tell_parameters_cost_and_time() -> None:
    rows = overview.rows()
    assert json.loads(json.dumps(rows)) == rows
    small, image = row("mnist1d"), row("resnet-v1-20/cifar10")
    task: Any = pg.task("mnist1d")
    assert (small["goal"], small["unit"], small["baseline"]) == (
        "accuracy (%)",
        "epochs",
        "relu(x)",
    )
    assert small["parameters"] == sum(p.numel() for p in task.build("relu").parameters())
    # Three multiplications in training for one in use, for 1,000 samples and 40 epochs.
    assert small["full_cost"] == 2 * small["search_cost"] == 3 * task.multiplications * 1000 * 40
    assert (image["search_budget"], image["full_budget"]) == (100, 200)
    for each in (small, image):
        assert each["full_seconds"] == pytest.approx(2 * each["search_seconds"])
        assert each["seconds_from"].startswith("one core of ")
    assert 0.1 < small["search_seconds"] < image["search_seconds"] / 10
    assert not {"files", "fast_on_gpu", "seconds"} & small.keys()


def test_what_ran_here_goes_before_the_table_and_scales_the_others() -> None:
    before = {row["task"]: row["search_seconds"] for row in overview.rows()}
    ran("mnist1d", 3 * before["mnist1d"] / 20)
    after = {row["task"]: row for row in overview.rows()}
    assert after["mnist1d"]["seconds_from"] == overview.HERE
    for task, seconds in before.items():
        assert after[task]["search_seconds"] == pytest.approx(3 * seconds)
    assert after["pinn"]["seconds_from"].endswith(", times 3 as runs here have shown")
    ran("mnist1d", before["mnist1d"] / 20)
    assert row("mnist1d")["search_seconds"] == pytest.approx(before["mnist1d"])


@pytest.mark.parametrize(
    "changes",
    [
        {"score": None, "failure": "diverged"},
        {"function": "tanh(x)"},
        {"budget": 19},
        {"device": "NVIDIA H200"},  # which this machine has not
    ],
)
def test_only_whole_runs_of_the_baseline_are_remembered(changes: dict[str, Any]) -> None:
    before = overview.rows()
    ran("mnist1d", 60.0, **changes)
    assert overview.rows() == before


def test_a_gpu_has_figures_of_its_own(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "nvidia-smi").touch(mode=0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES")
    assert row("wrn-10-4/cifar100")["seconds_from"] == "an NVIDIA H200"
    assert 30 < row("wrn-10-4/cifar100")["search_seconds"] < 60
    assert row("mnist1d")["seconds_from"].startswith("one core of ")  # where it is faster
    unknown = row("wrn-16-8/cifar10")
    assert (unknown["search_seconds"], unknown["seconds_from"]) == (None, None)
    ran("wrn-16-8/cifar10", 4.0, device="NVIDIA H200")
    assert row("wrn-16-8/cifar10")["full_seconds"] == 800.0


def test_a_run_of_a_search_is_remembered() -> None:
    job = Job(
        run=0,
        stage="baseline",
        task="tabular",
        function=pg.task("tabular").baseline,
        scope=None,
        budget=20,
        seed=0,
        part="validation",
        limit=None,
        how=How(),
        checkpoints="",
    )
    result = judge(job)
    assert row("tabular")["search_seconds"] == pytest.approx(result["seconds"])


def test_data_that_has_come_is_seen(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PANGAEA_DATA", str(tmp_path))
    assert [row(task)["data_here"] for task in ("mnist1d", "pinn")] == [True, None]
    assert not row("wrn-10-4/cifar100")["data_here"]
    folder = tmp_path / "cifar-100-binary"
    folder.mkdir()
    for name in ("train.bin", "test.bin"):
        (folder / name).touch()
    assert row("wrn-10-4/cifar100")["data_here"]
    assert not row("wrn-10-4/cifar10")["data_here"]


def test_a_cache_that_cannot_be_used_is_no_obstacle(cache: Path) -> None:
    (cache / "pangaea").write_text("a file")
    before = overview.rows()
    ran("mnist1d", 60.0)
    assert overview.rows() == before


def test_a_damaged_memory_is_passed_over(cache: Path) -> None:
    before = overview.rows()
    ran("mnist1d", 60.0)
    (remembered,) = cache.rglob("mnist1d.json")
    remembered.write_text("sixty")
    assert overview.rows() == before


def test_nobody_waits_for_torch_or_numpy() -> None:
    program = (
        "import sys; from pangaea.cli import main; sys.argv = ['pangaea', 'tasks']\n"
        "try:\n    main()\n"
        "finally:\n    print({'torch', 'numpy'} & {*sys.modules}, file=sys.stderr)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=60
    )
    assert done.stderr.splitlines()[-1] == "set()", done.stderr
    assert len(done.stdout.splitlines()) > len(pg.tasks())

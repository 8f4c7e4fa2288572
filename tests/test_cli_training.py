"""`pangaea evaluate` as a person runs it, interrupts it and goes on."""

import json
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from pangaea.cli import main
from pangaea.errors import PangaeaError
from pangaea.study.evaluation import Comparison
from pangaea.study.runner import Runner
from pangaea.workers.judge import Job, Result
from pangaea.workers.place import Place
from tests.study.judges import failing, instant

Captured = pytest.CaptureFixture[str]
Run = Callable[..., int]


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Run:
    """Run a command with another judge, in this process; gives its exit code."""
    monkeypatch.chdir(tmp_path)
    real = Comparison.run

    def run(judge: Callable[[Job], Result], *arguments: str) -> int:
        monkeypatch.setattr(
            Comparison,
            "run",
            lambda self, place, how, folder, watch: real(
                self, Place(workers=0), how, folder, watch, judge
            ),
        )
        monkeypatch.setattr(sys, "argv", ["pangaea", *arguments])
        with pytest.raises(SystemExit) as left:
            main()
        assert isinstance(left.value.code, int)
        return left.value.code

    return run


def test_an_interrupted_evaluation_shows_what_is_finished_and_how_to_go_on(
    run: Run, tmp_path: Path, capsys: Captured
) -> None:
    seen: list[Job] = []

    def dying(job: Job) -> Result:
        if len(seen) == 5:
            raise KeyboardInterrupt
        seen.append(job)
        return instant(job)

    command = ("evaluate", "relu", "max(x, tanh(x))", "--runs", "4", "--workers", "2")
    assert run(dying, *command) == 130
    shown = capsys.readouterr()
    table = [line.split() for line in shown.out.splitlines()[:3]]
    assert [line[0] for line in table] == ["function", "relu(x)", "max(x,"]
    assert table[1][-3:-1] == ["4", "0"]
    assert "stopped after 5 of 8 runs, which are kept in evaluation-runs. To go on:" in shown.err
    again = (
        "pangaea evaluate relu 'max(x, tanh(x))' --runs 4 --workers 2 --checkpoints evaluation-runs"
    )
    assert again in shown.err
    assert run(instant, *command, "--checkpoints", "evaluation-runs", "--json") == 0
    rows = json.loads(capsys.readouterr().out)
    assert [row["n"] for row in rows] == [4, 4]
    assert [*tmp_path.iterdir()] == [tmp_path / "evaluation-runs"]


def test_an_evaluation_that_an_error_ends_keeps_its_runs_too(
    run: Run, tmp_path: Path, capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    def breaking(_: Runner) -> None:
        raise PangaeaError("the cluster is gone")

    monkeypatch.setattr(Runner, "clear", breaking)
    assert run(instant, "evaluate", "relu", "--runs", "4", "--workers", "2") == 2
    shown = capsys.readouterr()
    assert shown.out.startswith("function")
    assert "stopped after 4 of 4 runs, which are kept in evaluation-runs. To go on:" in shown.err
    assert shown.err.endswith("error: the cluster is gone\n")
    assert (tmp_path / "evaluation-runs").is_dir()


def test_an_evaluation_that_ends_leaves_nothing(run: Run, tmp_path: Path, capsys: Captured) -> None:
    assert run(instant, "evaluate", "swish", "--against", "relu", "--workers", "1") == 0
    assert "p: one-tailed Welch t-test against relu(x)" in capsys.readouterr().out
    assert [*tmp_path.iterdir()] == []


def test_what_went_wrong_is_said_below_the_table(run: Run, capsys: Captured) -> None:
    assert run(partial(failing, "exception"), "evaluate", "relu", "--workers", "1") == 0
    shown = capsys.readouterr().out
    assert "10 (exception)" in shown
    assert "relu(x): so it goes" in shown


@pytest.mark.parametrize("runs", ["1", "2"])
def test_a_folder_that_cannot_be_written_is_said_before_anything_is_trained(
    run: Run, tmp_path: Path, capsys: Captured, runs: str
) -> None:
    (tmp_path / "file").touch()
    where = ("--checkpoints", "file/inside", "--task", "wrn-10-4/cifar100")
    assert run(instant, "evaluate", "relu", "--runs", runs, *where) == 2
    assert "error: no checkpoints can be kept in file/inside: Not a" in capsys.readouterr().err

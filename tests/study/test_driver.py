"""Searches from Python: resumed to the same end, stopped by signals, told to callbacks."""

import os
import signal
import subprocess
import sys
import time
from functools import partial
from pathlib import Path
from typing import Any

import psutil
import pytest
import torch

import pangaea as pg
from pangaea.errors import PangaeaError, UnknownNameError
from pangaea.study.driver import free_name, resume, search
from pangaea.study.stages import PROPOSED
from pangaea.study.study import Study
from pangaea.testing.judges import instant, raising
from pangaea.training import train
from tests.study.driving import REPOSITORY, Drivers, until
from tests.study.engines import Noting
from tests.study.judges import failing_candidates
from tests.study.making import searched

SMALL = {"population": 5, "sample": 3, "rerank": False, "runs": 0}
SAME = ("number", "function", "parent", "mutation", "seed", "budget", "score", "failure")


def table(path: Path) -> list[tuple[Any, ...]]:
    with Study.open(path) as study:
        return [tuple(row[name] for name in SAME) for row in study.table()]


def done(path: Path) -> int:
    if not path.exists():
        return 0
    with Study.open(path) as study:
        return len(study.trials())


def half(path: Path, drivers: Drivers, results: int, *how: Any, **given: Any) -> None:
    """A search whose driver is killed when it has so many results."""
    driver = drivers.start(path, *how, **given)
    until(lambda: done(path) >= results)
    driver.kill()
    assert results <= done(path) < given["candidates"]


@pytest.mark.parametrize("workers", [0, 1])
def test_fifty_candidates_are_twenty_five_and_a_kill_and_twenty_five(
    tmp_path: Path, drivers: Drivers, workers: int
) -> None:
    whole, parts = tmp_path / "whole.study", tmp_path / "parts.study"
    searched(whole, candidates=50, **SMALL)
    half(parts, drivers, 25, "napping", 0.005, candidates=50, workers=workers, **SMALL)
    assert drivers.start(parts, "instant", workers=workers).end() == "done"
    assert table(parts) == table(whole)


def test_real_training_resumes_to_the_same_search(tmp_path: Path, drivers: Drivers) -> None:
    whole, parts = tmp_path / "whole.study", tmp_path / "parts.study"
    given = SMALL | {"candidates": 6, "workers": 0, "budget": 1, "population": 2, "threshold": 0.0}
    assert drivers.start(whole, "real", **given).end() == "done"
    half(parts, drivers, 3, "real", **given)
    assert drivers.start(parts, "real", workers=0).end() == "done"
    assert table(parts) == table(whole)
    assert len({row[6] for row in table(whole)}) > 2  # the scores, which are not all the same


def test_resuming_a_finished_study_does_nothing_and_at_once(path: Path) -> None:
    searched(path, candidates=30, runs=2)
    before = table(path)
    began = time.monotonic()
    resume(path, workers=0, judge=raising).close()
    assert time.monotonic() - began < 10
    assert table(path) == before


def test_a_finished_study_goes_on_to_more_candidates(tmp_path: Path) -> None:
    whole, longer = tmp_path / "whole.study", tmp_path / "longer.study"
    searched(whole, candidates=50, **SMALL)
    searched(longer, candidates=30, **SMALL)
    resume(longer, workers=0, judge=instant, candidates=50).close()
    assert table(longer) == table(whole)
    with Study.open(longer) as study:
        assert study.settings.candidates == 50


def test_a_study_that_goes_on_tests_what_is_best_in_the_end(path: Path) -> None:
    searched(path, candidates=20, runs=2)
    with resume(path, workers=0, judge=instant, candidates=60, runs=3, against="swish") as study:
        scores, best = study.scores("test"), [row["function"] for row in study.best(3)]
    assert {len(scores[text]) for text in ("relu(x)", "swish(x)", *best)} == {3}


def test_a_search_may_end_where_it_is_but_not_before(path: Path, drivers: Drivers) -> None:
    half(path, drivers, 10, "napping", 0.02, candidates=200, workers=0, **SMALL)
    with Study.open(path) as study:
        asked = study.asked(PROPOSED)
    with pytest.raises(PangaeaError, match=rf"has tried {asked} candidates.*got {asked - 1}"):
        resume(path, workers=0, judge=instant, candidates=asked - 1)
    resume(path, workers=0, judge=instant, candidates=asked).close()
    assert done(path) == asked


def test_what_would_spoil_a_study_cannot_change(path: Path) -> None:
    searched(path)
    with pytest.raises(PangaeaError, match=r"seed cannot change .* candidates, .* can"):
        resume(path, workers=0, judge=raising, seed=3)
    with pytest.raises(TypeError, match="unexpected keyword argument 'candidate'"):
        resume(path, workers=0, judge=raising, candidate=3)


def test_the_callback_is_told_each_result_in_a_row(path: Path) -> None:
    rows: list[dict[str, Any]] = []
    searched(path, candidates=5, runs=2, rounds="10,10", callback=rows.append)
    stages = [row["stage"] for row in rows]
    assert stages == ["baseline"] * 3 + ["search"] * 5 + ["rerank"] * 10 + ["test"] * 8
    assert [row["number"] for row in rows if row["stage"] == "search"] == [1, 2, 3, 4, 5]
    assert {"run", "function", "budget", "seed", "score", "seconds", "worker"} <= rows[0].keys()
    with Study.open(path) as study:
        assert [row["score"] for row in rows if row["stage"] == "search"] == [
            row["score"] for row in study.table()
        ]


def test_a_result_is_printed_in_a_line(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    searched(path, candidates=2, runs=0, rerank=False, callback=print)
    lines = capsys.readouterr().out.splitlines()
    with Study.open(path) as study:
        rows, goal = study.table(), study.goal
    assert len(lines) == 5
    assert lines[0].startswith("baseline: ")
    assert lines[3:] == [
        f"search #{row['number']}: {goal.shown(row['score'])}  {row['function']}" for row in rows
    ]


def test_a_failure_is_printed_with_its_reason(
    path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    judge = partial(failing_candidates, "diverged")
    searched(path, candidates=2, runs=0, rerank=False, callback=print, judge=judge)
    *_, first, second = capsys.readouterr().out.splitlines()
    assert first.startswith("search #1: failed: diverged  ")
    assert second.startswith("search #2: failed: diverged  ")


def test_a_callback_that_fails_stops_the_search_and_loses_nothing(path: Path) -> None:
    def angry(row: dict[str, Any]) -> None:
        if row["number"] == 3:
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        searched(path, callback=angry)
    assert done(path) == 3
    resume(path, workers=0, judge=instant).close()
    assert done(path) == 6


def test_a_search_returns_its_study_to_look_at(path: Path) -> None:
    study = pg.search("mnist1d", study=path, candidates=4, workers=0, runs=1, judge=instant)
    assert isinstance(study, pg.Study)
    assert [row["number"] for row in study.table()] == [1, 2, 3, 4]
    assert study.task["budgets"]["search"] < study.task["budgets"]["full"]
    assert study.task["recipe"]["epochs"] == study.task["budgets"]["full"]
    assert Study.resume(path).close() is None  # nobody holds it
    assert [row["number"] for row in pg.open_study(path).best(2)] == [
        row["number"] for row in study.best(2)
    ]


@pytest.mark.parametrize("name", ["budget", "epochs"])
def test_a_budget_is_of_the_search_and_may_be_called_epochs(path: Path, name: str) -> None:
    how = {"candidates": 1, "runs": 1, "workers": 0, "judge": instant, name: 3}
    with search("mnist1d", study=path, **how) as study:
        full = study.task["budgets"]["full"]
        budgets = {(row["stage"], row["budget"]) for row in study.runs()}
    assert full > 3
    assert budgets == {("baseline", 3), ("search", 3), ("rerank", full), ("test", full)}


def test_precision_and_time_limit_reach_every_run(path: Path) -> None:
    judge = Noting()
    searched(path, candidates=2, budget=5, precision="bf16", timeout=10.0, judge=judge)
    assert {job.how.precision for job in judge.jobs} == {"bf16"}
    assert {job.stage for job in judge.jobs} == {"baseline", "search", "rerank", "test"}
    assert {job.limit / job.budget for job in judge.jobs if job.limit} == {2.0}


def test_precision_reaches_the_network(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    dtypes, training = [], train.Training

    def noting(*args: Any, dtype: torch.dtype, **more: Any) -> Any:
        dtypes.append(dtype)
        return training(*args, dtype=dtype, **more)

    monkeypatch.setattr(train, "Training", noting)
    given = {"candidates": 1, "rerank": False, "runs": 0, "workers": 0, "budget": 1}
    search("mnist1d", study=path, precision="bf16", **given).close()
    assert dtypes == [torch.bfloat16] * 4


def test_rounds_longer_than_the_full_budget_are_refused_when_a_study_goes_on(path: Path) -> None:
    search("mnist1d", study=path, judge=instant, workers=0, candidates=3, **SMALL).close()
    before = path.read_bytes()
    with pytest.raises(PangaeaError, match="mnist1d trains for 40 epochs at most, got 41"):
        resume(path, judge=instant, workers=0, rerank=True, rounds="2@41")
    assert path.read_bytes() == before


def test_what_is_wrong_is_said_before_anything_is_made(path: Path) -> None:
    with pytest.raises(UnknownNameError, match="did you mean mnist1d"):
        search("mnist-1d", study=path, workers=0, judge=instant)
    with pytest.raises(UnknownNameError, match="did you mean candidates"):
        search(study=path, workers=0, judge=instant, candidate=3)
    with pytest.raises(PangaeaError, match="workers must be at least 0"):
        search(study=path, workers=-1, judge=instant)
    with pytest.raises(PangaeaError, match="the settings file"):
        search(study=path, settings_file="none.toml", workers=0, judge=instant)
    assert [*path.parent.iterdir()] == []


def test_a_study_without_a_name_gets_one_that_is_free(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert str(free_name("wrn-10-4/cifar100")) == "wrn-10-4-cifar100.study"
    for name in ("mnist1d.study", "mnist1d-2.study"):
        with search(candidates=1, runs=0, workers=0, judge=instant) as study:
            assert str(study.path) == name
            assert study.settings.task == "mnist1d"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_stops_a_search_when_what_runs_is_done(
    path: Path, drivers: Drivers, number: int
) -> None:
    driver = drivers.start(path, "napping", 0.3, candidates=12, workers=2, **SMALL)
    until(lambda: done(path) >= 2)
    driver.send(number)
    assert driver.end() == "KeyboardInterrupt: "
    with Study.open(path) as study:
        assert study.pending(PROPOSED) == []
        assert 2 < study.proposed() <= 6
    assert drivers.start(path, "instant", workers=0).end() == "done"
    assert [row[0] for row in table(path)] == list(range(1, 13))


def test_a_second_signal_stops_it_at_once(path: Path, drivers: Drivers) -> None:
    driver = drivers.start(path, "holding", candidates=12, workers=2, **SMALL)
    until(lambda: path.exists() and len(Study.open(path).pending(PROPOSED)) == 2)
    workers = psutil.Process(driver.pid).children(recursive=True)
    driver.send(signal.SIGINT)
    time.sleep(0.5)
    assert driver.alive
    driver.send(signal.SIGINT)
    assert until(lambda: not driver.alive) < 20
    assert driver.end() == "KeyboardInterrupt: "
    until(lambda: not any(process.is_running() for process in workers))
    with Study.open(path) as study:
        assert (len(study.pending(PROPOSED)), study.trials()) == (2, [])


SCRIPT = """
import os, sys
import pangaea as pg
from tests.study.judges import instant
print("begun", os.getpid(), flush=True)
study = pg.search("mnist1d", study=sys.argv[1], candidates=10, workers=2, runs=0, judge=instant,
                  callback=lambda row: print(row["stage"], __file__, flush=True))
print(len(study.table()), __file__)
"""


def test_a_plain_script_without_a_guard_searches_once(path: Path) -> None:
    script = path.with_name("script.py")
    script.write_text(SCRIPT)
    said = subprocess.run(
        [sys.executable, script, path],
        cwd=REPOSITORY,
        env=os.environ | {"PYTHONPATH": str(REPOSITORY)},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert (said.returncode, said.stderr) == (0, "")
    lines = said.stdout.splitlines()
    assert sum(line.startswith("begun") for line in lines) == 1
    assert lines[-1] == f"10 {script}"
    assert sum(line.startswith("search ") for line in lines) == 10

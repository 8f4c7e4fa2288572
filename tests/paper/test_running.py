"""Experiments are run, stopped, killed and gone on with; nothing is lost and nothing done twice."""

import json
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pangaea.errors import PangaeaError
from pangaea.paper import adding, lines, watching
from pangaea.paper.running import run
from pangaea.study import driver
from pangaea.study.study import Study
from pangaea.workers.judge import Job, Result, failed
from tests.study.driving import REPOSITORY, until
from tests.study.judges import instant

pytestmark = pytest.mark.usefixtures("unprepared")


def runs_of(path: Path) -> list[dict[str, object]]:
    with Study.open(path) as study:
        return study.runs("paper")


def test_a_table_is_run_once_and_then_it_is_there(path: Path) -> None:
    outcome = run("prelu_lcn", study=path, scale="lab", workers=0, judge=instant)
    assert (outcome.done, outcome.total, outcome.in_time) == (27, 27, True)
    budgets = {(row["task"], row["budget"], row["part"]) for row in runs_of(path)}
    assert ("wrn-10-4/cifar100", 50, "test") in budgets
    run("prelu_lcn", study=path, scale="lab", workers=0, judge=_never)
    assert len(runs_of(path)) == 27


def _never(job: Job) -> Result:
    raise AssertionError("nothing is left to do")


def test_only_what_is_missing_is_run(path: Path) -> None:
    run("prelu_lcn", study=path, scale="lab", runs=1, workers=0, judge=instant)
    before = {(row["run"], row["score"]) for row in runs_of(path)}
    outcome = run("prelu_lcn", study=path, scale="lab", runs=2, workers=0, judge=instant)
    assert (outcome.done, outcome.total) == (18, 18)
    assert before < {(row["run"], row["score"]) for row in runs_of(path)}
    run("results", study=path, scale="lab", runs=2, only=["prelu"], workers=0, judge=_never)


def test_only_some_cells(path: Path) -> None:
    run("results", study=path, scale="lab", only=["resnet-v1-1"], workers=0, judge=instant)
    assert Counter(row["task"] for row in runs_of(path)) == {
        "wrn-10-4/cifar100": 3,
        "resnet-v1-56/cifar100": 3,
        "resnet-v2-56/cifar100": 3,
    }
    run("results", study=path, scale="lab", runs=1, only=["wrn-1"], workers=0, judge=instant)
    functions = {row["function"] for row in runs_of(path)}  # not all that is on wrn-10-4
    assert len(functions) == 2
    before = len(runs_of(path))
    only = ["relu", "wrn-10-4", "resnet-v1-56"]  # on either of the two
    run("results", study=path, scale="lab", runs=1, only=only, workers=0, judge=instant)
    assert len(runs_of(path)) == before + 2
    with pytest.raises(PangaeaError, match="results has no cell with vgg"):
        run("results", study=path, only=["vgg"], workers=0, judge=instant)


class Bell:
    """A timer that a test rings."""

    def __init__(self, seconds: float, ring: Callable[[], None]) -> None:
        self.seconds, self.ring, self.daemon = seconds, ring, False
        bells.append(self)

    def start(self) -> None: ...
    def cancel(self) -> None: ...


bells: list[Bell] = []


def test_after_its_minutes_it_stops_and_the_next_call_goes_on(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def ringing(job: Job) -> Result:
        jobs.append(job)
        if len(jobs) == 5:
            bells[-1].ring()
        return instant(job)

    jobs: list[Job] = []
    monkeypatch.setattr(watching.threading, "Timer", Bell)
    given = {"study": path, "scale": "lab", "workers": 0}
    outcome = run("prelu_lcn", minutes=9, judge=ringing, **given)
    assert bells[-1].seconds == 540
    assert not outcome.in_time
    assert 4 <= outcome.done <= 5
    assert run("prelu_lcn", minutes=60, judge=instant, **given).done == 27
    seeds = [row["seed"] for row in runs_of(path)]
    assert len({*seeds}) == len(seeds) == 27


def test_every_result_is_also_a_line(path: Path, tmp_path: Path) -> None:
    log = tmp_path / "runs.jsonl"
    run("pau_specialized_setup", study=path, scale="lab", log=log, workers=0, judge=instant)
    logged = [json.loads(text) for text in log.read_text().splitlines()]
    with Study.open(path) as study:
        assert logged == lines.of_study(study)
    (recipe,) = {json.dumps(row["recipe"]) for row in logged if row["task"].startswith("wrn")}
    assert json.loads(recipe)["batch"] == 64
    assert logged[0]["command"] == "pangaea paper run pau_specialized_setup --scale lab --workers 0"


def test_the_precision_reaches_every_run_and_stands_in_the_command(path: Path) -> None:
    seen = []

    def judged(job: Job) -> Result:
        seen.append(job.how.precision)
        return instant(job)

    given = {"study": path, "scale": "coarse", "runs": 1, "workers": 0, "judge": judged}
    run("progress", only=["wrn-10-4"], precision="bf16", **given)
    run("prelu_lcn", only=["wrn-10-4"], precision="bf16", **given)
    assert {*seen} == {"bf16"}
    with Study.open(path) as study:
        (command,) = {row["command"] for row in lines.of_study(study)}
    assert "--scale coarse" in command
    assert "--precision bf16" in command
    with pytest.raises(PangaeaError, match="precision"):
        run("prelu_lcn", precision="fp8", **given)


def test_runs_that_the_machine_spoiled_are_made_again(path: Path) -> None:
    bad = iter([True, False, True])

    def unlucky(job: Job) -> Result:
        return failed("out of memory", "a neighbour") if next(bad, False) else instant(job)

    given = {"study": path, "scale": "lab", "runs": 1, "only": ["wrn-10-4"], "workers": 0}
    outcome = run("prelu_lcn", judge=unlucky, **given)
    assert (outcome.done, outcome.total) == (1, 3)
    outcome = run("prelu_lcn", judge=instant, **given)
    assert (outcome.done, outcome.total) == (3, 3)
    with Study.open(path) as study:
        assert len(study.runs("paper")) == 5
        assert len(lines.of_study(study)) == 3


def test_a_function_that_diverges_has_its_result(path: Path) -> None:
    given = {"study": path, "scale": "lab", "runs": 1, "only": ["wrn-10-4"], "workers": 0}
    outcome = run("prelu_lcn", judge=lambda job: failed("diverged", "nan"), **given)
    assert (outcome.done, outcome.total) == (3, 3)


def test_a_broken_machine_stops_it(path: Path) -> None:
    with pytest.raises(PangaeaError, match=r"8 runs in a row came to nothing.*no such driver"):
        run(
            "prelu_lcn",
            study=path,
            scale="lab",
            workers=0,
            judge=lambda job: failed("CUDA driver", "x") | failed("exception", "no such driver"),
        )


def test_a_search_s_study_is_not_written_to(path: Path) -> None:
    from tests.study.making import searched

    searched(path)
    with pytest.raises(PangaeaError, match="is the study of a search"):
        run("prelu_lcn", study=path, workers=0, judge=instant)


def test_its_searches_stand_beside_it_and_their_tests_in_it(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    outcome = run("progress", study=path, scale="lab", workers=0, judge=instant)
    assert [file.name for file in outcome.searches] == [
        f"a-lab-{net}.study" for net in ("wrn-10-4", "resnet-v1-56", "resnet-v2-56")
    ]
    for file in outcome.searches:
        with Study.open(file) as study:
            assert len(study.table()) == 100
    assert {row["task"] for row in runs_of(path)} == {
        f"{net}/cifar100" for net in ("wrn-10-4", "resnet-v1-56", "resnet-v2-56")
    }
    before = len(runs_of(path))
    run("progress", study=path, scale="lab", workers=0, judge=_never)
    assert len(runs_of(path)) == before
    monkeypatch.setattr(driver, "resume", _never)  # not even its workers are started
    run("progress", study=path, scale="lab", workers=0)


def test_only_some_cells_are_run_without_searches_unless_these_are_named(path: Path) -> None:
    given: dict[str, Any] = {"study": path, "scale": "lab", "workers": 0, "judge": instant}
    assert run("allcnnc", only=["relu"], **given).searches == ()
    assert [*path.parent.glob("*all-cnn-c.study")] == []
    (searched,) = run("search_strategy", only=["random-search"], **given).searches
    assert searched.exists()
    with Study.open(searched) as study:
        assert study.settings.again == ((10, 50), (10, 50))


DRIVE = """
import sys
from functools import partial
from pangaea.paper.running import run
from pangaea.tasks.classification import Classification
from tests.study.judges import napping
Classification.prepare = lambda task: None
name, study, log, workers = sys.argv[1:]
run(name, study=study, scale="lab", log=log, workers=int(workers), runs=1,
    judge=partial(napping, 0.02))
"""


def driven(name: str, path: Path, log: Path, workers: int) -> "subprocess.Popen[bytes]":
    words = [sys.executable, "-c", DRIVE, name, path, log, str(workers)]
    return subprocess.Popen(words, cwd=REPOSITORY, stderr=subprocess.DEVNULL)


@pytest.mark.parametrize(
    ("workers", "how"), [(0, signal.SIGKILL), (2, signal.SIGKILL), (2, signal.SIGINT)]
)
def test_stopped_at_any_moment_it_goes_on(
    path: Path, tmp_path: Path, workers: int, how: signal.Signals
) -> None:
    log = tmp_path / "runs.jsonl"
    known = 0
    for _ in range(2):
        process, target = driven("results", path, log, workers), known + 20
        until(lambda target=target: path.exists() and len(runs_of(path)) >= target, 240)
        process.send_signal(how)
        assert process.wait(240) != 0
        known = len(runs_of(path))
    assert known < 90
    assert driven("results", path, log, workers).wait(300) == 0
    rows = runs_of(path)
    kinds = Counter((row["function"], row["task"]) for row in rows)
    assert len(rows) == len(kinds) == 90
    assert adding.add([log], path).added == 0


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT])
def test_stopped_in_its_search_it_goes_on_as_if_nothing_had_been(
    path: Path, tmp_path: Path, how: signal.Signals
) -> None:
    whole, log = tmp_path / "whole.study", tmp_path / "runs.jsonl"
    run("allcnnc", study=whole, scale="lab", runs=1, workers=0, judge=instant)
    search = path.with_name("a-lab-all-cnn-c.study")

    def tried(file: Path) -> list[str]:
        with Study.open(file) as study:
            return [row["function"] for row in study.table() if row["score"] is not None]

    process = driven("allcnnc", path, log, 0)
    until(lambda: search.exists() and len(tried(search)) >= 20, 240)
    process.send_signal(how)
    assert process.wait(240) != 0
    assert len(tried(search)) < 100
    assert driven("allcnnc", path, log, 0).wait(300) == 0
    assert tried(search) == tried(tmp_path / "whole-lab-all-cnn-c.study")
    assert len(tried(search)) == 100
    kinds = [
        Counter((row["function"], row["task"]) for row in runs_of(file)) for file in (path, whole)
    ]
    assert kinds[0] == kinds[1]

"""The runner: recorded before submitted, what is done is not done again, and it knows no stage."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from pangaea.study import runner as module
from pangaea.study.driver import runner as told_runner
from pangaea.study.runner import Stop, Watch
from pangaea.study.stages import STAGES
from pangaea.study.study import Run, Study, Wanted
from pangaea.testing.judges import instant, raising
from pangaea.workers.engine import InProcess
from pangaea.workers.judge import Job, Judge, Result
from tests.study.engines import Noting, Several, Telling, folder, runner
from tests.study.making import created, ran, wanted


def several(count: int, stage: str = "test", function: str = "relu(x)") -> list[Wanted]:
    return [wanted(stage, function, seed=100 + k) for k in range(count)]


def seeds(study: Study) -> list[int]:
    return [row["seed"] for row in study.runs()]


class Spying(Several):
    """Looks into the file, as another process would, whenever a job is submitted."""

    def __init__(self, judge: Judge, path: Path) -> None:
        super().__init__(judge)
        self.path, self.ended, self.looks = path, list[int](), 0

    def submit(self, jobs: Sequence[Job]) -> None:
        super().submit(jobs)
        with Study.open(self.path) as study:
            done = [row["run"] for row in study.runs()]
            pending = {run.number: run for run in study.pending([*STAGES])}
        assert done == self.ended, "a result was not recorded before the next job"
        assert self.running <= self.slots()
        # No run is asked for before there is a worker for it.
        assert {*pending} == {job.run for job in self._waiting}
        for job in jobs:
            self.looks += 1
            asked = pending[job.run].wanted._asdict()
            assert {name: getattr(job, name) for name in asked if name != "candidate"} == {
                name: value for name, value in asked.items() if name != "candidate"
            }

    def wait(self, seconds: float) -> list[tuple[Job, Result]]:
        ended = super().wait(seconds)
        self.ended += [job.run for job, _ in ended]
        return ended


def test_a_run_is_recorded_before_it_is_submitted_and_its_result_before_the_next(
    path: Path,
) -> None:
    with created(path) as study:
        spy = Spying(instant, path)
        module.Runner(study, spy, Watch(), Stop()).complete(several(20))
        assert spy.looks == 20
        assert sorted(seeds(study)) == list(range(100, 120))


def test_what_is_done_is_not_done_again(path: Path) -> None:
    first, second, told = Noting(), Noting(), Telling()
    with created(path) as study:
        runner(study, first).complete(several(3))
        runner(study, second, watch=told).complete(several(5))
        assert seeds(study) == [100, 101, 102, 103, 104]
        assert told.stages == [("test", 3, 5)]
        runner(study, raising, watch=told).complete(several(5))
        assert len(told.stages) == 1
    assert (len(first.jobs), len(second.jobs)) == (3, 2)


def test_runs_count_whatever_their_seeds_are_and_failures_too(path: Path) -> None:
    judge = Noting()
    with created(path) as study:
        with study.transaction():
            ran(study, wanted("test", seed=7), score=50.0)
            ran(study, wanted("test", seed=8), failure="diverged")
        runner(study, judge).complete(several(3))
        assert seeds(study) == [7, 8, 102]


@pytest.mark.parametrize(
    "other",
    [
        *({"function": "tanh(x)"}, {"budget": 5}, {"part": "validation"}),
        *({"scope": "layer"}, {"task": "wrn-10-4/cifar10"}, {"stage": "general"}),
    ],
    ids=str,
)
def test_a_run_that_is_another_does_not_count(path: Path, other: dict[str, object]) -> None:
    with created(path) as study:
        with study.transaction():
            ran(study, wanted("test", seed=7)._replace(**other), score=50.0)
        runner(study).complete(several(1))
        assert seeds(study) == [7, 100]


def test_pending_runs_are_submitted_again_with_their_own_seeds(path: Path) -> None:
    judge = Noting()
    with created(path) as study:
        with study.transaction():
            ran(study, wanted("test", seed=1), score=50.0)
            waiting = [study.ask(wanted("test", seed=seed)).number for seed in (2, 3)]
        runner(study, judge).complete(several(4))
        assert [job.seed for job in judge.jobs] == [2, 3, 103]
        assert [job.run for job in judge.jobs][:2] == waiting
        assert study.pending([*STAGES]) == []
        assert study.asked(["test"]) == 4


@pytest.mark.parametrize("most", range(1, 7))
def test_an_interrupted_list_goes_on_where_it_was(path: Path, most: int) -> None:
    first, second = Noting(most=most), Noting()
    wants = [*several(4, "rerank"), *several(3, "rerank", "tanh(x)")]
    with created(path) as study, pytest.raises(KeyboardInterrupt):
        runner(study, first, Several).complete(wants)
    with Study.resume(path) as study:
        runner(study, second, Several).complete(wants)
        rows = study.runs("rerank")
    assert sorted((r["function"], r["seed"]) for r in rows) == sorted(
        (w.function, w.seed) for w in wants
    )
    assert len(first.jobs) + len(second.jobs) == len(wants)


def test_a_list_may_hold_runs_of_several_stages_and_of_none_that_it_knows(path: Path) -> None:
    wants = [*several(2, "rerank"), *several(2)]
    wants += [wanted("test", seed=k)._replace(stage="paper: table 1") for k in range(2)]
    with created(path) as study:
        runner(study, Noting(most=5)).complete(wants[:5])
        judge = Noting()
        runner(study, judge).complete(wants)
        assert [job.stage for job in judge.jobs] == ["paper: table 1"]
        assert len(study.runs()) == 6


def test_an_empty_list_is_done(path: Path) -> None:
    told = Telling()
    with created(path) as study:
        runner(study, watch=told).complete([])
    assert told.stages == []


def test_once_stopped_nothing_new_begins_and_what_runs_is_recorded(path: Path) -> None:
    class Stopping(Telling):
        left: int | None = None

        def result(self, study: Study, run: Run, result: Result) -> None:
            super().result(study, run, result)
            stop.asked = True

        def stopping(self, running: int) -> None:
            self.left = running

    stop, told = Stop(), Stopping()
    with created(path) as study:
        with pytest.raises(KeyboardInterrupt):
            runner(study, engine=Several, watch=told, stop=stop).complete(several(12))
        assert 1 <= len(told.runs) <= 1 + 3  # the first to end, and the three that ran by then
        assert told.left is not None
        assert study.pending([*STAGES]) == []
        assert len(study.runs()) == len(told.runs)


def test_a_runner_waits_for_workers_and_says_so(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Late(InProcess):
        left = 5

        def slots(self) -> int:
            return 0 if self.left else 1

        def wait(self, seconds: float) -> list[tuple[Job, Result]]:
            self.left = max(0, self.left - 1)
            return super().wait(seconds) if self._waiting else []

    monkeypatch.setattr(module, "_LONELY_SECONDS", 0.0)
    told = Telling()
    with created(path) as study:
        runner(study, engine=Late, watch=told).complete(several(3))
        assert len(study.runs()) == 3
    assert told.waited >= 4


def test_a_job_is_the_run_that_was_recorded(path: Path) -> None:
    judge = Noting()
    with created(path, precision="bf16", timeout=3.0) as study:
        want = wanted("rerank", "tanh(x)", seed=5)._replace(scope="layer", budget=7)
        told_runner(study, InProcess(judge), Watch(), Stop()).complete([want])
        (job,) = judge.jobs
        assert job.checkpoints == str(folder(study) / f"run-{job.run}")
    assert (job.stage, job.task, job.function, job.scope) == (
        *("rerank", "mnist1d", "tanh(x)"),
        "layer",
    )
    assert (job.budget, job.seed, job.part) == (7, 5, "validation")
    assert job.how.precision == "bf16"
    assert job.limit == pytest.approx(3.0 / 2 * 7)  # the search's budget is 2


@pytest.mark.parametrize(("budget", "unit"), [(None, 2), (4, 4)])
def test_the_time_limit_grows_with_the_budget(path: Path, budget: int | None, unit: int) -> None:
    judge = Noting()
    with created(path, timeout=3.0, budget=budget) as study:
        wants = [wanted("test", seed=b)._replace(budget=b) for b in (1, 4, 40)]
        told_runner(study, InProcess(judge), Watch(), Stop()).complete(wants)
    assert [job.limit for job in judge.jobs] == pytest.approx([3 / unit, 12 / unit, 120 / unit])


def test_without_a_timeout_there_is_no_limit(path: Path) -> None:
    judge = Noting()
    with created(path) as study:
        told_runner(study, InProcess(judge), Watch(), Stop()).complete(several(1))
    assert [job.limit for job in judge.jobs] == [None]


def test_no_checkpoints_are_left_of_runs_that_failed_and_nothing_else_is_touched(
    path: Path,
) -> None:
    """A run that failed in the middle leaves its last checkpoint there."""
    with created(path) as study:
        made = runner(study)
        made.clear()
        rest = folder(study) / "run-3" / "seed-1.checkpoint"
        rest.parent.mkdir(parents=True)
        rest.touch()
        made.clear()
        assert not folder(study).exists()
        theirs = folder(study) / "run-3" / "notes.txt"
        theirs.parent.mkdir(parents=True)
        theirs.touch()
        made.clear()
        assert theirs.exists()

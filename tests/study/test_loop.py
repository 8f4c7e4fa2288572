"""The search loop: recorded before submitted, exactly C results, bad functions never stop it."""

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from pangaea.errors import PangaeaError
from pangaea.evolution.strategies import STRATEGIES
from pangaea.functions.equivalence import fingerprint
from pangaea.functions.parser import parse
from pangaea.study import loop
from pangaea.study.loop import Search, Stop, Watch
from pangaea.study.study import Study
from pangaea.workers.engine import InProcess
from pangaea.workers.judge import Job, Judge, Result
from tests.study.judges import diverging, failing, failing_candidates, failing_while, instant
from tests.study.making import created

SMALL = {"candidates": 30, "population": 5, "sample": 3, "rerank": False, "runs": 0}


class Several(InProcess):
    """Three jobs at once, of which the last ends first."""

    def slots(self) -> int:
        return 3

    def wait(self, seconds: float) -> list[tuple[Job, list[Result]]]:
        self._waiting.reverse()
        return super().wait(seconds)


class Spying(Several):
    """Looks into the file, as another process would, whenever a job is submitted."""

    def __init__(self, judge: Judge, path: Path) -> None:
        super().__init__(judge)
        self.path, self.ended, self.looks = path, set[int](), 0

    def submit(self, jobs: Sequence[Job]) -> None:
        super().submit(jobs)
        with Study.open(self.path) as file:
            rows = {row["number"]: row for row in file.table()}
        done = {number for number, row in rows.items() if row["position"] is not None}
        assert done == self.ended, "a result was not recorded before the next job"
        assert self.running <= self.slots()
        for job in jobs:
            if job.candidate is None:
                continue
            self.looks += 1
            row = rows[job.candidate]
            assert (row["function"], row["seed"]) == (job.function, *job.seeds)
            assert job.candidate not in done
            assert row["parent"] is None or row["parent"] in done
        # No candidate is proposed before there is a worker for it.
        assert len(rows) == len(done) + sum(job.candidate is not None for job in self._waiting)

    def wait(self, seconds: float) -> list[tuple[Job, list[Result]]]:
        ended = super().wait(seconds)
        self.ended |= {job.candidate for job, _ in ended if job.candidate is not None}
        return ended


class Telling(Watch):
    def __init__(self) -> None:
        self.stages: list[tuple[str, int, int]] = []
        self.jobs: list[tuple[Job, Sequence[Result]]] = []
        self.waited = 0

    def stage(self, study: Study, name: str, done: int, total: int) -> None:
        self.stages.append((name, done, total))

    def result(self, study: Study, job: Job, results: Sequence[Result]) -> None:
        self.jobs.append((job, results))

    def waiting(self) -> None:
        self.waited += 1


def run(
    study: Study,
    judge: Judge = instant,
    engine: type[InProcess] = InProcess,
    watch: Watch | None = None,
    stop: Stop | None = None,
) -> list[dict[str, Any]]:
    Search(study, engine(judge), watch or Watch(), stop or Stop()).run()
    return study.table()


def numbers(rows: Sequence[dict[str, Any]]) -> list[int]:
    return [row["number"] for row in rows if row["position"] is not None]


def test_a_candidate_is_recorded_before_it_is_submitted_and_its_result_before_the_next(
    path: Path,
) -> None:
    with created(path, **SMALL) as study:
        spy = Spying(instant, path)
        Search(study, spy, Watch(), Stop()).run()
        assert spy.looks == 30
        assert numbers(study.table()) == list(range(1, 31))


def test_children_come_of_the_population_at_their_time(path: Path) -> None:
    with created(path, **SMALL) as study:
        rows = run(study)
    parents = [row["parent"] for row in rows if row["parent"] is not None]
    assert len(parents) > 20
    for row in rows:
        if row["parent"] is not None:
            passed = [r for r in rows if r["number"] < row["number"] and r["fitness"] >= 20]
            assert row["parent"] in [r["number"] for r in passed[-5:]]


def test_the_same_seed_gives_the_same_search_and_another_seed_another(tmp_path: Path) -> None:
    tables = []
    for name, seed in (("a", 1), ("b", 1), ("c", 2)):
        with created(tmp_path / name, **SMALL, seed=seed) as study:
            tables.append([(row["function"], row["fitness"]) for row in run(study)])
    assert tables[0] == tables[1]
    assert {text for text, _ in tables[0]} != {text for text, _ in tables[2]}


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_every_strategy_runs(path: Path, strategy: str) -> None:
    with created(path, **SMALL, strategy=strategy) as study:
        rows = run(study, engine=Several)
    assert numbers(rows) == list(range(1, 31))
    with_parents = sum(row["parent"] is not None for row in rows)
    assert (with_parents == 0) == (strategy == "random-sampling")


def test_functions_that_diverge_never_stop_a_search(path: Path) -> None:
    with created(path, **SMALL) as study:
        rows = run(study, diverging)
        assert study.failures() == {"diverged": 30}
        assert len(study.runs("baseline")) == 3
    assert {row["fitness"] for row in rows} == {0.0}


def test_functions_that_break_everything_do_not_either_as_long_as_relu_works(path: Path) -> None:
    with created(path, **SMALL) as study:
        rows = run(study, partial(failing_candidates, "worker killed"), Several)
        assert study.failures() == {"worker killed": 30}
        assert 3 < len(study.runs("baseline")) <= 6  # it looks whether it is them or the machine
    assert numbers(rows) == list(range(1, 31))


@pytest.mark.parametrize("reason", ["exception", "diverged", "out of memory", "worker killed"])
def test_if_relu_cannot_be_trained_nothing_is_tried(path: Path, reason: str) -> None:
    with created(path, **SMALL) as study:
        with pytest.raises(PangaeaError, match=rf"ReLU itself .* \({reason}: so it goes\)"):
            run(study, partial(failing, reason))
        assert study.proposed() == 0


def test_a_study_whose_relu_failed_goes_on_when_that_is_mended(path: Path) -> None:
    with created(path, **SMALL) as study:
        for _ in range(2):
            with pytest.raises(PangaeaError, match="ReLU itself"):
                run(study, partial(failing, "exception"))
        assert numbers(run(study)) == list(range(1, 31))
        assert study.relu is not None


def test_if_nothing_works_any_more_it_stops_early_and_says_why(path: Path) -> None:
    broken = path.with_name("broken")
    judge = partial(failing_while, broken, "exception")

    class Breaking(Watch):
        def result(self, study: Study, job: Job, results: Sequence[Result]) -> None:
            if job.candidate == 12:
                broken.touch()

    with created(path, **SMALL | {"candidates": 200}) as study:
        with pytest.raises(PangaeaError, match=r"ReLU itself .*\(exception: so it goes\).*resume"):
            run(study, judge, Several, Breaking())
        assert len(study.history()) <= 12 + 10 + 3
        assert study.pending() == []
        broken.unlink()
        rows = run(study, judge, Several)
    assert numbers(rows) == list(range(1, 201))
    assert sum(row["failure"] is not None for row in rows) <= 13


def test_the_top_ten_are_trained_again_and_the_best_three_tested(path: Path) -> None:
    told = Telling()
    with created(path, **SMALL | {"rerank": True, "runs": 4, "candidates": 60}) as study:
        run(study, watch=told)
        again, test = study.accuracies("rerank"), study.accuracies("test")
        history, best = study.history(), study.best(3)
    assert {len(values) for values in again.values()} == {2}
    assert len({fingerprint(parse(text)) for text in again}) == len(again) == 10
    worst = min(max(e.fitness for e in history if e.text == text) for text in again)
    left = {fingerprint(e.function) for e in history if e.fitness > worst}
    assert left <= {fingerprint(parse(text)) for text in again}
    assert [*test] == ["relu(x)", *(row["function"] for row in best)]
    assert {len(values) for values in test.values()} == {4}
    assert told.stages == [
        *(("baseline", 0, 3), ("search", 0, 60)),
        *(("rerank", 0, 20), ("test", 0, 16)),
    ]
    kinds = {(job.stage, job.recipe, job.data) for job, _ in told.jobs}
    assert kinds == {
        *{("baseline", "search", "validation"), ("search", "search", "validation")},
        *{("rerank", "full", "validation"), ("test", "full", "test")},
    }


def test_no_two_runs_share_a_seed_between_stages(path: Path) -> None:
    with created(path, **SMALL | {"rerank": True, "runs": 4}) as study:
        run(study)
        seeds = {
            stage: {row["seed"] for row in study.runs(stage)}
            for stage in ("baseline", "search", "rerank", "test")
        }
    assert [len(some) for some in seeds.values()] == [3, 30, 2, 4]
    assert len(set.union(*seeds.values())) == 39


def test_the_time_limit_grows_with_the_seeds_and_the_epochs_of_a_job(path: Path) -> None:
    told = Telling()
    with created(path, **SMALL | {"rerank": True, "runs": 10}, timeout=3.0) as study:
        run(study, watch=told)
    limits = {(job.stage, len(job.seeds), job.limit) for job, _ in told.jobs}
    assert limits == {
        *{("baseline", 1, 3.0), ("search", 1, 3.0)},
        *{("rerank", 2, 12.0), ("test", 5, 30.0)},  # the full recipe has twice the epochs
    }


def test_there_are_jobs_enough_for_nobody_to_wait_long(path: Path) -> None:
    """Four functions with ten seeds each are eight jobs for one worker."""
    told = Telling()
    with created(path, **SMALL | {"runs": 10}) as study:
        run(study, watch=told)
    sizes = [len(job.seeds) for job, _ in told.jobs if job.stage == "test"]
    assert sizes == [5] * 8


def test_a_finished_study_is_left_as_it_is(path: Path) -> None:
    with created(path, **SMALL | {"rerank": True, "runs": 2}) as study:
        run(study)
        before = study.table(), study.runs("rerank"), study.runs("test")
        told = Telling()
        run(study, partial(failing, "exception"), watch=told)
        assert (study.table(), study.runs("rerank"), study.runs("test")) == before
    assert (told.stages, told.jobs) == ([], [])


@pytest.mark.parametrize("stage", ["baseline", "search", "rerank", "test"])
def test_once_stopped_nothing_new_begins_and_what_runs_is_recorded(path: Path, stage: str) -> None:
    class Stopping(Telling):
        def result(self, study: Study, job: Job, results: Sequence[Result]) -> None:
            super().result(study, job, results)
            stop.asked = stop.asked or job.stage == stage

    with created(path, **SMALL | {"rerank": True, "runs": 4}) as study:
        stop, told = Stop(), Stopping()
        with pytest.raises(KeyboardInterrupt):
            run(study, engine=Several, watch=told, stop=stop)
        ended = [job for job, _ in told.jobs if job.stage == stage]
        assert 1 <= len(ended) <= 1 + 3  # the first to end, and the three that ran by then
        assert study.pending() == []
        assert numbers(run(study, engine=Several)) == list(range(1, 31))
        assert len(study.runs("test")) == 16


def test_a_search_waits_for_workers_and_says_so(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Late(InProcess):
        left = 5

        def slots(self) -> int:
            return 0 if self.left else 1

        def wait(self, seconds: float) -> list[tuple[Job, list[Result]]]:
            self.left = max(0, self.left - 1)
            return super().wait(seconds) if self._waiting else []

    monkeypatch.setattr(loop, "_LONELY_SECONDS", 0.0)
    told = Telling()
    with created(path, **SMALL) as study:
        rows = run(study, engine=Late, watch=told)
    assert told.waited >= 4
    assert numbers(rows) == list(range(1, 31))

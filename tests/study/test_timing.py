"""Whole searches with so many minutes, on simulated workers and a simulated clock."""

import heapq
import json
import math
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import pytest

import pangaea as pg
from pangaea.errors import PangaeaError
from pangaea.report.findings import command, progress, state
from pangaea.report.records import opened
from pangaea.study.runner import Runner, Stop
from pangaea.study.search import Search
from pangaea.study.settings import MOST_CANDIDATES, flat
from pangaea.study.stages import PROPOSED
from pangaea.study.study import Study
from pangaea.study.timing import Limited, left_out, spent
from pangaea.workers.judge import Job, Result, failed, stamped
from tests.study.engines import Telling
from tests.study.judges import instant
from tests.study.making import created

Takes = Callable[[Job, float], float]
STARTING = 4.0  # seconds until there are workers
TIMED = {"candidates": MOST_CANDIDATES, "population": 8, "sample": 3}


class Simulated:
    """Workers that take as long as they are told, by a clock of their own."""

    def __init__(self, workers: int, takes: Takes, stop_after: float = float("inf")) -> None:
        self.now, self.workers, self.takes, self.stop_after = 0.0, workers, takes, stop_after
        self._jobs: list[tuple[float, int, Job, float]] = []

    def clock(self) -> float:
        return self.now

    @property
    def running(self) -> int:
        return len(self._jobs)

    def slots(self) -> int:
        return self.workers

    def submit(self, jobs: Sequence[Job]) -> None:
        for job in jobs:
            seconds = self.takes(job, self.now)
            heapq.heappush(self._jobs, (self.now + seconds, job.run, job, seconds))

    def wait(self, seconds: float) -> list[tuple[Job, Result]]:
        until, _, job, took = heapq.heappop(self._jobs)
        if until > self.stop_after:
            raise KeyboardInterrupt
        self.now = until
        return [(job, came_of(job) | {"seconds": took})]


class OneGpu(Simulated):
    """Workers that share a GPU: each run goes on the faster, the fewer there are."""

    def submit(self, jobs: Sequence[Job]) -> None:
        self._jobs += [(self.takes(job, self.now), job.run, job, self.now) for job in jobs]

    def wait(self, seconds: float) -> list[tuple[Job, Result]]:
        slowed = (len(self._jobs) + 0.5) / 1.5
        first = min(self._jobs)
        work, _, job, began = first
        self._jobs.remove(first)
        self._jobs = [(left - work, *rest) for left, *rest in self._jobs]
        self.now += work * slowed
        return [(job, came_of(job) | {"seconds": self.now - began})]


def came_of(job: Job) -> Result:
    return stamped(failed("diverged", ""), 1.0, "x") if fails(job) else instant(job)


def fails(job: Job) -> bool:
    return job.stage in PROPOSED and job.seed % 5 == 0


class Listening(Telling):
    def __init__(self) -> None:
        super().__init__()
        self.notes: list[str] = []

    def note(self, text: str) -> None:
        self.notes.append(text)


def steady(job: Job, now: float) -> float:
    """Five seconds a unit, a tenth more or less; a failure takes a tenth."""
    return 5.0 * job.budget * Random(job.seed).uniform(0.9, 1.1) * (0.1 if fails(job) else 1.0)


def slowing(job: Job, now: float) -> float:
    """Three times as slow from the fifth minute on."""
    return steady(job, now) * (3 if now > 300 else 1)


def searched(
    study: Study,
    engine: Simulated,
    effort: Callable[[int], float] = float,
    sharing: int = 1,
) -> Listening:
    watch = Listening()
    began, engine.now = engine.now, engine.now + STARTING
    running = Runner(study, engine, watch, Stop())
    Search(study, running, Limited(study, running, began, engine.clock, effort, sharing)).run()
    return watch


@pytest.mark.parametrize("takes", [steady, slowing])
@pytest.mark.parametrize("workers", [1, 2, 7])
@pytest.mark.parametrize("minutes", [8, 20])
@pytest.mark.parametrize("rounds", ["10,10", "16,8,4,4,2,2,2,2", "24@20,12@20,4@30,2"])
def test_all_of_it_ends_in_time_and_uses_it(
    path: Path, takes: Takes, workers: int, minutes: float, rounds: str
) -> None:
    engine = Simulated(workers, takes)
    with created(path, minutes=minutes, runs=6, rounds=rounds, **TIMED) as study:
        searched(study, engine)
        late = 1.0 if takes is steady else 1.05  # nobody knows that it becomes slow
        early = 0.9 if takes is steady else 0.85  # and then a round does not fit any more
        assert early * 60 * minutes <= engine.now <= late * 60 * minutes
        assert len(study.trials()) == study.settings.candidates
        tests = [len(scores) for scores in study.scores("test").values()]
        assert min(tests, default=0) == study.settings.runs >= (takes is steady)
        assert max(tests, default=0) <= study.settings.runs + 1
        assert spent(study) == pytest.approx(engine.now, abs=0.1)


def test_with_time_enough_nothing_is_left_out(path: Path) -> None:
    with created(path, minutes=30, runs=6, **TIMED) as study:
        watch = searched(study, Simulated(2, steady))
        assert (study.settings.rerank, study.settings.runs) == (True, 6)
        assert len(study.runs("rerank")) == 20
        assert len(study.runs("test")) == 24
        assert left_out(study) == {"candidates": MOST_CANDIDATES}
    planned, done = watch.notes
    assert "of 30 minutes are left, enough for about" in planned
    assert planned.endswith("the best again (10,10), 6 test runs each")
    assert "6 test runs each in" in done
    assert "no time for" not in done


@pytest.mark.parametrize("budget", [2, 3, 4])
def test_nothing_is_promoted_twice_nor_beyond_the_full_budget(path: Path, budget: int) -> None:
    given = TIMED | {"strategy": "choosy", "rungs": 3, "candidates": 40, "children": 1}
    with created(path, budget=budget, rerank=False, minutes=60, runs=0, **given) as study:
        searched(study, Simulated(4, steady))
        again = [run["candidate"] for run in study.runs("promotion")]
        assert len(again) == len(set(again)) >= 8
        assert {run["budget"] for run in study.runs("promotion")} == {4}
        assert study.proposed() == 40 - len(again)


def test_a_plan_names_what_there_is_to_run(path: Path) -> None:
    given = TIMED | {"candidates": 10, "runs": 0}
    with created(path, minutes=30, rerank=False, **given) as study:
        assert searched(study, Simulated(2, steady)).notes[0].endswith("for about 10 candidates")
        assert searched(study, Simulated(2, steady)).notes[0].endswith("enough for no run")
        study.change(replace(study.settings, runs=3))
        assert searched(study, Simulated(2, steady)).notes[0].endswith("for 3 test runs each")


@pytest.mark.parametrize("told", [True, False])
def test_cheap_candidates_take_no_time_from_dear_rounds_if_that_is_told(
    path: Path, told: bool
) -> None:
    def effort(budget: int) -> float:
        return budget / 4 if budget <= 2 else budget

    def takes(job: Job, now: float) -> float:
        return steady(job, now) * effort(job.budget) / job.budget

    with created(path, minutes=10, runs=0, rounds="16@3,4", **TIMED) as study:
        assert study.task["budgets"] == {"search": 2, "full": 4}
        engine = Simulated(2, takes)
        searched(study, engine, effort if told else float)
        assert engine.now <= 600
        assert study.settings.rerank is told
        assert (len(study.runs("rerank")) == 20) is told


@pytest.mark.parametrize("minutes", [8, 12, 20])
def test_rounds_of_few_runs_are_planned_as_short_as_they_are_on_a_gpu(
    path: Path, minutes: float
) -> None:
    def planned(name: str, sharing: int) -> tuple[float, int]:
        given = TIMED | {"minutes": minutes, "runs": 0, "rounds": "8@2,2,1,1,1"}
        with created(path.with_name(name), **given) as study:
            engine = OneGpu(8, steady)
            searched(study, engine, sharing=sharing)
            assert len(study.runs("rerank")) == 13
            return engine.now, len(study.trials())

    (seconds, tried), (_, fewer) = planned("told.study", 8), planned("untold.study", 1)
    assert 0.9 * 60 * minutes <= seconds <= 60 * minutes
    assert tried > fewer + 10  # which left two minutes unused


@pytest.mark.parametrize("minutes", [8, 12, 20])
def test_on_a_gpu_as_many_tests_are_begun_at_once_as_end_in_time(
    path: Path, minutes: float
) -> None:
    with created(path, minutes=minutes, runs=4, rounds="8@2,2,1,1,1", **TIMED) as study:
        engine = OneGpu(8, steady)
        searched(study, engine, sharing=8)
        assert 0.9 * 60 * minutes <= engine.now <= 60 * minutes
        assert [len(scores) for scores in study.scores("test").values()] == [
            study.settings.runs
        ] * 4
        assert study.settings.runs


def test_rounds_for_which_there_is_no_time_are_left_out_and_come_later(path: Path) -> None:
    rounds = {"rounds": "16,8,4,4,2,2,2,2", "seeds": "common"}
    with created(path, minutes=30, runs=4, **TIMED, **rounds) as study:
        watch = searched(study, Simulated(1, steady))
        asked = [count for count, _ in study.settings.again]
        assert 2 <= asked[0] < 16
        assert asked == [math.ceil(count * asked[0] / 16) for count in (16, 8, 4, 4, 2, 2, 2, 2)]
        assert len(study.runs("rerank")) == sum(asked)
        assert (study.settings.rerank, study.settings.runs) == (True, 4)
        assert left_out(study)["rounds"] == rounds["rounds"]
        again = study.scores("rerank")
        assert len(again[study.best(1)[0]["function"]]) > 1  # the first is one that stayed in it
    assert "the best trained again, 4 test runs each" in watch.notes[-1]
    smaller = ",".join(map(str, asked))
    assert watch.notes[-1].endswith(f"were made smaller ({smaller}), to keep to their part")
    pg.resume(path, minutes=90, judge=instant, workers=0, candidates=200).close()
    with Study.open(path) as study:
        assert study.settings.rounds == rounds["rounds"]
        assert max(map(len, study.scores("rerank").values())) == 8


def test_what_there_is_no_time_for_is_said_and_comes_with_more_minutes(path: Path) -> None:
    engine = Simulated(1, steady)
    with created(path, minutes=3, runs=6, **TIMED) as study:
        watch = searched(study, engine)
        assert study.runs("rerank") == []
        assert not study.settings.rerank
        assert study.settings.runs < 6
    assert "no time for training the best again and all test runs" in watch.notes[-1]
    with opened(path) as snapshot:
        assert state(snapshot) == "finished"
        told = progress(snapshot)
        assert "no time for all rounds of training the best again and all test runs" in told
        again = command(snapshot)
        assert "--rerank" in again
        assert "--runs 6" in again
        assert "--candidates" not in again  # nobody asked for a number
    pg.resume(path, minutes=60, judge=instant, workers=0, candidates=40).close()
    with Study.open(path) as study:
        assert (study.settings.rerank, study.settings.runs) == (True, 6)
        assert len(study.runs("rerank")) == 20
        assert len(study.trials()) == 40
        assert not left_out(study).keys() & {"rerank", "runs"}


def test_a_search_too_short_for_anything_to_breed_says_so(path: Path) -> None:
    with created(path, minutes=3, **TIMED | {"population": 64}) as study:
        notes = searched(study, Simulated(1, steady)).notes
    assert notes[1].startswith("nothing breeds before there are 64 functions, the population")
    assert "--budget (2 now)" in notes[1]
    for n, given in enumerate(({}, {"candidates": 6}, {"strategy": "random-search"})):
        told = {"minutes": 8, **TIMED} | given
        if "strategy" in given:
            told = {name: told[name] for name in told if name not in ("population", "sample")}
        with created(path.with_name(f"{n}.study"), **told) as study:
            assert len(searched(study, Simulated(2, steady)).notes) == 2


def test_the_first_is_tested_several_times_before_others_are_once(path: Path) -> None:
    with created(path, minutes=3, runs=6, **TIMED) as study:
        watch = searched(study, Simulated(1, steady))
        first = study.best(1)[0]["function"]
        tests = study.scores("test")
        assert {text: len(scores) for text, scores in tests.items()} == {"relu(x)": 2, first: 2}
        assert left_out(study)["tested"] == 3
    assert watch.notes[0].endswith("of the first")
    assert "2 test runs of the first in " in watch.notes[-1]
    with opened(path) as snapshot:
        assert state(snapshot) == "finished"
        assert "--tested 3" in command(snapshot)
    pg.resume(path, minutes=60, judge=instant, workers=0, candidates=40).close()
    with Study.open(path) as study:
        assert study.settings.tested == 3
        assert {len(study.scores("test")[row["function"]]) for row in study.best(3)} == {6}
        assert "tested" not in left_out(study)


def test_what_is_said_when_a_study_goes_on_is_not_what_was_once_left_out(path: Path) -> None:
    with created(path, minutes=3, runs=6, **TIMED) as study:
        searched(study, Simulated(1, steady))
        assert {"rerank", "runs"} <= left_out(study).keys()
        tried, minutes = len(study.trials()), spent(study) / 60
    given = {"judge": instant, "workers": 0}
    with pytest.raises(PangaeaError, match="minutes must be more than that"):
        pg.resume(path, minutes=minutes, **given)
    pg.resume(path, rerank=False, runs=1, candidates=tried, **given).close()
    pg.resume(path, minutes=60, rounds=None, **given).close()
    with Study.open(path) as study:
        asked = study.settings
        assert (asked.rerank, asked.runs, asked.candidates) == (False, 1, tried)
        assert asked.rounds == "10,10"


def test_another_function_to_test_does_not_undo_the_test_of_a_search_whose_time_is_over(
    path: Path,
) -> None:
    with created(path, minutes=8, runs=3, **TIMED) as study:
        searched(study, Simulated(2, steady))
        runs, best = study.settings.runs, study.best(3)
        study.note("time", {"spent": 480.0, "left out": left_out(study)})
    assert runs
    pg.resume(path, against="swish", judge=instant, workers=0).close()
    with Study.open(path) as study:
        assert (study.settings.runs, study.best(3)) == (runs, best)


def test_the_number_of_candidates_ends_it_if_that_comes_first(path: Path) -> None:
    with created(path, minutes=60, **TIMED | {"candidates": 12}) as study:
        engine = Simulated(2, steady)
        searched(study, engine)
        assert len(study.trials()) == 12
        assert engine.now < 1800
        assert left_out(study) == {}


@pytest.mark.parametrize("stop", [15.0, 100.0, 700.0, 900.0, 1050.0])
def test_an_interrupted_search_keeps_to_the_minutes_that_are_left(path: Path, stop: float) -> None:
    first = Simulated(2, steady, stop_after=stop)
    with created(path, minutes=20, runs=6, **TIMED) as study, pytest.raises(KeyboardInterrupt):
        searched(study, first)
    with Study.resume(path) as study:
        before = spent(study)
        assert 0 < before <= stop
        second = Simulated(2, steady)
        second.now = 1e6  # days later
        searched(study, second)
        ran = before + second.now - 1e6
        assert ran <= 1200
        assert min(map(len, study.scores("test").values())) >= 1


def test_a_search_that_has_no_time_for_a_candidate_ends_after_the_baseline(path: Path) -> None:
    with created(path, minutes=0.05, **TIMED) as study:
        watch = searched(study, Simulated(2, steady))
        assert len(study.runs("baseline")) == 3
        assert study.trials() == []
    assert watch.notes[0].startswith("the 0.05 minutes of this search are over: `pangaea resume")
    assert watch.notes[0].endswith("--minutes 0.1` goes on with it")
    assert watch.notes[-1].startswith("0 candidates in")


def test_a_display_is_told_how_many_candidates_there_will_be(path: Path) -> None:
    totals: list[int] = []

    class Counting(Listening):
        def planned(self, total: int) -> None:
            totals.append(total)

    with created(path, minutes=20, runs=6, **TIMED) as study:
        watch, engine = Counting(), Simulated(2, steady)
        running = Runner(study, engine, watch, Stop())
        Search(study, running, Limited(study, running, 0.0, engine.clock)).run()
        tried = len(study.trials())
    assert totals[-1] == pytest.approx(tried, abs=2)
    assert all(0.5 * tried <= total <= 2 * tried for total in totals)


def test_a_running_search_says_how_far_it_is_in_its_time(path: Path) -> None:
    with created(path, minutes=20, runs=6, **TIMED) as study, pytest.raises(KeyboardInterrupt):
        searched(study, Simulated(2, steady, stop_after=300))
    with opened(path) as snapshot:
        tried = len(snapshot.trials)
        assert state(snapshot) == f"{tried} candidates so far, 20 minutes in all"
        assert progress(snapshot).startswith(f"mnist1d: {tried} candidates so far, 20 minutes in")


def test_minutes_alone_set_no_number_of_candidates() -> None:
    task = pg.task("mnist1d")
    from pangaea.study.settings import settings

    assert settings({"minutes": 3}, task).candidates == MOST_CANDIDATES
    assert settings({"minutes": 3}, task, {"candidates": 7}).candidates == 7
    assert settings({}, task).candidates == 120
    assert settings({"minutes": 3}, task).extent == "3 minutes"
    assert settings({"minutes": 2.5, "candidates": 9}, task).extent == "9 candidates or 2.5 minutes"


@pytest.mark.parametrize("minutes", [0, -1, float("nan"), float("inf"), 1e12, "soon", True])
def test_minutes_that_are_none_are_refused_in_a_sentence(minutes: Any) -> None:
    with pytest.raises(PangaeaError, match=r"^minutes must be [^\n]+, got [^\n]+$"):
        flat({"minutes": minutes})


@pytest.mark.parametrize(
    "entry",
    [
        3,
        {},
        {"spent": "x", "left out": {}},
        {"spent": -1, "left out": {}},
        {"spent": 1e999, "left out": {}},
        {"spent": 1, "left out": {"task": "a"}},
        {"spent": 1, "left out": 3},
    ],
)
def test_a_strangers_times_are_refused_in_a_sentence(path: Path, entry: Any) -> None:
    with created(path, minutes=20, **TIMED) as study:
        with study.transaction():
            study._connection.execute("insert into about values ('time', ?)", (json.dumps(entry),))
        with pytest.raises(PangaeaError, match="is damaged, or pangaea did not write it: its time"):
            spent(study)


def test_time_counts_from_when_somebody_asked_for_the_search(path: Path) -> None:
    watch = Listening()
    watch.asked_at = time.monotonic() - 3600
    pg.search("mnist1d", study=path, minutes=60, watch=watch, judge=instant, workers=0).close()
    with Study.open(path) as study:
        assert spent(study) >= 3600
        assert study.trials() == []
    assert watch.notes[-1].startswith("0 candidates in 60")

"""Engines: one contract for both, and what Dask's workers may do without stopping a search."""

import importlib
import signal
import sys
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from distributed import Client

from pangaea.errors import PangaeaError
from pangaea.testing import EngineContract
from pangaea.testing.engines import Make, finished, job
from pangaea.workers import cluster, engine
from pangaea.workers.engine import Dask, InProcess
from pangaea.workers.judge import Job, Judge, Result
from pangaea.workers.place import Place
from tests.study import judges
from tests.study.driving import until
from tests.workers.starting import alive, starting

GRACE_SECONDS = engine._GRACE_SECONDS


@pytest.fixture(scope="module")
def client() -> Iterator[Any]:
    with cluster.client(Place(workers=2)) as made:
        yield made


def signals(kind: str) -> int:
    """A mask of this process's, as Linux tells it."""
    lines = Path("/proc/self/status").read_text(encoding="utf-8").splitlines()
    return int(next(line.split()[1] for line in lines if line.startswith(f"{kind}:")), 16)


class TestInProcess(EngineContract):
    @pytest.fixture
    def make(self) -> Make:
        return InProcess

    def test_a_lost_gpu_stops_the_search_and_says_how_to_go_on(self) -> None:
        place = InProcess(partial(judges.failing, "CUDA error"))
        place.submit([job()])
        with pytest.raises(PangaeaError, match=r"the GPU is lost to this process .*resume"):
            place.wait(1)


class TestDask(EngineContract):
    @pytest.fixture
    def make(self, client: Any) -> Make:
        until(lambda: len(client.nthreads()) == 2)
        return partial(Dask, client)

    @pytest.fixture(autouse=True)
    def _hurry(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(engine, "_LOOK_SECONDS", 0.1)
        monkeypatch.setattr(engine, "_GRACE_SECONDS", 0.2)

    @pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
    def test_a_worker_hears_no_ctrl_c_from_its_first_moment_on(self, client: Any) -> None:
        blocked = client.run(signals, "SigBlk")
        assert len(blocked) == 2
        assert all(mask >> (signal.SIGINT - 1) & 1 for mask in blocked.values())
        assert not signals("SigBlk") >> (signal.SIGINT - 1) & 1  # the driver does

    def test_a_job_that_kills_each_of_its_workers_is_given_up_after_three(
        self, make: Make, tmp_path: Path
    ) -> None:
        attempts = tmp_path / "attempts"
        result = finished(make(partial(judges.deadly, attempts, 99)), job())[1]
        assert result["failure"] == "worker killed"
        assert attempts.read_text() == "xxx"
        assert result["finished"] >= result["started"]

    def test_a_job_that_lost_its_worker_once_is_tried_again(
        self, make: Make, tmp_path: Path
    ) -> None:
        attempts = tmp_path / "attempts"
        result = finished(make(partial(judges.deadly, attempts, 1)), job())[1]
        assert result["score"] > 0
        assert attempts.read_text() == "xx"

    @pytest.mark.parametrize("hang", [judges.sleeping, judges.holding])
    def test_a_job_that_outlasts_its_limit_is_stopped_and_its_worker_replaced(
        self, make: Make, client: Any, hang: Judge
    ) -> None:
        before = {*client.nthreads()}
        began = time.monotonic()
        result = finished(make(hang), job(limit=0.3))[1]
        assert (result["failure"], result["detail"]) == ("time limit", "not done after 0 s")
        assert time.monotonic() - began < 20
        until(lambda: len({*client.nthreads()} - before) == 1 and len(client.nthreads()) == 2)
        results = finished(make(judges.instant), *[job(number) for number in range(10)])
        assert all(result["score"] for result in results.values())

    @pytest.fixture
    def clock(self, monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
        """The engine's, which can be put forward."""
        clock = SimpleNamespace(ahead=0.0, time=time.time, sleep=time.sleep)
        clock.monotonic = lambda: time.monotonic() + clock.ahead
        monkeypatch.setattr(engine, "time", clock)
        return clock

    def test_a_job_is_given_some_seconds_beyond_its_limit_and_no_minutes(
        self,
        make: Make,
        client: Any,
        clock: SimpleNamespace,
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        monkeypatch.setattr(engine, "_GRACE_SECONDS", GRACE_SECONDS)
        place = make(judges.sleeping)
        place.submit([job(limit=60.0)])
        until(lambda: any(client.processing().values()))
        for clock.ahead in (1.0, 30.0, 62.0):
            assert place.wait(0.1) == []
        clock.ahead = 75.0
        ended: list[tuple[Job, Result]] = []
        until(lambda: ended.extend(place.wait(0.1)) or ended, patience=10)
        assert ended[0][1]["failure"] == "time limit"

    def test_what_a_job_started_is_gone_with_its_time_limit(
        self, make: Make, tmp_path: Path
    ) -> None:
        file = tmp_path / "numbers"
        result = finished(make(partial(starting, file)), job(limit=0.5))[1]
        assert result["failure"] == "time limit"
        numbers = [int(word) for word in file.read_text().split()]
        assert len(numbers) == 4
        assert until(lambda: not alive(numbers)) < 10

    def test_a_limit_that_passes_between_two_workers_is_no_reason_to_stop(
        self, make: Make, client: Any, clock: SimpleNamespace
    ) -> None:
        """What counts is the time at one worker: 40 of 60 s, and not the 80 s at two."""

        def places() -> set[str]:
            return {worker for worker, keys in client.processing().items() if keys}

        place = make(judges.sleeping)
        place.submit([job(limit=60.0)])
        until(places)
        (first,) = places()
        for clock.ahead in (1.0, 40.0):
            assert place.wait(0.1) == []
        client.run(engine._kill, workers=[first], nanny=True)
        until(lambda: places() - {first})
        for clock.ahead in (41.0, 80.0, 80.5, 81.0):  # what is stopped is told at the next look
            assert place.wait(0.3) == []
        clock.ahead = 200.0
        ended: list[tuple[Job, Result]] = []
        until(lambda: ended.extend(place.wait(0.1)) or ended, patience=10)
        assert ended[0][1]["failure"] == "time limit"

    def test_a_worker_whose_gpu_is_lost_gets_a_fresh_process_and_no_second_try(
        self, make: Make, client: Any, tmp_path: Path
    ) -> None:
        lost = partial(judges.failing, "CUDA error")
        judge = partial(judges.once_then, tmp_path / "first", lost, judges.instant)
        before = {*client.nthreads()}
        result = finished(make(judge), job())[1]
        assert result["failure"] == "CUDA error"
        until(lambda: len({*client.nthreads()} - before) == 1 and len(client.nthreads()) == 2)
        place = make(partial(judges.napping, 0.2))
        pids = {r["worker"] for r in finished(place, job(1), job(2)).values()}
        assert len(pids) == 2
        assert result["worker"] not in pids

    def test_a_worker_that_cannot_load_the_judge_is_a_sentence(
        self, make: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(engine, "_GRACE_SECONDS", 60.0)  # for a worker that is just slow
        (tmp_path / "only_there.py").write_text("def judge(job): return {}")
        monkeypatch.syspath_prepend(tmp_path)
        with pytest.raises(PangaeaError, match=r"the worker tls://.* cannot run .*'only_there'"):
            make(importlib.import_module("only_there").judge)
        assert finished(make(judges.instant), job()).keys() == {1}

    def test_a_worker_that_does_not_answer_is_not_waited_for(self, make: Make, client: Any) -> None:
        hung = client.submit(judges.holding, job(), pure=False)  # of another driver
        until(lambda: any(client.processing().values()))
        began = time.monotonic()
        assert finished(make(judges.instant), job()).keys() == {1}
        assert time.monotonic() - began < 20
        (worker,) = [worker for worker, keys in client.processing().items() if hung.key in keys]
        hung.cancel()
        until(lambda: not any(client.processing().values()))
        client.run(engine._kill, workers=[worker], nanny=True)

    def test_two_drivers_of_one_cluster_hear_only_of_their_own_jobs(
        self, make: Make, client: Any
    ) -> None:
        with Client(client.scheduler.address, set_as_default=False) as second:
            one, other = make(judges.instant), Dask(second, judges.instant)
            one.submit([job(1)])
            assert finished(other, job(2)).keys() == {2}
            until(lambda: one.wait(0.1) or not one.running)
            assert (one.running, other.running) == (0, 0)

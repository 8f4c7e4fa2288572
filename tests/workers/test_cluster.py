"""Where workers are: pinned, quiet, on loopback, gone with their driver; and clusters by hand."""

import os
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import psutil
import pytest

from pangaea.errors import PangaeaError, UnknownNameError
from pangaea.study.driver import resume, search
from pangaea.study.stages import PROPOSED
from pangaea.study.study import Study
from pangaea.workers import cluster
from pangaea.workers.place import Place
from tests.study.driving import Drivers, until
from tests.study.fixtures import ByHand
from tests.study.judges import ENVIRONMENT, instant, napping


def environments(client: Any) -> list[list[str]]:
    def told() -> list[str]:
        return [os.environ.get(name, "unset") for name in names]

    names = ENVIRONMENT
    return sorted(client.run(told).values())


def workers_of(pid: int) -> list[psutil.Process]:
    return psutil.Process(pid).children(recursive=True)


def gone(processes: list[psutil.Process]) -> bool:
    return not any(p.is_running() and p.status() != psutil.STATUS_ZOMBIE for p in processes)


@pytest.fixture(scope="module")
def local() -> Iterator[Any]:
    with cluster.client(Place(workers=2)) as client:
        yield client


def test_workers_have_one_thread_and_see_no_gpu(local: Any) -> None:
    assert [*local.nthreads().values()] == [1, 1]
    assert environments(local) == [["1", "1", ""]] * 2


def test_nothing_listens_beyond_this_machine(local: Any) -> None:
    heard = [
        connection.laddr.ip
        for process in [psutil.Process(), *workers_of(os.getpid())]
        for connection in process.net_connections(kind="inet")
        if connection.status == psutil.CONN_LISTEN
    ]
    assert len(heard) >= 5  # the scheduler, and two workers, each with its nanny
    assert {*heard} == {"127.0.0.1"}


def test_each_worker_is_pinned_to_its_gpu_and_comes_back_to_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(cluster, "visible", lambda gpus: ["3", "GPU-7f"])
    pinned = [["1", "1", "3"]] * 2 + [["1", "1", "GPU-7f"]] * 2
    with cluster.client(Place(gpus="all", jobs_per_gpu=2)) as client:
        until(lambda: len(client.nthreads()) == 4)
        assert environments(client) == pinned
        address, pid = next(iter(client.run(os.getpid).items()))
        psutil.Process(pid).kill()
        until(lambda: len(now := client.nthreads()) == 4 and address not in now)
        assert environments(client) == pinned


def test_no_worker_outlives_a_driver_that_was_killed(path: Path, drivers: Drivers) -> None:
    """Not even one that is deep in C code and holds the interpreter."""
    driver = drivers.start(path, "holding", candidates=4, workers=2, runs=0)
    until(path.exists)
    until(lambda: len(Study.open(path).pending(PROPOSED)) == 2)
    left = workers_of(driver.pid)
    assert len(left) >= 2
    time.sleep(0.5)  # until both are asleep
    driver.kill()
    assert until(lambda: gone(left)) < 10


def test_workers_that_cannot_be_started_are_a_sentence(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cluster, "_PRELOAD", "module_of_nobody")
    with pytest.raises(PangaeaError, match="cannot be started: No module named 'module_of_nobody'"):
        search("mnist1d", study=path, workers=1, judge=instant)
    assert not path.exists()


@pytest.mark.parametrize(
    ("name", "near"), [("slrum", "slurm"), ("HTCondor", "htcondor"), ("localhost:8786", "tcp://")]
)
def test_an_unknown_cluster_is_a_sentence_with_the_nearest_names(name: str, near: str) -> None:
    with (
        pytest.raises(UnknownNameError, match=f"no cluster is called '{name}'.*{near}"),
        cluster.client(Place(cluster=name)),
    ):
        pass


@pytest.mark.parametrize("address", ["tcp://127.0.0.1:1", "tcp://host.invalid:8786", "htp://x:1"])
def test_a_scheduler_that_does_not_answer_is_a_sentence(
    address: str, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cluster, "_ANSWER_SECONDS", 0.5)
    with pytest.raises(PangaeaError, match=f"no Dask scheduler answers at {address}: ") as caught:
        search("mnist1d", study=path, cluster=address, judge=instant)
    assert "\n" not in str(caught.value)
    assert not path.exists()


def test_without_a_gpu_gpus_are_a_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("torch.cuda.device_count", lambda: 0)
    with pytest.raises(PangaeaError, match="there is no GPU here that torch can use"):
        cluster.visible("all")


def test_gpus_are_named_as_this_process_sees_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("torch.cuda.device_count", lambda: 3)
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    assert cluster.visible("all") == ["0", "1", "2"]
    assert cluster.visible("2, 0") == ["2", "0"]
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "4,6,7")
    assert cluster.visible("all") == ["4", "6", "7"]
    assert cluster.visible("2,0") == ["7", "4"]
    for wrong in ("3", "-1", "one", "", "0,,1"):
        with pytest.raises(PangaeaError, match="`all` or numbers from 0 to 2"):
            cluster.visible(wrong)


def test_a_search_runs_on_a_cluster_started_by_hand(path: Path, by_hand: ByHand) -> None:
    how: dict[str, Any] = {"cluster": by_hand.address, "judge": partial(napping, 0.02)}
    search("mnist1d", study=path, candidates=20, runs=2, **how).close()
    with Study.open(path) as study:
        rows = study.table()
        assert [row["number"] for row in rows if row["score"]] == list(range(1, 21))
        assert len({row["worker"] for row in rows}) == 2
        assert f"/{os.getpid()}" not in "".join(row["worker"] for row in rows)
        assert len(study.runs("test")) == 8


def test_a_scheduler_that_goes_away_is_a_sentence_and_nothing_is_lost(
    path: Path, by_hand: ByHand, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(cluster, "_ANSWER_SECONDS", 2)

    def pull_the_plug(row: dict[str, Any]) -> None:
        if row["number"] == 5:
            by_hand.scheduler.kill()

    how: dict[str, Any] = {"cluster": by_hand.address, "judge": partial(napping, 0.02)}
    with pytest.raises(PangaeaError, match="the Dask scheduler is gone; resume the study"):
        search("mnist1d", study=path, candidates=20, runs=0, callback=pull_the_plug, **how)
    (line,) = capfd.readouterr().err.splitlines()
    assert "run programs as you" in line
    resume(path, workers=0, judge=instant).close()
    with Study.open(path) as study:
        assert [row["number"] for row in study.table() if row["score"]] == list(range(1, 21))

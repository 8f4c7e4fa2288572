"""What we take from the inside of Dask is there, and does what we take it for.

A failure here means that an installed version differs from those that pyproject.toml allows: mend
`pangaea/workers/dask_inside.py`, and nothing else.
"""

import ast
import asyncio
import gc
import inspect
import os
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from importlib.metadata import version
from multiprocessing import spawn
from pathlib import Path
from typing import Any

import pytest
from distributed import Client, Nanny, Scheduler
from distributed.batched import BatchedSend
from distributed.comm import core as comm_core

from pangaea.workers import cluster, dask_inside
from pangaea.workers.place import Place
from tests.study.driving import until

PACKAGE = Path(dask_inside.__file__).parents[1]


def lacks(name: str) -> str:
    return (
        f"distributed {version('distributed')} has no {name} as we know it: "
        "see pangaea/workers/dask_inside.py"
    )


@pytest.fixture
def here() -> Iterator[Any]:
    with cluster._local(Place(workers=1)) as workers:
        yield workers


@pytest.fixture
def client(here: Any) -> Iterator[Any]:
    address = dask_inside.inproc_address(here)
    with Client(address, loop=here.loop, security=here.security, set_as_default=False) as some:
        yield some


def test_a_scheduler_tells_where_it_listens_without_a_socket(here: Any) -> None:
    assert len(here.scheduler.listeners) == 2, lacks("Scheduler.listeners")
    assert dask_inside.inproc_address(here).startswith("inproc://"), lacks("contact_address")


def test_a_client_sends_its_messages_as_soon_as_it_is_told_to(client: Any) -> None:
    assert isinstance(client.scheduler_comm, BatchedSend), lacks("Client.scheduler_comm")
    assert isinstance(client.scheduler_comm.interval, float), lacks("BatchedSend.interval")
    assert "self.interval" in inspect.getsource(BatchedSend._background_send), lacks(
        "BatchedSend.interval"
    )
    dask_inside.hurry(client)
    assert client.scheduler_comm.interval == 0.001


def clients() -> list[Any]:
    return [each for each in gc.get_objects() if issubclass(type(each), Client)]


@pytest.mark.parametrize(
    ("address", "error"),
    [("tcp://127.0.0.1:port", ValueError), ("tls://127.0.0.1:9", TypeError), ("x://", ValueError)],
)
def test_a_client_that_cannot_begin_is_closed_before_the_next_one_is_made(
    address: str, error: type[Exception]
) -> None:
    others = clients()  # of other tests
    with pytest.raises(error) as raised:  # whose traceback keeps the client
        dask_inside.client(address, timeout=1, set_as_default=False)
    (client,) = (each for each in clients() if each not in others)
    assert client.status == "closed", lacks("Client.start")
    assert not client._loop_runner.is_started(), lacks("Client._loop_runner")
    del raised


def test_workers_are_asked_and_not_waited_for_longer_than_is_said(client: Any) -> None:
    assert hasattr(Client, "_run"), lacks("Client._run")
    workers = list(client.nthreads())
    (number,) = client.run(os.getpid).values()
    assert dask_inside.ask(client, workers, 10, os.getpid) == {workers[0]: number}
    (error,) = dask_inside.ask(client, workers, 10, divmod, 1, 0).values()
    assert isinstance(error, ZeroDivisionError), lacks("on_error='return' in Client._run")
    began = time.monotonic()
    with pytest.raises(TimeoutError):
        dask_inside.ask(client, workers, 0.2, time.sleep, 6)
    assert time.monotonic() - began < 5, lacks("callback_timeout in Client.sync")


def test_a_killed_worker_of_a_search_that_ends_has_no_successor(here: Any, client: Any) -> None:
    (nanny,) = here.workers.values()
    assert isinstance(nanny, Nanny), lacks("SpecCluster.workers")
    first = nanny.pid
    assert first == next(iter(client.run(os.getpid).values())), lacks("Nanny.pid")
    dask_inside.kill_workers(here)
    until(lambda: nanny.pid != first)
    time.sleep(0.5)
    assert nanny.pid is None, lacks("Nanny.close_gracefully")
    assert not client.nthreads()


def test_a_worker_process_does_not_import_the_main_module(client: Any) -> None:
    original = spawn.get_preparation_data("x")
    assert isinstance(original, dict)

    def main_file() -> str:
        import sys

        return str(getattr(sys.modules["__main__"], "__file__", "none"))

    (file,) = client.run(main_file).values()
    assert "pytest" not in file, "multiprocessing.spawn.get_preparation_data is no longer asked"
    before = spawn.get_preparation_data
    with dask_inside.without_main():
        assert not [key for key in spawn.get_preparation_data("x") if key.startswith("init_main")]
        assert spawn.get_preparation_data is not before
    assert spawn.get_preparation_data is before


def test_a_nanny_notices_that_its_scheduler_is_gone() -> None:
    async def outlast() -> bool:
        quiet = {"dashboard": False, "dashboard_address": "127.0.0.1:0"}
        scheduler = await Scheduler(port=0, host="127.0.0.1", **quiet)
        nanny = type("N", (), {"scheduler_addr": scheduler.address, "connection_args": {}})()
        waiting = asyncio.create_task(dask_inside.outlast_scheduler(nanny))
        await asyncio.sleep(0.3)
        early = waiting.done()
        await scheduler.close()
        await asyncio.wait_for(waiting, 5)
        return early

    assert hasattr(comm_core, "connect"), lacks("comm.core.connect")
    with ThreadPoolExecutor(1) as pool:  # the browser of other tests leaves a loop in this thread
        assert pool.submit(lambda: asyncio.run(outlast())).result() is False
    code = inspect.getsource(Nanny.__init__)
    for name in ("self.scheduler_addr =", "self.connection_args ="):
        assert name in code, lacks(f"Nanny: {name}")


def test_nothing_else_in_the_package_touches_what_is_private_there() -> None:
    """An underscore after something that is not `self` or a module of our own."""
    strangers = {"_run", "scheduler_comm", "listeners", "auto_restart", "get_preparation_data"}
    strangers |= {"worker_spec", "new_worker_spec", "new_spec", "observed", "job_id"}
    strangers |= {"scheduler_addr", "connection_args", "contact_address", "close_gracefully"}
    for file in PACKAGE.rglob("*.py"):
        if file.name == "dask_inside.py":
            continue
        names = {n.attr for n in ast.walk(ast.parse(file.read_text("utf-8"))) if hasattr(n, "attr")}
        assert not names & strangers, f"{file} touches {names & strangers}: dask_inside.py may"

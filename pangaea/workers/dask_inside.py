"""What Dask, dask-jobqueue and multiprocessing do not promise, and this package needs all the same.

Nothing else touches it; `tests/workers/test_dask_inside.py` says what a new version has changed.
"""

import contextlib
import os
import signal
from collections.abc import Callable, Iterator
from multiprocessing import spawn
from typing import Any

_SEND_SECONDS = 0.001


def inproc_address(cluster: Any) -> str:
    """Where a scheduler of this process hears its driver without a socket."""
    addresses = [listener.contact_address for listener in cluster.scheduler.listeners]
    (address,) = [address for address in addresses if address.startswith("inproc://")]
    return str(address)


def client(address: Any, **options: Any) -> Any:
    """A client; one that cannot begin is closed at once.

    `Client` leaves that to the garbage collector, which may come to it while another client is
    being made, and then each of the two waits for the other.
    """
    from distributed import Client

    class Closing(Client):
        def start(self, **options: Any) -> None:
            try:
                super().start(**options)  # type: ignore[no-untyped-call]
            except BaseException:
                self.close()  # type: ignore[no-untyped-call]
                self._loop_runner.stop()  # type: ignore[no-untyped-call]
                raise

    return Closing(address, **options)  # type: ignore[no-untyped-call]


def hurry(client: Any) -> None:
    """Dask lets 10 ms pass between two messages: 176 instant jobs a second instead of 250."""
    client.scheduler_comm.interval = _SEND_SECONDS


def ask(
    client: Any, workers: list[str], seconds: float, function: Callable[..., Any], *arguments: Any
) -> dict[str, Any]:
    """What a function returns at each worker, or the error; `Client.run` has no time limit."""
    how = {"workers": workers, "on_error": "return", "callback_timeout": seconds}
    answers: dict[str, Any] = client.sync(client._run, function, *arguments, **how)
    return answers


def kill_workers(cluster: Any) -> None:
    """Nobody waits for what workers may still be doing when a search ends."""
    for nanny in cluster.workers.values():
        nanny.close_gracefully()  # starts no other in its place
        if nanny.pid is not None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(nanny.pid, signal.SIGKILL)


@contextlib.contextmanager
def without_main() -> Iterator[None]:
    """A new process imports the main module by its file; a plain script would search again."""
    whole = spawn.get_preparation_data

    def prepared(name: str) -> dict[str, Any]:
        return {key: value for key, value in whole(name).items() if not key.startswith("init_main")}

    spawn.get_preparation_data = prepared
    try:
        yield
    finally:
        spawn.get_preparation_data = whole


async def outlast_scheduler(nanny: Any) -> None:
    """Nobody writes on this connection; it breaks when the other end is gone."""
    from distributed.comm.core import connect

    with contextlib.suppress(OSError):
        comm = await connect(  # type: ignore[no-untyped-call]
            nanny.scheduler_addr, **nanny.connection_args
        )
        while True:
            await comm.read()


# A job of dask-jobqueue's cluster: an entry in `worker_spec` as long as it is wanted, and one in
# `workers` once it was submitted. Awaiting the cluster makes the second follow the first.


def workers_of_a_job(cluster: Any) -> int:
    return int(cluster.new_spec["options"]["processes"])


def jobs_wanted(cluster: Any) -> list[str]:
    return list(cluster.worker_spec)


def want_job(cluster: Any) -> None:
    cluster.worker_spec.update(cluster.new_worker_spec())


def drop_job(cluster: Any, name: str) -> None:
    del cluster.worker_spec[name]


def jobs_with_workers(cluster: Any) -> set[str]:
    """The jobs of which at least one worker is here."""
    return {
        name
        for name, job in cluster.worker_spec.items()
        if not cluster.observed.isdisjoint(f"{name}{part}" for part in job.get("group", [""]))
    }


def job_number(cluster: Any, name: str) -> str | None:
    """The batch system's number of a job; none if it was not submitted."""
    return cluster.workers[name].job_id if name in cluster.workers else None


async def submit_jobs(cluster: Any) -> None:
    """Submit the jobs that are wanted and not there yet."""
    await cluster


def give_up_refused_jobs(cluster: Any) -> bool:
    """See to it that they are submitted again the next time; returns if there are no others."""
    from distributed import Status

    refused = [job for job in cluster.workers.values() if job.job_id is None]
    for job in refused:
        job.status = Status.failed
    return len(refused) == len(cluster.workers)

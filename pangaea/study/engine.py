"""Engines: where jobs run. The search loop submits and waits, and knows no more of them."""

import contextlib
import math
import os
import queue
import signal
import time
from collections import deque
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any, Protocol

from pangaea.errors import PangaeaError
from pangaea.study import cluster
from pangaea.study.judge import Job, Judge, Result, failed, stamped

# Beyond the limit, for a worker to stop by itself.
_GRACE_SECONDS = 5.0
_LOOK_SECONDS = 1.0
_STARTED = "pangaea-started"


class Engine(Protocol):
    @property
    def running(self) -> int: ...

    def slots(self) -> int:
        """How many jobs can run at once, as far as is known now."""

    def submit(self, jobs: Sequence[Job]) -> None: ...

    def wait(self, seconds: float) -> list[tuple[Job, list[Result]]]:
        """The jobs that have ended, with a result for each seed; maybe none within the time."""


class InProcess:
    """Jobs run here, one after another: for debugging, notebooks, machines without Dask."""

    def __init__(self, judge: Judge) -> None:
        self._judge = judge
        self._waiting: deque[Job] = deque()

    @property
    def running(self) -> int:
        return len(self._waiting)

    def slots(self) -> int:
        return 1

    def submit(self, jobs: Sequence[Job]) -> None:
        self._waiting.extend(jobs)

    def wait(self, seconds: float) -> list[tuple[Job, list[Result]]]:
        job = self._waiting.popleft()
        results = self._judge(job)
        if any(result.get("failure") == "CUDA error" for result in results):
            raise PangaeaError(
                f"the GPU is lost to this process ({results[0]['detail']}): resume the study; with "
                "--gpus a lost worker is replaced instead"
            )
        return [(job, results)]


class Dask:
    """Jobs run on the workers of a Dask cluster."""

    def __init__(self, client: Any, judge: Judge) -> None:
        self._client = client
        self._judge = judge
        self._jobs: dict[str, tuple[Any, Job]] = {}  # key to future and job
        self._ended: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self._started: dict[str, tuple[float, str]] = {}  # key to when, and at which worker
        self._over: set[str] = set()  # cancelled for their time limit
        self._slots, self._looked = 0, -math.inf
        client.subscribe_topic(_STARTED, self._note_start)

    @property
    def running(self) -> int:
        return len(self._jobs)

    def slots(self) -> int:
        now = time.monotonic()
        if now - self._looked > _LOOK_SECONDS:
            self._slots, self._looked = len(self._client.nthreads()), now
        return self._slots

    def submit(self, jobs: Sequence[Job]) -> None:
        futures = self._client.map(partial(_at_worker, self._judge), jobs, pure=False)
        for future, job in zip(futures, jobs, strict=True):
            self._jobs[future.key] = future, job
            future.add_done_callback(self._ended.put)

    def wait(self, seconds: float) -> list[tuple[Job, list[Result]]]:
        futures = []
        with contextlib.suppress(queue.Empty):
            futures.append(self._ended.get(timeout=seconds))
            while True:
                futures.append(self._ended.get_nowait())
        values = iter(self._client.gather([f for f in futures if f.status == "finished"]))
        ended = []
        for future in futures:
            _, job = self._jobs.pop(future.key)
            self._started.pop(future.key, None)
            if future.status == "finished":
                worker, results = next(values)
                if any(result.get("failure") == "CUDA error" for result in results):
                    self._replace(worker)
            else:
                results = stamped(self._failed(future, job), time.time(), None)
            ended.append((job, results))
        self._stop_overdue()
        return ended

    def _failed(self, future: Any, job: Job) -> list[Result]:
        """Why a job has no result: it took its workers with it, or it was stopped."""
        if future.status == "error":
            error = future.exception()
            if type(error).__name__ == "KilledWorker":
                return failed(job, "worker killed", "each worker that tried it died")
            return failed(job, "exception", f"{type(error).__name__}: {error}"[:2000])
        if future.key in self._over:
            self._over.remove(future.key)
            return failed(job, "time limit", f"not done after {job.limit:.0f} s")
        raise PangaeaError("the Dask scheduler is gone; resume the study when it is back")

    def _note_start(self, event: tuple[float, Any]) -> None:
        _, (key, worker) = event
        self._started[key] = time.monotonic(), worker

    def _stop_overdue(self) -> None:
        """Cancel what outlasts its limit, and replace its worker, which cannot be interrupted."""
        now = time.monotonic()
        for key, (future, job) in list(self._jobs.items()):
            started, worker = self._started.get(key, (now, ""))
            if job.limit is None or now - started < job.limit + _GRACE_SECONDS:
                continue
            del self._started[key]
            if key not in self._client.processing([worker]).get(worker, ()):
                continue  # its worker died; it will start again elsewhere
            self._over.add(key)
            future.cancel()
            while key in self._client.processing([worker]).get(worker, ()):
                time.sleep(0.01)
            self._replace(worker)

    def _replace(self, worker: str) -> None:
        """Kill a worker's process; its nanny starts a new one."""
        with contextlib.suppress(Exception):  # it may have died by itself
            self._client.run(_kill, workers=[worker], nanny=True)


def _at_worker(judge: Judge, job: Job) -> tuple[str, list[Result]]:
    from distributed import get_worker

    worker = get_worker()
    if job.limit is not None:  # nobody else asks when it began
        worker.log_event(_STARTED, (worker.get_current_task(), worker.address))
    results = judge(job)
    return worker.address, results


def _kill(dask_worker: Any) -> None:
    os.kill(dask_worker.pid, signal.SIGKILL)


@contextlib.contextmanager
def engine(
    judge: Judge,
    workers: int | None = None,
    gpus: str | None = None,
    jobs_per_gpu: int = 1,
    where: str | None = None,
) -> Iterator[Engine]:
    """Workers on this machine by default; 0 workers are this process."""
    if workers is not None and workers < 0:
        raise PangaeaError(f"workers must be at least 0, got {workers}")
    if jobs_per_gpu < 1:
        raise PangaeaError(f"jobs per GPU must be at least 1, got {jobs_per_gpu}")
    if workers == 0:
        yield InProcess(judge)
        return
    with cluster.client(where, workers, gpus, jobs_per_gpu) as client:
        yield Dask(client, judge)

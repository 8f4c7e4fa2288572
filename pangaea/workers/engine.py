"""Engines: where jobs run. The search loop submits and waits, and knows no more of them."""

import contextlib
import json
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
from pangaea.workers import cluster, dask_inside
from pangaea.workers.curves import Curves
from pangaea.workers.judge import Job, Judge, Result, failed, sound, stamped
from pangaea.workers.place import Place

# Beyond the limit, for a worker to stop by itself.
_GRACE_SECONDS = 5.0
_LOOK_SECONDS = 1.0
_QUIET_SECONDS = 0.02
_MANY = 100
_ENDED = "pangaea-ended"
# A scheduler remembers the last 1,000 events; what is longer is asked for.
_LONG = 10_000
_GONE = "the Dask scheduler is gone; resume the study when it is back"


class Engine(Protocol):
    @property
    def running(self) -> int: ...

    def slots(self) -> int:
        """How many jobs can run at once, as far as is known now."""

    def submit(self, jobs: Sequence[Job]) -> None: ...

    def wait(self, seconds: float) -> list[tuple[Job, Result]]:
        """The jobs that have ended, with their results; maybe none within the time."""


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

    def wait(self, seconds: float) -> list[tuple[Job, Result]]:
        job = self._waiting.popleft()
        result, _ = _judged(self._judge, job)  # what JSON does not know has failed
        if result.get("failure") == "CUDA error":
            raise PangaeaError(
                f"the GPU is lost to this process ({result['detail']}): resume the study; with "
                "--gpus a lost worker is replaced instead"
            )
        return [(job, result)]


class Dask:
    """Jobs run on the workers of a Dask cluster.

    A worker sends its results as an event, at a third of the cost of being asked for them; a job's
    future says why none came.
    """

    def __init__(self, client: Any, judge: Judge) -> None:
        self._client = client
        self._judge = judge
        self._jobs: dict[str, tuple[Any, Job]] = {}  # key to future and job
        self._ended: queue.SimpleQueue[tuple[str, str, str]] = queue.SimpleQueue()
        self._seen: dict[tuple[str, str], float] = {}  # key and its worker to since when
        self._over: set[str] = set()  # cancelled for their time limit
        self._done: list[Any] = []  # futures to let go
        self._met: set[str] = set()  # workers that can load the judge
        self._slots, self._looked = 0, -math.inf
        client.subscribe_topic(_ENDED, lambda event: self._ended.put(event[1]))
        dask_inside.hurry(client)
        self._look()

    @property
    def running(self) -> int:
        return len(self._jobs)

    def slots(self) -> int:
        return self._slots

    def submit(self, jobs: Sequence[Job]) -> None:
        futures = self._client.map(partial(_at_worker, self._judge), jobs, pure=False)
        for future, job in zip(futures, jobs, strict=True):
            self._jobs[future.key] = future, job

    def wait(self, seconds: float) -> list[tuple[Job, Result]]:
        cluster.tend(self._client)
        self._look()
        ended = []
        with contextlib.suppress(queue.Empty):
            event = self._next(seconds)
            while True:
                ended += self._taken(*event)
                event = self._ended.get_nowait()
        return ended

    def _next(self, seconds: float) -> tuple[str, str, str]:
        """What a worker says next; in a quiet moment, futures are let go."""
        # Not before new jobs are on their way (which made 155 instant jobs a second of 125), and
        # not so late that a job would be done again if its worker died.
        with contextlib.suppress(queue.Empty):
            if len(self._done) < _MANY:
                return self._ended.get(timeout=_QUIET_SECONDS)
        self._done.clear()
        return self._ended.get(timeout=seconds)

    def _taken(self, key: str, worker: str, text: str) -> list[tuple[Job, Result]]:
        if key not in self._jobs:
            return []  # another driver's, or seen before
        future, job = self._jobs.pop(key)
        self._done.append(future)
        if not text and future.status in ("pending", "finished"):
            with contextlib.suppress(Exception):  # the future's status says which
                worker, text = future.result()
        if not text:
            return [(job, stamped(self._failed(future, job), time.time(), None))]
        result = _received(json.loads(text))
        if result.get("failure") == "CUDA error":
            self._replace(worker)
        return [(job, result)]

    def _look(self) -> None:
        """Now and then: who is there, who ended without a word, who takes too long?"""
        now = time.monotonic()
        if now - self._looked < _LOOK_SECONDS:
            return
        here = self._client.nthreads()
        self._slots, self._looked = len(here), now
        self._meet([worker for worker in here if worker not in self._met])
        for key, (future, _) in self._jobs.items():
            if future.status != "pending":
                self._ended.put((key, "", ""))
        self._stop_overdue(now)

    def _meet(self, workers: list[str]) -> None:
        """A new worker that cannot load the judge would close at its first job, without a word."""
        if not workers:
            return
        try:
            answers = dask_inside.ask(self._client, workers, _GRACE_SECONDS, _ready, self._judge)
        except TimeoutError:  # deep in C code for another driver
            answers = dict.fromkeys(workers)
        for worker, answer in answers.items():
            if not isinstance(answer, Exception):
                self._met.add(worker)
            elif not isinstance(answer, OSError):  # that would be a worker that has just died
                raise PangaeaError(
                    f"the worker {worker} cannot run a search ({answer}): it needs the packages "
                    "that the driver has"
                )

    def _failed(self, future: Any, job: Job) -> Result:
        """Why a job has no result: it took its workers with it, or it was stopped."""
        if future.status == "error":
            error = future.exception()
            if type(error).__name__ == "KilledWorker":
                return failed("worker killed", "each worker that tried it died")
            return failed("exception", f"{type(error).__name__}: {error}"[:2000])
        if future.key in self._over:
            self._over.remove(future.key)
            return failed("time limit", f"not done after {job.limit:.0f} s")
        raise PangaeaError(_GONE)

    def _stop_overdue(self, now: float) -> None:
        """Cancel what outlasts its limit, and replace its worker, which cannot be interrupted.

        The scheduler says what runs where, for a worker deep in C code says nothing.
        """
        if all(job.limit is None for _, job in self._jobs.values()):
            return
        running = self._client.processing()
        firsts = [(keys[0], worker) for worker, keys in running.items() if keys]
        self._seen = {pair: self._seen.get(pair, now) for pair in firsts}
        for (key, worker), since in self._seen.items():
            if key not in self._jobs:
                continue
            future, job = self._jobs[key]
            if job.limit is not None and now - since > job.limit + _GRACE_SECONDS:
                self._over.add(key)
                future.cancel()
                while key in self._client.processing().get(worker, ()):
                    time.sleep(0.01)
                self._replace(worker)

    def _replace(self, worker: str) -> None:
        """Kill a worker's process; its nanny starts a new one."""
        self._done.clear()  # or what it has done would be done again
        with contextlib.suppress(Exception):  # it may have died by itself
            self._client.run(_kill, workers=[worker], nanny=True)


def _judged(judge: Judge, job: Job) -> tuple[Result, str]:
    """What the judge says, and as JSON; an error of its own, or nonsense, is a result too."""
    started = time.time()
    try:
        result = sound(judge(job))
        whole = {"seconds", "finished"} <= result.keys()
        return _sent(result if whole else stamped(result, started, None))
    except Exception as error:
        result = failed("exception", f"{type(error).__name__}: {error}"[:2000])
        return _sent(stamped(result, started, None))


def _sent(result: Result) -> tuple[Result, str]:
    """As it arrives, and the text that is sent; curves are text in it, made once for all."""
    if result.get("curves"):
        result = result | {"curves": json.dumps(result["curves"])}
    return _received(result), json.dumps(result)


def _received(result: Result) -> Result:
    return result | {"curves": Curves(result["curves"])} if result.get("curves") else result


def _at_worker(judge: Judge, job: Job) -> tuple[str, str]:
    from distributed import get_worker

    worker = get_worker()
    _, text = _judged(judge, job)
    short = text if len(text) < _LONG else ""
    worker.log_event(_ENDED, (worker.get_current_task(), worker.address, short))
    return worker.address, text


def _ready(judge: Judge) -> None:
    """The judge, and what it takes to run it, were loaded."""


def _kill(dask_worker: Any) -> None:
    os.kill(dask_worker.pid, signal.SIGKILL)


@contextlib.contextmanager
def engine(judge: Judge, place: Place) -> Iterator[Engine]:
    """Workers on this machine by default; 0 workers are this process."""
    if place.workers == 0:
        yield InProcess(judge)
        return
    with cluster.client(place) as client:
        try:
            yield Dask(client, judge)
        except OSError as error:
            if type(error).__name__ != "CommClosedError":
                raise
            raise PangaeaError(_GONE) from None

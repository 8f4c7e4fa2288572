"""Jobs of a batch system, Slurm or HTCondor, as Dask's `jobqueue` configuration describes them.

A job is `cores` workers of one thread. One that has ended, for it was cancelled or its time was up,
is submitted again. (dask-jobqueue by itself does so only for jobs of one worker that was seen.)
"""

import asyncio
import contextlib
import math
import shutil
import signal
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from pangaea.errors import PangaeaError

_PRELOAD_NANNY = "pangaea.workers.nanny"
_LOOK_SECONDS = 10.0
_VAIN_ROUNDS = 3  # of jobs that end before a worker of theirs is here


class _Queue(NamedTuple):
    title: str
    cluster: str  # dask-jobqueue's class
    needs: tuple[str, ...]  # what must be said of a job
    listing: tuple[str, ...]  # prints the number of every job that waits or runs


QUEUES = {
    "slurm": _Queue(
        title="Slurm",
        cluster="SLURMCluster",
        needs=("cores", "memory"),
        listing=("squeue", "--me", "--noheader", "--format=%A"),
    ),
    "htcondor": _Queue(
        title="HTCondor",
        cluster="HTCondorCluster",
        needs=("cores", "memory", "disk"),
        # A job on hold (5) waits for a person, so it has as good as ended.
        listing=(
            *("condor_q", "-constraint", "JobStatus != 5"),
            *("-format", "%d.", "ClusterId", "-format", "%d\n", "ProcId"),
        ),
    ),
}


class Jobs:
    """Mixed into dask-jobqueue's cluster: as many jobs as were asked for, whatever happens."""

    title: str
    listing: Sequence[str]
    _look_task: "asyncio.Task[None] | None" = None
    _next_look = 0.0

    def submit(self: Any, count: int) -> None:
        self._came: set[str] = set()  # the jobs of which a worker was here
        self._in_vain = 0  # how often jobs have ended without, since one came
        for _ in range(count):
            self.worker_spec.update(self.new_worker_spec())
        self.sync(self._submit)

    def tend(self: Any) -> None:
        """Submit again the jobs that have ended; to be called often, for it waits for nothing."""
        if self._look_task is not None and self._look_task.done():
            self._look_task.result()
            self._look_task = None
        if self._look_task is None and time.monotonic() >= self._next_look:
            # A batch system is not asked more and more for what it cannot give.
            rounds = max(0, self._in_vain - _VAIN_ROUNDS)
            self._next_look = time.monotonic() + _LOOK_SECONDS * 2 ** min(rounds, 8)
            self.sync(self._begin_look)

    def leave(self: Any) -> None:
        """Submit no more."""
        self.sync(self._end_look)

    async def _begin_look(self: Any) -> None:
        self._asked: asyncio.subprocess.Process | None = None
        self._look_task = asyncio.create_task(self._look())

    async def _end_look(self: Any) -> None:
        """Let jobs that are being submitted have their numbers, but wait for no answer."""
        while self._look_task is not None and not self._look_task.done():
            with contextlib.suppress(ProcessLookupError):
                if self._asked is not None:
                    self._asked.kill()
            await asyncio.sleep(0.01)

    async def _look(self: Any) -> None:
        here = self._with_workers()
        if not here <= self._came:
            self._came |= here
            self._in_vain = 0
        ended = await self._ended([name for name in self.worker_spec if name not in here])
        if not ended:
            return
        if not self._came.issuperset(ended):
            self._in_vain += 1
        if self._in_vain > _VAIN_ROUNDS and not here:
            raise PangaeaError(
                f"{self.title}'s jobs end before a worker of theirs is here: what they wrote says "
                "why, and docs/cluster.md where to look; then resume the study"
            )
        for name in ended:
            self.worker_spec.update(self.new_worker_spec())
            del self.worker_spec[name]
        await self._submit()

    def _with_workers(self: Any) -> set[str]:
        """The jobs of which at least one worker is here."""
        return {
            name
            for name, job in self.worker_spec.items()
            if not self.observed.isdisjoint(f"{name}{part}" for part in job.get("group", [""]))
        }

    async def _ended(self: Any, names: Sequence[str]) -> list[str]:
        """Which of these jobs are not in the queue; none as far as is known, if it is silent."""
        if not names:
            return []
        pipe, nowhere = asyncio.subprocess.PIPE, asyncio.subprocess.DEVNULL
        try:
            self._asked = await asyncio.create_subprocess_exec(
                *self.listing, stdout=pipe, stderr=nowhere
            )
        except OSError:
            return []
        said, _ = await self._asked.communicate()
        if self._asked.returncode != 0:
            return []
        listed = said.decode().split()
        return [n for n in names if n not in self.workers or self.workers[n].job_id not in listed]

    async def _submit(self: Any) -> None:
        """Submit what is missing; what is refused is tried again later, if there are others."""
        from distributed import Status

        try:
            await self
        except (RuntimeError, ValueError, OSError) as error:
            refusal = str(error).strip().splitlines()[-1]
        else:
            return
        for job in self.workers.values():
            if job.job_id is None:
                job.status = Status.failed
        if all(job.job_id is None for job in self.workers.values()):
            raise PangaeaError(f"{self.title} takes no job of this search: {refusal}")


@contextlib.contextmanager
def jobs(
    name: str, workers: int | None, preload: str, environment: Mapping[str, str]
) -> Iterator[Any]:
    """A Dask cluster of jobs with so many workers, none of them left when the block ends."""
    made = cluster(name, preload, environment)
    with made:
        per_job = made.new_spec["options"]["processes"]
        made.submit(math.ceil((workers or per_job) / per_job))
        try:
            yield made
        finally:
            made.leave()


def cluster(name: str, preload: str, environment: Mapping[str, str]) -> Any:
    """The cluster, with no jobs yet."""
    import dask

    def said(key: str) -> Any:
        return dask.config.get(f"jobqueue.{name}.{key}", None)

    queue = QUEUES[name]
    kind = _kind(name)
    for command in (kind.job_cls.submit_command, queue.listing[0]):
        if shutil.which(command) is None:
            raise PangaeaError(
                f"--cluster {name} needs the command {command}, which is not here: search from a "
                f"machine that submits to {queue.title}"
            )
    if missing := [need for need in queue.needs if said(need) is None]:
        raise PangaeaError(
            f"--cluster {name} needs to know the {' and '.join(missing)} of a job: "
            "~/.config/dask/jobqueue.yaml says it, and docs/cluster.md how"
        )
    job = {
        "processes": said("cores"),
        "worker_extra_args": [
            *(said("worker-extra-args") or []),
            *("--preload", preload, "--preload-nanny", _PRELOAD_NANNY),
            # The batch system minds the memory; Dask would pause a worker that needs it.
            *("--memory-limit", "0"),
            # There is a page all the same, for its own machine alone.
            *("--no-dashboard", "--dashboard-address", "127.0.0.1:0"),
        ],
        "job_script_prologue": [
            *(said("job-script-prologue") or []),
            *(f"export {key}={value}" for key, value in environment.items()),
        ],
    }
    pages = {"dashboard": False, "dashboard_address": "127.0.0.1:0"}
    # How to reach a queue elsewhere is said for the command that cancels.
    ask, *options = queue.listing
    tending = {
        "title": queue.title,
        "listing": [ask, *(said("cancel-command-extra") or []), *options],
    }
    try:
        if not (isinstance(said("cores"), int) and said("cores") > 0):
            raise ValueError(f"cores must be a whole number above 0, got {said('cores')!r}")
        kind.job_cls(**job)  # a cluster that is told nonsense does not end without noise
        return type(queue.cluster, (Jobs, kind), tending)(
            **job, scheduler_options=pages | (said("scheduler-options") or {})
        )
    except (ValueError, TypeError, RuntimeError) as error:
        reason = " ".join(str(error).split())
        raise PangaeaError(
            f"--cluster {name} is configured in a way that does not work: {reason}; "
            "docs/cluster.md shows one that does"
        ) from None


def _kind(name: str) -> Any:
    """dask-jobqueue's class. Its import takes Ctrl-C for itself, which is the driver's."""
    mine = signal.getsignal(signal.SIGINT)
    try:
        import dask_jobqueue
    except ImportError:
        raise PangaeaError(
            f"--cluster {name} needs dask-jobqueue: pip install 'pangaea[cluster]'"
        ) from None
    except ValueError:
        raise PangaeaError(f"--cluster {name} is for a program's main thread alone") from None
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGINT, mine)
    return getattr(dask_jobqueue, QUEUES[name].cluster)

"""Jobs of a batch system, Slurm or HTCondor, as Dask's `jobqueue` configuration describes them.

A job is `cores` workers of one thread. One that has ended, for it was cancelled or its time was up,
is submitted again. (dask-jobqueue by itself does so only for jobs of one worker that was seen.)
"""

import contextlib
import math
import shutil
import signal
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from pangaea.errors import PangaeaError

_PRELOAD_NANNY = "pangaea.study.nanny"
_LOOK_SECONDS = 10.0
_VAIN_ROUNDS = 3  # of jobs that end before there is any worker


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

    queue: _Queue
    worker_spec: dict[str, Any]
    _next_look = 0.0
    _in_vain = 0

    def submit(self: Any, count: int) -> None:
        for _ in range(count):
            self.worker_spec.update(self.new_worker_spec())
        self.sync(self._submit)

    def tend(self: Any) -> None:
        """Submit again the jobs that have ended; to be called now and then."""
        if time.monotonic() >= self._next_look:
            self.sync(self._tend)
            self._next_look = time.monotonic() + _LOOK_SECONDS

    async def _tend(self: Any) -> None:
        here = self.observed
        without = [
            name
            for name, job in self.worker_spec.items()
            if here.isdisjoint(f"{name}{part}" for part in job.get("group", [""]))
        ]
        if here:
            self._in_vain = 0
        ended = await self._ended(without)
        if not ended:
            return
        if not here:
            self._in_vain += 1
        if self._in_vain > _VAIN_ROUNDS:
            raise PangaeaError(
                f"{self.queue.title}'s jobs end before a worker of theirs is here (job "
                f"{self.workers[ended[-1]].job_id} was the last): what they wrote says why, and "
                "docs/cluster.md where to look"
            )
        for name in ended:
            self.worker_spec.update(self.new_worker_spec())
            del self.worker_spec[name]
        await self._submit()

    async def _ended(self: Any, names: Sequence[str]) -> list[str]:
        """Which of these jobs are not in the queue; none as far as is known, if it is silent."""
        if not names:
            return []
        try:
            listed = (await self.job_cls._call(self.queue.listing)).split()
        except (RuntimeError, OSError):
            return []
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
            raise PangaeaError(f"{self.queue.title} takes no job of this search: {refusal}")


@contextlib.contextmanager
def jobs(
    name: str, workers: int | None, preload: str, environment: Mapping[str, str]
) -> Iterator[Any]:
    """A Dask cluster of jobs with so many workers, none of them left when the block ends."""
    made = cluster(name, preload, environment)
    with made:
        per_job = made.new_spec["options"]["processes"]
        made.submit(math.ceil((workers or per_job) / per_job))
        yield made


def cluster(name: str, preload: str, environment: Mapping[str, str]) -> Any:
    """The cluster, with no jobs yet."""
    import dask

    queue = QUEUES[name]
    kind = _kind(name)
    command = kind.job_cls.submit_command
    if shutil.which(command) is None:
        raise PangaeaError(
            f"--cluster {name} needs the command {command}, which is not here: search from a "
            f"machine that submits to {queue.title}"
        )
    said = dask.config.get(f"jobqueue.{name}")
    if missing := [need for need in queue.needs if said.get(need) is None]:
        raise PangaeaError(
            f"--cluster {name} needs to know the {' and '.join(missing)} of a job: "
            "~/.config/dask/jobqueue.yaml says it, and docs/cluster.md how"
        )
    job = {
        "processes": said["cores"],
        "worker_extra_args": [
            *(said.get("worker-extra-args") or []),
            *("--preload", preload, "--preload-nanny", _PRELOAD_NANNY),
            # The batch system minds the memory; Dask would pause a worker that needs it.
            *("--memory-limit", "0"),
            # There is a page all the same, for its own machine alone.
            *("--no-dashboard", "--dashboard-address", "127.0.0.1:0"),
        ],
        "job_script_prologue": [
            *(said.get("job-script-prologue") or []),
            *(f"export {key}={value}" for key, value in environment.items()),
        ],
    }
    pages = {"dashboard": False, "dashboard_address": "127.0.0.1:0"}
    try:
        kind.job_cls(**job)  # a cluster that is told nonsense does not end without noise
        return type(queue.cluster, (Jobs, kind), {"queue": queue})(
            **job, scheduler_options=pages | (said.get("scheduler-options") or {})
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

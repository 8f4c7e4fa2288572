"""Jobs of a batch system, Slurm or HTCondor, as Dask's `jobqueue` configuration describes them.

A job is `cores` workers of one thread. One that has ended, for it was cancelled or its time was up,
is submitted again. (dask-jobqueue by itself does so only for jobs of one worker that was seen.)
"""

import asyncio
import contextlib
import math
import os
import shutil
import signal
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from pangaea.errors import PangaeaError
from pangaea.workers import credentials, dask_inside

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
            dask_inside.want_job(self)
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
        here = dask_inside.jobs_with_workers(self)
        if not here <= self._came:
            self._came |= here
            self._in_vain = 0
        absent = [name for name in dask_inside.jobs_wanted(self) if name not in here]
        ended = await self._ended(absent)
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
            dask_inside.want_job(self)
            dask_inside.drop_job(self, name)
        await self._submit()

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
        listing, _ = await self._asked.communicate()
        if self._asked.returncode != 0:
            return []
        numbers = listing.decode().split()
        return [name for name in names if dask_inside.job_number(self, name) not in numbers]

    async def _submit(self: Any) -> None:
        """Submit what is missing; what is refused is tried again later, if there are others."""
        try:
            await dask_inside.submit_jobs(self)
        except (RuntimeError, ValueError, OSError) as error:
            refusal = str(error).strip().splitlines()[-1]
        else:
            return
        if dask_inside.give_up_refused_jobs(self):
            raise PangaeaError(f"{self.title} takes no job of this search: {refusal}")


def _configured(name: str, key: str) -> Any:
    """What `jobqueue.yaml` has to say."""
    import dask

    return dask.config.get(f"jobqueue.{name}.{key}", None)


@contextlib.contextmanager
def _credentials(name: str) -> Iterator[Any]:
    """Files in a folder that jobs see: the home, unless the configuration knows a better one."""
    shared = _configured(name, "shared-temp-directory") or "~"
    folder = Path(os.path.expandvars(shared)).expanduser()
    if not os.access(folder, os.W_OK):
        raise PangaeaError(
            f"--cluster {name} keeps a key for its jobs in {folder}, where nothing can be written: "
            "name another folder that they see as shared-temp-directory in jobqueue.yaml"
        )
    with credentials.in_files(folder) as security:
        yield security


@contextlib.contextmanager
def jobs(
    name: str, workers: int | None, preload: str, environment: Mapping[str, str]
) -> Iterator[Any]:
    """A Dask cluster of jobs with so many workers, none of them left when the block ends."""
    kind = _kind(name)
    with (
        _credentials(name) as security,
        cluster(name, kind, preload, environment, security) as some,
    ):
        per_job = dask_inside.workers_of_a_job(some)
        some.submit(math.ceil((workers or per_job) / per_job))
        try:
            yield some
        finally:
            some.leave()


def cluster(
    name: str, kind: Any, preload: str, environment: Mapping[str, str], security: Any
) -> Any:
    """The cluster, with no jobs yet."""
    queue = QUEUES[name]
    _check(name, kind)
    job = _job(name, preload, environment)
    pages = {"dashboard": False, "dashboard_address": "127.0.0.1:0"}
    # How to reach a queue elsewhere is said for the command that cancels.
    ask, *options = queue.listing
    tending = {
        "title": queue.title,
        "listing": [ask, *(_configured(name, "cancel-command-extra") or []), *options],
    }
    try:
        kind.job_cls(**job)  # a cluster that is told nonsense does not end without noise
        return type(queue.cluster, (Jobs, kind), tending)(
            **job,
            security=security,
            scheduler_options=pages | (_configured(name, "scheduler-options") or {}),
        )
    except (ValueError, TypeError, RuntimeError) as error:
        raise _unfit(name, " ".join(str(error).split())) from None


def _check(name: str, kind: Any) -> None:
    """Are the commands here, and is there what every job needs?"""
    queue = QUEUES[name]
    for command in (kind.job_cls.submit_command, queue.listing[0]):
        if shutil.which(command) is None:
            raise PangaeaError(
                f"--cluster {name} needs the command {command}, which is not here: search from a "
                f"machine that submits to {queue.title}"
            )
    if missing := [need for need in queue.needs if _configured(name, need) is None]:
        raise PangaeaError(
            f"--cluster {name} needs to know the {' and '.join(missing)} of a job: "
            "~/.config/dask/jobqueue.yaml says it, and docs/cluster.md how"
        )
    cores = _configured(name, "cores")
    if not (isinstance(cores, int) and cores > 0):
        raise _unfit(name, f"cores must be a whole number above 0, got {cores!r}")


def _unfit(name: str, reason: str) -> PangaeaError:
    return PangaeaError(
        f"--cluster {name} is configured in a way that does not work: {reason}; "
        "docs/cluster.md shows one that does"
    )


def _job(name: str, preload: str, environment: Mapping[str, str]) -> dict[str, Any]:
    """What the configuration says of a job, and what its workers need besides."""
    return {
        "processes": _configured(name, "cores"),
        "worker_extra_args": [
            *(_configured(name, "worker-extra-args") or []),
            *("--preload", preload, "--preload-nanny", _PRELOAD_NANNY),
            # The batch system minds the memory; Dask would pause a worker that needs it.
            *("--memory-limit", "0"),
            # There is a page all the same, for its own machine alone.
            *("--no-dashboard", "--dashboard-address", "127.0.0.1:0"),
        ],
        "job_script_prologue": [
            *(_configured(name, "job-script-prologue") or []),
            *(f"export {key}={value}" for key, value in environment.items()),
        ],
    }


def _kind(name: str) -> Any:
    """dask-jobqueue's class. Its import takes Ctrl-C for itself, which is the driver's."""
    handler = signal.getsignal(signal.SIGINT)
    try:
        import dask_jobqueue
    except ImportError:
        raise PangaeaError(
            f"--cluster {name} needs dask-jobqueue: pip install 'pangaea-search[cluster]'"
        ) from None
    except ValueError:
        raise PangaeaError(f"--cluster {name} is for a program's main thread alone") from None
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGINT, handler)
    return getattr(dask_jobqueue, QUEUES[name].cluster)

"""Where the workers are: this machine's cores or GPUs, a running scheduler, Slurm or HTCondor."""

import contextlib
import logging
import os
import signal
from collections.abc import Iterator
from multiprocessing import spawn
from typing import Any

from pangaea.errors import PangaeaError, UnknownNameError
from pangaea.workers import batch
from pangaea.workers.mps import mps, worthwhile
from pangaea.workers.place import Place

_PRELOAD = "pangaea.workers.worker"
# A worker that speaks to a driver which has just left is "critical" to Dask.
_SILENT = logging.CRITICAL + 1
_ANSWER_SECONDS = 30
# One thread a worker: two processes of one thread train at twice the rate of one with two.
_ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")
_CONFIG = {
    # The third worker that a candidate takes with it is the last.
    "distributed.scheduler.allowed-failures": 2,
    # A job waits here, not at a worker: who dies beside it is not its fault.
    "distributed.scheduler.worker-saturation": 1.0,
    "distributed.scheduler.work-stealing": False,
    # A restarted worker is not a lost one, however often it happens.
    "distributed.deploy.lost-worker-timeout": "1 hour",
    "distributed.comm.timeouts.connect": "30s",
    # A long epoch in C code is no reason to warn, or to give a worker up.
    "distributed.scheduler.worker-ttl": None,
    "distributed.admin.tick.limit": "1 hour",
    # What Dask keeps and measures for its own developers: a quarter of the driver's work.
    "distributed.worker.profile.enabled": False,
    "distributed.admin.tick.interval": "1s",
    "distributed.admin.system-monitor.interval": "10s",
    "distributed.admin.low-level-log-length": 10,
}


def cores() -> int:
    """The cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@contextlib.contextmanager
def client(place: Place) -> Iterator[Any]:
    """A Dask client with its workers, gone when the block ends."""
    where = place.cluster
    try:
        import dask
        from distributed import Client
    except ImportError:
        raise PangaeaError(
            "workers need Dask: pip install distributed, or search with --workers 0"
        ) from None
    for name in ("distributed", "distributed.client"):
        logging.getLogger(name).setLevel(_SILENT)
    options: dict[str, Any] = {"timeout": _ANSWER_SECONDS, "set_as_default": False}
    with dask.config.set(_CONFIG), contextlib.ExitStack() as stack:
        if where is None:
            here = stack.enter_context(_local(place))
            # No socket between the driver and the scheduler, which live in one process: a third
            # more instant jobs a second.
            address: Any = here.scheduler.listeners[1].contact_address
            options["loop"] = here.loop
        elif where in batch.QUEUES:
            address = stack.enter_context(batch.jobs(where, place.workers, _PRELOAD, _ONE_THREAD))
        elif "://" in where:
            address = where
        else:
            raise UnknownNameError("cluster", where, (*batch.QUEUES, "tcp://host:8786"))
        try:
            made = Client(address, **options)  # type: ignore[no-untyped-call]
        except (OSError, ValueError) as error:
            raise PangaeaError(f"no Dask scheduler answers at {where}: {error}") from None
        yield stack.enter_context(made)


def tend(client: Any) -> None:
    """See to it that jobs of a batch system which have ended are replaced."""
    if isinstance(client.cluster, batch.Jobs):
        client.cluster.tend()


@contextlib.contextmanager
def _local(place: Place) -> Iterator[Any]:
    """Worker processes of this machine, which listen on loopback alone."""
    from distributed import Nanny, Scheduler, SpecCluster

    quiet = {"dashboard": False, "dashboard_address": "127.0.0.1:0"}
    options = quiet | {
        "host": "127.0.0.1",
        "nthreads": 1,
        "memory_limit": 0,
        "preload": [_PRELOAD],
        "silence_logs": _SILENT,
    }
    listening = {"protocol": ["tcp", "inproc"], "host": ["127.0.0.1", None]}
    with contextlib.ExitStack() as stack:
        shared: dict[str, str] = {}
        seen = [""] * (place.workers or cores())
        if place.gpus is not None:
            each = place.jobs_per_gpu or worthwhile()
            seen = [gpu for gpu in visible(place.gpus) for _ in range(each)]
            shared = stack.enter_context(mps()) if each > 1 else {}
        specification = {
            number: {
                "cls": Nanny,
                "options": options | {"env": _ONE_THREAD | shared | {"CUDA_VISIBLE_DEVICES": gpu}},
            }
            for number, gpu in enumerate(seen)
        }
        stack.enter_context(_without_main())
        try:
            made = SpecCluster(  # type: ignore[no-untyped-call]
                workers=specification,
                scheduler={"cls": Scheduler, "options": quiet | listening},
                silence_logs=_SILENT,
            )
        except RuntimeError as error:
            raise PangaeaError(
                f"the workers cannot be started: {error.__cause__ or error}"
            ) from None
        stack.enter_context(made)
        stack.callback(_kill, made)
        yield made


def _kill(made: Any) -> None:
    """Nobody waits for what workers may still be doing when a search ends."""
    for nanny in made.workers.values():
        nanny.auto_restart = False
        if nanny.pid is not None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(nanny.pid, signal.SIGKILL)


@contextlib.contextmanager
def _without_main() -> Iterator[None]:
    """A new process imports the main module by its file; a plain script would search again."""
    whole = spawn.get_preparation_data

    def prepared(name: str) -> dict[str, Any]:
        return {key: value for key, value in whole(name).items() if not key.startswith("init_main")}

    spawn.get_preparation_data = prepared
    try:
        yield
    finally:
        spawn.get_preparation_data = whole


def visible(gpus: str) -> list[str]:
    """The GPUs that `all` or a list such as `0,1` stands for."""
    import torch

    count = torch.cuda.device_count()
    if count == 0:
        raise PangaeaError("there is no GPU here that torch can use: leave --gpus out")
    here = os.environ.get("CUDA_VISIBLE_DEVICES")
    names = here.split(",") if here else [str(i) for i in range(count)]
    if gpus == "all":
        return names
    chosen = [part.strip() for part in gpus.split(",")]
    for name in chosen:
        if not name.isdecimal() or int(name) >= count:
            raise PangaeaError(f"--gpus is `all` or numbers from 0 to {count - 1}, got {gpus!r}")
    return [names[int(name)] for name in chosen]

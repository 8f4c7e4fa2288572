"""Stand-ins for the commands of a batch system, which keep a job as a file."""

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import dask

from pangaea.workers import batch, cluster
from pangaea.workers.place import Place


class Commands:
    """What a batch system has on its PATH, and its queue, a folder."""

    def __init__(self, folder: Path) -> None:
        self.bin, self.queue = folder / "bin", folder / "queue"
        self.bin.mkdir()
        self.queue.mkdir()
        # Several are submitted at once; only one of them makes a folder.
        count = f"n=1; while ! mkdir {folder}/$n 2> /dev/null; do n=$((n + 1)); done"
        self.write("sbatch", f'{count}; cp "$1" $n; echo "Submitted batch job $n"')
        self.write(
            "condor_submit", f'{count}; cp "$1" $n.0; echo "1 job(s) submitted to cluster $n."'
        )
        for name in ("squeue", "condor_q"):
            self.write(name, "ls")
        for name in ("scancel", "condor_rm"):
            self.write(name, 'rm "$1"')

    def write(self, name: str, script: str) -> None:
        (self.bin / name).write_text(f"#!/bin/sh\nPATH=/bin:/usr/bin\ncd {self.queue}\n{script}\n")
        (self.bin / name).chmod(0o755)

    def jobs(self) -> dict[str, str]:
        """By number, what was submitted."""
        return {job.name: job.read_text() for job in sorted(self.queue.iterdir())}


@contextlib.contextmanager
def jobs(queue: str, workers: int | None = 1, /, **said: Any) -> Iterator[Any]:
    """A client whose workers are jobs, with what the configuration says of them."""
    batch._kind(queue)  # has the defaults
    defaults: dict[str, Any] = {"cores": 1, "memory": "2 GiB", "disk": "1 GB", "interface": "lo"}
    settings = {f"jobqueue.{queue}.{key}": value for key, value in (defaults | said).items()}
    place = Place(cluster=queue, workers=workers)
    with dask.config.set(settings), cluster.client(place) as client:
        yield client

"""Where runs happen: so many workers, on which GPUs, on which cluster."""

import shlex
from dataclasses import asdict, dataclass, replace
from typing import Any

from pangaea.settings import Declared, declarations, setting
from pangaea.tasks.task import Task
from pangaea.workers.mps import worthwhile


@dataclass(frozen=True, kw_only=True)
class Place(Declared):
    """This machine's cores, unless it is told otherwise."""

    workers: int | None = setting(
        None,
        "Worker processes; 0 trains in this process. Default: one for each core.",
        least=0,
        most=100_000,
    )
    gpus: str | None = setting(None, "Workers pinned to these GPUs: all, or numbers such as 0,1.")
    jobs_per_gpu: int | None = setting(
        None,
        "Workers for each GPU. Default: 4 with NVIDIA's MPS and 10 GB each, or 1.",
        least=1,
        most=1_000,
    )
    cluster: str | None = setting(
        None, "slurm, htcondor or a Dask scheduler such as tcp://host:8786."
    )

    @classmethod
    def taken(cls, given: dict[str, Any]) -> "Place":
        """What of these options says where; they are gone from `given` then."""
        return cls(**{d.name: given.pop(d.name) for d in declarations(cls) if d.name in given})

    def suited(self, task: Task) -> "Place":
        """The GPUs of this machine where there are any and the task gains by them."""
        import torch

        here = self.workers is None and self.cluster is None and self.gpus is None
        if here and task.fast_on_gpu and torch.cuda.is_available():
            return replace(self, gpus="all")
        return self

    def sharing(self) -> int:
        """How many workers share a GPU; 1 where each has a core of its own."""
        return 1 if self.gpus is None else self.jobs_per_gpu or worthwhile()

    def options(self) -> str:
        """As they are typed."""
        given = asdict(self)
        words = [
            word
            for declared in declarations(Place)
            if given[declared.name] is not None
            for word in (declared.option, str(given[declared.name]))
        ]
        return shlex.join(words)

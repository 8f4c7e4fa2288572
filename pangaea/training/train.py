"""Training: one function, one network, one data set, one recipe, one seed or several."""

import contextlib
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch

from pangaea.activation.module import Scope, Spec, resolve
from pangaea.errors import PangaeaError, UnknownNameError
from pangaea.training import checkpoint
from pangaea.training.recipes import Recipe
from pangaea.training.result import TrainingResult
from pangaea.training.run import Run
from pangaea.training.start import device_name
from pangaea.training.tasks import Task
from pangaea.training.tasks import task as find_task

PRECISIONS = {"bf16": torch.bfloat16, "fp32": torch.float32}
CHECKPOINT_SECONDS = 120.0
# Runs on one GPU at once. WRN-10-4 with ReLU, H200: an epoch of a run takes 0.33 s with three of
# them (results/wrn-10-4-relu.json), 0.40 s alone (results/training-speed-plain.json).
TOGETHER = 4

Progress = Callable[[float], None]  # told what part of the work is done, from 0 to 1


def train(
    task: Task | str,
    function: Spec,
    recipe: Recipe | str = "full",
    seed: int = 0,
    **options: Any,
) -> TrainingResult:
    """Train once; what happened is in the result, failures included. Options: see `train_seeds`."""
    return train_seeds(task, function, recipe, [seed], **options)[0]


def train_seeds(
    task: Task | str,
    function: Spec,
    recipe: Recipe | str,
    seeds: Sequence[int],
    *,
    scope: Scope | None = None,
    epochs: int | None = None,
    data: str = "validation",
    device: str | torch.device | None = None,
    precision: str | None = None,
    compiled: bool = False,
    checkpoints: Path | str | None = None,
    progress: Progress | None = None,
) -> list[TrainingResult]:
    """Train once for each seed, several at a time where that is faster.

    Accuracies are of the last epoch on `data` (validation or test). On CUDA the default precision
    is bf16, elsewhere fp32. `compiled` sends the network through torch.compile first, which takes
    10 to 50 s and pays in long runs on the CPU. With a folder for `checkpoints`, the same call
    after an interruption goes on where it was.
    """
    on = find_task(task)
    chosen = on.recipe(recipe, epochs)
    resolve(function)
    where = choose_device(device)
    dtype = choose_precision(precision, where)
    if data not in ("validation", "test"):
        raise UnknownNameError("kind of data", data, ("validation", "test"))
    for seed in seeds:
        if isinstance(seed, bool) or not isinstance(seed, int) or seed < 0:
            raise PangaeaError(f"a seed is a whole number from 0, got {seed!r}")
    folder = None if checkpoints is None else Path(checkpoints)
    results: list[TrainingResult] = []
    size = TOGETHER if where.type == "cuda" else 1
    with _settings(where):
        for first in range(0, len(seeds), size):
            group = [
                _Job(on, function, chosen, seed, scope, data, where, dtype, compiled, folder)
                for seed in seeds[first : first + size]
            ]
            done = len(results)

            def report(part: float, done: int = done, now: int = len(group)) -> None:
                if progress is not None:
                    progress((done + part * now) / len(seeds))

            results += _drive(group, report)
    return results


class _Job:
    """What one run is made from, and where it keeps its checkpoints."""

    def __init__(
        self,
        on: Task,
        function: Spec,
        recipe: Recipe,
        seed: int,
        scope: Scope | None,
        data: str,
        device: torch.device,
        dtype: torch.dtype,
        compiled: bool,
        folder: Path | None,
    ) -> None:
        self.make: Callable[[], Run] = lambda: Run(
            on,
            function,
            recipe,
            seed,
            scope=scope,
            data=data,
            device=device,
            dtype=dtype,
            compiled=compiled,
        )
        self.identity = {
            "task": on.name,
            "function": str(resolve(function)),
            "scope": scope,
            "recipe": asdict(recipe),
            "seed": seed,
            "data": data,
            "device": device.type,
            "precision": str(dtype),
        }
        self.blank = TrainingResult(
            task=on.name,
            function=str(resolve(function)),
            scope=scope,
            seed=seed,
            data=data,
            device=device_name(device),
        )
        self.path = folder / f"seed-{seed}.checkpoint" if folder else None
        self.run: Run | None = None

    def start(self) -> Run:
        self.run = self.make()
        if self.path is not None and (saved := checkpoint.load(self.path, self.identity)):
            self.run.restore(saved)
        return self.run

    def keep(self) -> None:
        if self.path is not None and self.run is not None:
            checkpoint.save(self.path, self.identity, self.run.checkpoint())


def _drive(jobs: list[_Job], report: Progress) -> list[TrainingResult]:
    """Take the runs forward side by side, each a step in turn."""
    try:
        if torch.cuda.is_initialized():  # type: ignore[no-untyped-call]
            torch.cuda.reset_peak_memory_stats()
        runs = [job.start() for job in jobs]
        saved = time.monotonic()
        while live := [run for run in runs if not run.done]:
            for run in live:
                run.advance()
            if live[0].at % 32 == 0:
                report(sum(run.part for run in runs) / len(runs))
            if time.monotonic() - saved > CHECKPOINT_SECONDS:
                for job in jobs:
                    job.keep()
                saved = time.monotonic()
        with contextlib.suppress(PangaeaError):  # a full disk takes nothing from a finished run
            for job in jobs:
                job.keep()
        return [run.result for run in runs]
    except torch.OutOfMemoryError as error:
        if len(jobs) > 1:
            # Together they do not fit; one after another they may.
            _forget(jobs)
            return [_drive([job], report)[0] for job in jobs]
        return [_out_of_memory(jobs[0], error)]
    except RuntimeError as error:
        if "can't allocate memory" not in str(error):
            raise
        return [_out_of_memory(jobs[0], error)]
    finally:
        _forget(jobs)


def _forget(jobs: list[_Job]) -> None:
    for job in jobs:
        job.run = None
    if torch.cuda.is_initialized():  # type: ignore[no-untyped-call]
        torch.cuda.empty_cache()


def _out_of_memory(job: _Job, error: Exception) -> TrainingResult:
    job.blank.failure = "out of memory"
    job.blank.detail = ". ".join(str(error).split(". ")[:2])  # with the memory asked for
    return job.blank


def choose_device(device: str | torch.device | None) -> torch.device:
    """The device asked for, or a GPU if there is one."""
    if device is None:
        return torch.device("cuda", 0) if torch.cuda.is_available() else torch.device("cpu")
    try:
        chosen = torch.device(device)
    except RuntimeError:
        raise PangaeaError(f"a device is cpu, cuda or cuda:1, got {device!r}") from None
    if chosen.type == "cuda" and not torch.cuda.is_available():
        raise PangaeaError("no CUDA device can be used here; choose the device cpu")
    if chosen.type not in ("cpu", "cuda"):
        raise PangaeaError(f"a device is cpu, cuda or cuda:1, got {device!r}")
    return torch.device("cuda", chosen.index or 0) if chosen.type == "cuda" else chosen


def choose_precision(precision: str | None, device: torch.device) -> torch.dtype:
    if precision is None:
        return torch.bfloat16 if device.type == "cuda" else torch.float32
    if precision not in PRECISIONS:
        raise UnknownNameError("precision", str(precision), PRECISIONS)
    return PRECISIONS[precision]


@contextlib.contextmanager
def _settings(device: torch.device) -> Iterator[None]:
    """One thread on the CPU, the fastest convolutions on the GPU; the caller's state comes back."""
    threads, benchmark = torch.get_num_threads(), torch.backends.cudnn.benchmark
    torch.backends.cudnn.benchmark = True
    if device.type == "cpu":
        torch.set_num_threads(1)
    try:
        with torch.random.fork_rng(devices=[device] if device.type == "cuda" else []):
            yield
    finally:
        torch.set_num_threads(threads)
        torch.backends.cudnn.benchmark = benchmark

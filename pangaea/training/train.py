"""Training: one function, one subject, one recipe, one seed or several."""

import contextlib
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch

from pangaea import system
from pangaea.activation.module import FunctionLike, Scope
from pangaea.errors import PangaeaError, UnknownNameError
from pangaea.functions.catalog import resolve
from pangaea.training import checkpoint
from pangaea.training.how import How
from pangaea.training.recipes import Recipe
from pangaea.training.result import TrainingResult
from pangaea.training.run import Subject, Training
from pangaea.training.start import device_name

PRECISIONS = {"bf16": torch.bfloat16, "fp32": torch.float32}
# What a run that is cut off loses: half of it on average, as often as it is cut off.
CHECKPOINT_SECONDS = 30.0
# Runs on one GPU at once. WRN-10-4 with ReLU, H200: an epoch of a run takes 0.33 s with three of
# them (results/wrn-10-4-relu.json), 0.40 s alone (results/training-speed-plain.json).
TOGETHER = 4

# What a checkpoint raises that is whole, but not what a run has written.
_UNEXPECTED = (AttributeError, LookupError, RuntimeError, TypeError, ValueError)

Progress = Callable[[float], None]  # told what part of the work is done, from 0 to 1


def train_seeds(
    subject: Subject,
    function: FunctionLike,
    recipe: Recipe,
    seeds: Sequence[int],
    *,
    scope: Scope | None = None,
    part: str = "validation",
    how: How | None = None,
    progress: Progress | None = None,
) -> list[TrainingResult]:
    """Train once for each seed, several at a time where that is faster.

    Scores are of the last epoch on this part of the data. On CUDA the default precision is bf16,
    elsewhere fp32. Compiling takes 10 to 50 s first and pays in long runs on the CPU.
    """
    how = how or How()
    resolve(function)
    where = choose_device(how.device)
    dtype = choose_precision(how.precision, where)
    if part not in ("validation", "test"):
        raise UnknownNameError("part of the data", part, ("validation", "test"))
    for seed in seeds:
        if isinstance(seed, bool) or not isinstance(seed, int) or seed < 0:
            raise PangaeaError(f"a seed is a whole number from 0, got {seed!r}")
    results: list[TrainingResult] = []
    size = TOGETHER if where.type == "cuda" else 1
    with surroundings(where):
        for first in range(0, len(seeds), size):
            group = [
                _Running(subject, function, recipe, seed, scope, part, where, dtype, how)
                for seed in seeds[first : first + size]
            ]
            done = len(results)

            def report(share: float, done: int = done, now: int = len(group)) -> None:
                if progress is not None:
                    progress((done + share * now) / len(seeds))

            results += _drive(group, report)
    return results


class _Running:
    """What one run is made from, and where it keeps its checkpoints."""

    def __init__(
        self,
        subject: Subject,
        function: FunctionLike,
        recipe: Recipe,
        seed: int,
        scope: Scope | None,
        part: str,
        device: torch.device,
        dtype: torch.dtype,
        how: How,
    ) -> None:
        self.make: Callable[[], Training] = lambda: Training(
            subject,
            function,
            recipe,
            seed,
            scope=scope,
            part=part,
            device=device,
            dtype=dtype,
            compiled=how.compile,
        )
        self.identity = {
            "task": subject.name,
            "function": str(resolve(function)),
            "scope": scope,
            "recipe": asdict(recipe),
            "seed": seed,
            "part": part,
            "device": device.type,
            "precision": str(dtype),
        }
        self.blank = TrainingResult(
            task=subject.name,
            function=str(resolve(function)),
            scope=scope,
            budget=recipe.epochs,
            seed=seed,
            part=part,
            device=device_name(device),
        )
        folder = None if how.checkpoints is None else Path(how.checkpoints)
        self.path = folder / f"seed-{seed}.checkpoint" if folder else None
        self.passing, self.keep_model = how.passing, how.keep_model
        self.run: Training | None = None

    def start(self) -> Training:
        self.run = self.make()
        if self.path is not None and (saved := self._saved(self.path)) is not None:
            try:
                self.run.restore(saved)
            except _UNEXPECTED as error:
                if isinstance(error, torch.OutOfMemoryError):
                    raise
                if not self.passing:
                    raise checkpoint.unusable(self.path, error) from error
                self.run = self.make()
        return self.run

    def _saved(self, path: Path) -> dict[str, Any] | None:
        try:
            return checkpoint.load(path, self.identity)
        except PangaeaError:
            if self.passing:  # begun on another device, or unreadable: the run begins again
                return None
            raise

    def keep(self) -> None:
        if self.path is not None and self.run is not None:
            try:
                checkpoint.save(self.path, self.identity, self.run.checkpoint())
            except PangaeaError:
                if not self.passing:
                    raise

    def end(self) -> None:
        """Keep a finished run, so that it is not done again; or leave nothing of it."""
        if self.passing and self.path is not None:
            checkpoint.remove(self.path)
        else:
            with contextlib.suppress(PangaeaError):  # a full disk takes nothing from what is done
                self.keep()


def _drive(started: list[_Running], report: Progress) -> list[TrainingResult]:
    """Take the runs forward side by side, each a step in turn."""
    try:
        if torch.cuda.is_initialized():  # type: ignore[no-untyped-call]
            torch.cuda.reset_peak_memory_stats()
        runs = [running.start() for running in started]
        saved = time.monotonic()
        while live := [run for run in runs if not run.done]:
            for run in live:
                run.advance()
            if live[0].at % 32 == 0:
                report(sum(run.share for run in runs) / len(runs))
            if time.monotonic() - saved > CHECKPOINT_SECONDS:
                for running in started:
                    running.keep()
                saved = time.monotonic()
        for running, run in zip(started, runs, strict=True):
            running.end()
            if running.keep_model:
                run.result.model = run.trained()
        return [run.result for run in runs]
    except RuntimeError as error:
        on_the_host = "can't allocate memory" in str(error)
        if not (on_the_host or isinstance(error, torch.OutOfMemoryError)):
            raise
        if len(started) > 1:
            # Together they do not fit; one after another they may.
            _forget(started)
            return [_drive([running], report)[0] for running in started]
        return [_out_of_memory(started[0], error)]
    finally:
        _forget(started)


def _forget(started: list[_Running]) -> None:
    for running in started:
        running.run = None
    if torch.cuda.is_initialized():  # type: ignore[no-untyped-call]
        torch.cuda.empty_cache()


def _out_of_memory(running: _Running, error: Exception) -> TrainingResult:
    running.blank.failure = "out of memory"
    running.blank.detail = ". ".join(str(error).split(". ")[:2])  # with the memory asked for
    return running.blank


def choose_device(device: str | torch.device | None) -> torch.device:
    """The device asked for, or a GPU if there is one."""
    if device is None:
        return torch.device("cuda", 0) if torch.cuda.is_available() else torch.device("cpu")
    try:
        asked = torch.device(device)
    except RuntimeError:
        raise PangaeaError(f"a device is cpu, cuda or cuda:1, got {device!r}") from None
    if asked.type == "cuda" and not torch.cuda.is_available():
        raise PangaeaError("no CUDA device can be used here; choose the device cpu")
    if asked.type not in ("cpu", "cuda"):
        raise PangaeaError(f"a device is cpu, cuda or cuda:1, got {device!r}")
    return torch.device("cuda", asked.index or 0) if asked.type == "cuda" else asked


def choose_precision(precision: str | None, device: torch.device) -> torch.dtype:
    if precision is None:
        return torch.bfloat16 if device.type == "cuda" else torch.float32
    if precision not in PRECISIONS:
        raise UnknownNameError("precision", str(precision), PRECISIONS)
    return PRECISIONS[precision]


@contextlib.contextmanager
def surroundings(device: torch.device) -> Iterator[None]:
    """One thread on the CPU, the fastest convolutions on the GPU; the caller's state comes back."""
    system.check()
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

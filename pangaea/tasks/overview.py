"""The tasks and how long they take on this machine: measured once, then remembered.

Torch is imported only to measure: what is remembered is read in a moment.
"""

import contextlib
import hashlib
import json
import os
import socket
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pangaea import __version__
from pangaea.errors import PangaeaError
from pangaea.files import cache_folder, replacing

if TYPE_CHECKING:
    from pangaea.tasks.task import Task

_ROOMS = ("activation", "data", "networks", "tasks", "training")  # what a duration depends on
_FOLDER = "tasks"
_OWN = (_FOLDER, "kernels")  # in the cache folder, which may be the data's as well
# Multiplications of a measured step at most: a fraction of a second on any core.
_MOST = 3e8
_ENOUGH_SECONDS = 0.5


def rows(say: Callable[[str], None]) -> list[dict[str, Any]]:
    """One plain row for each task; what only some kinds of tasks know is None for the others."""
    with contextlib.suppress(OSError, ValueError, RuntimeError):
        known: list[dict[str, Any]] = json.loads(_path().read_text(encoding="utf-8"))
        return known
    from pangaea.tasks.finding import task, tasks

    say("measuring how long the tasks take on this machine, this once")
    measured: dict[str, float | None] = {}
    new = [_row(task(name), measured) for name in tasks()]
    with contextlib.suppress(OSError, RuntimeError), replacing(_path()) as file:
        file.write(json.dumps(new).encode())
    return new


def _path() -> Path:
    """Of this machine, with these tasks, and data that is here or not."""
    package = Path(__file__).parents[1]
    sources = sorted(p for room in _ROOMS for p in (package / room).rglob("*.py"))
    code = [(str(p.relative_to(package)), p.stat().st_size, p.stat().st_mtime_ns) for p in sources]
    data = Path(os.environ.get("PANGAEA_DATA") or cache_folder())
    here = (p.relative_to(data) for depth in ("*", "*/*") for p in data.glob(depth))
    files = sorted(str(p) for p in here if p.parts[0] not in _OWN)
    gpus = os.environ.get("CUDA_VISIBLE_DEVICES")
    about = [__version__, socket.gethostname(), gpus, code, str(data), files]
    mark = hashlib.sha256(json.dumps(about).encode()).hexdigest()[:32]
    return cache_folder() / _FOLDER / f"{mark}.json"


def _row(task: "Task", measured: dict[str, float | None]) -> dict[str, Any]:
    data_set = getattr(task, "data_set", None)
    multiplications = getattr(task, "multiplications", None)
    samples = None if data_set is None else data_set.sizes[0]

    def cost(budget: str) -> int | None:
        if multiplications is None or samples is None:
            return None
        # Backward takes two multiplications for each of the way forward.
        return int(3 * multiplications * samples * task.budgets[budget])

    # A network takes as long on one data set of images as on another.
    kind = getattr(task, "network", task.name) + str(task.budgets)
    if kind not in measured:
        measured[kind] = _seconds(task)
    each = measured[kind]  # for a unit of budget
    return {
        "task": task.name,
        "goal": task.goal.label(),
        "baseline": task.baseline,
        "unit": task.unit,
        "search_budget": task.budgets["search"],
        "full_budget": task.budgets["full"],
        "parameters": getattr(task, "parameters", None),
        "search_cost": cost("search"),
        "full_cost": cost("full"),
        "search_seconds": None if each is None else each * task.budgets["search"],
        "full_seconds": None if each is None else each * task.budgets["full"],
        "samples": None if data_set is None else list(data_set.sizes),
        "data_here": None if data_set is None else data_set.here(),
    }


def _seconds(task: "Task") -> float | None:
    """How long a unit of budget takes with the baseline, from a step or a few."""
    import torch

    from pangaea.tasks.classification import Classification
    from pangaea.training.train import surroundings

    device = torch.device("cuda" if task.fast_on_gpu and torch.cuda.is_available() else "cpu")
    if isinstance(task, Classification):
        with surroundings(device):
            return _classification(task, device)
    if task.fast_on_gpu and device.type == "cpu":
        return None  # a step may take a minute
    return _begun(task, device)


def _classification(task: Any, device: Any) -> float:
    """From a step on made-up images, so that no data has to be here."""
    import torch

    samples = task.data_set.sizes[0]
    batch: int = max(1, min(task.full.batch, int(_MOST / (3 * task.multiplications))))
    model = task.build(task.baseline).to(device)
    inputs = torch.rand(batch, *task.data_set.shape, device=device)
    labels = torch.zeros(batch, dtype=torch.int64, device=device)
    times = []
    for _ in range(3):  # the first loads libraries
        started = time.perf_counter()
        task.loss(model(inputs), labels).backward()
        if device.type == "cuda":
            torch.cuda.synchronize(device)
        times.append(time.perf_counter() - started)
    return float(min(times) * samples / batch)


class _EnoughError(Exception):
    """The beginning of a run was seen."""


def _begun(task: "Task", device: Any) -> float | None:
    """From the beginning of a run."""
    from pangaea.training.how import How

    seen: list[tuple[float, float]] = []  # when, and what part was done

    def tell(share: float) -> None:
        seen.append((time.perf_counter(), share))
        if len(seen) > 1 and seen[-1][0] - seen[0][0] > _ENOUGH_SECONDS:
            raise _EnoughError

    budget = task.budgets["search"]
    with contextlib.suppress(_EnoughError, PangaeaError):
        task.train(task.baseline, None, budget, 0, "validation", tell, How(device=str(device)))
    if len(seen) < 2 or seen[-1][1] <= seen[0][1]:
        return None
    (began, first), *_, (ended, last) = seen
    return (ended - began) / (last - first) / budget

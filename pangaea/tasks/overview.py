"""The tasks and what a run takes on this machine, without torch: told in a moment.

`overview.json` says what the tasks are, and what a unit of their budgets takes with the baseline on
two machines (`benchmarks/tasks.py` writes it). What runs have taken here goes before it. As soon as
a task, a network or a data set was added, the tasks themselves are asked, which takes torch.
"""

import contextlib
import json
import os
import shutil
import socket
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from pkgutil import iter_modules
from statistics import median
from typing import TYPE_CHECKING, Any

from pangaea.files import are_here, cache_folder, replacing

if TYPE_CHECKING:
    from pangaea.tasks.task import Task
    from pangaea.training.result import TrainingResult

TABLE = Path(__file__).with_name("overview.json")
HERE = "runs here"
_INNER = ("files", "fast_on_gpu", "seconds")  # what of the table's rows is not for people

Pace = Mapping[tuple[str, str], float]
"""Seconds for a unit of budget, by task and device (cpu, gpu)."""


def rows() -> list[dict[str, Any]]:
    """One plain row for each task; what only some kinds of tasks know is None for the others."""
    table = json.loads(TABLE.read_text(encoding="utf-8"))
    there = {(t["task"], kind): s for t in table["tasks"] for kind, s in t["seconds"].items()}
    here = _remembered()
    gpu = shutil.which("nvidia-smi") is not None and os.environ.get("CUDA_VISIBLE_DEVICES") != ""
    told = []
    for row in table["tasks"] if table["modules"] == modules() else _asked(table):
        kind = "gpu" if gpu and row["fast_on_gpu"] else "cpu"
        each, source = _pace((row["task"], kind), here, there, table["machines"][kind])
        told.append(
            {name: value for name, value in row.items() if name not in _INNER}
            | {
                "search_seconds": each and each * row["search_budget"],
                "full_seconds": each and each * row["full_budget"],
                "seconds_from": source,
                "data_here": None if row["files"] is None else are_here(row["files"]),
            }
        )
    return told


def modules() -> list[str]:
    """The files that tasks come from."""
    specs = map(find_spec, ("pangaea.tasks", "pangaea.networks", "pangaea.data"))
    rooms = (spec.submodule_search_locations for spec in specs if spec is not None)
    return sorted(module.name for room in rooms for module in iter_modules(room))


def _asked(table: dict[str, Any]) -> list[dict[str, Any]]:
    """The table's rows as the code has them now."""
    from pangaea.tasks.finding import task, tasks

    seconds = {row["task"]: row["seconds"] for row in table["tasks"]}
    return [described(task(name)) | {"seconds": seconds.get(name, {})} for name in tasks()]


def _pace(
    what: tuple[str, str], here: Pace, there: Pace, machine: str
) -> tuple[float | None, str | None]:
    """What a unit of budget takes here, and how that is known."""
    if what in here:
        return here[what], HERE
    if what not in there:
        return None, None
    slower = [here[k] / there[k] for k in here.keys() & there.keys() if k[1] == what[1]]
    if not slower:
        return there[what], machine
    times = median(slower)
    return times * there[what], f"{machine}, times {times:.2g} as runs here have shown"


def remember(task: "Task", result: "TrainingResult") -> None:
    """Keep what a run took, if it was the baseline's and no shorter than those of a search."""
    if result.score is None or result.function != task.baseline:
        return
    if result.budget < task.budgets["search"]:  # of a short run, the start is too large a part
        return
    kind = "cpu" if result.device == "cpu" else "gpu"
    with contextlib.suppress(OSError, RuntimeError):
        path = _folder() / kind / f"{task.name.replace('/', '+')}.json"
        with replacing(path) as file:
            file.write(json.dumps(result.seconds / result.budget).encode())


def _remembered() -> dict[tuple[str, str], float]:
    known = {}
    with contextlib.suppress(OSError, RuntimeError):
        for path in _folder().glob("*/*.json"):
            with contextlib.suppress(ValueError):
                task = path.stem.replace("+", "/")
                known[task, path.parent.name] = float(path.read_text(encoding="utf-8"))
    return known


def _folder() -> Path:
    """Of this machine; several may share a home."""
    return cache_folder() / "tasks" / socket.gethostname()


def described(task: "Task") -> dict[str, Any]:
    """What the table says of a task, but for its seconds."""
    data_set = getattr(task, "data_set", None)
    multiplications = getattr(task, "multiplications", None)
    # Backward takes two multiplications for each of the way forward.
    unit = data_set and multiplications and 3 * multiplications * data_set.sizes[0]
    budgets = task.budgets
    return {
        "task": task.name,
        "goal": task.goal.label(),
        "baseline": task.baseline,
        "unit": task.unit,
        "search_budget": budgets["search"],
        "full_budget": budgets["full"],
        "parameters": getattr(task, "parameters", None),
        "search_cost": unit and unit * budgets["search"],
        "full_cost": unit and unit * budgets["full"],
        "samples": data_set and [*data_set.sizes],
        "files": data_set and [*data_set.files],
        "fast_on_gpu": task.fast_on_gpu,
    }

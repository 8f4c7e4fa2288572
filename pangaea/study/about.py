"""What a study says of itself: its settings, its task, what it was made with, and when."""

import json
import math
import platform
import sqlite3
from collections.abc import Callable, Mapping
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, NamedTuple

from pangaea import __version__
from pangaea.errors import PangaeaError, UnknownNameError
from pangaea.study.schema import LAST_MOMENT, NONSENSE, brief, damaged
from pangaea.study.settings import Settings, flat
from pangaea.tasks.goal import Goal

_LEVELS = 50  # of lists and dicts in each other; ours have four
_LETTERS = 100_000  # of an entry
_MOST_BUDGET = 1_000_000_000


class About(NamedTuple):
    settings: Settings
    task: dict[str, Any]  # what is kept of it: name, goal, baseline, budgets, unit, recipe
    goal: Goal
    goals: dict[str, Goal]  # of every task that its runs are on, by the task's name
    versions: dict[str, str]
    created: float


def about(entries: Mapping[str, str], path: Path) -> About:
    """From the entries of a file, which may be a stranger's: each is checked."""

    def entry(name: str, read: Callable[[str], Any]) -> Any:
        try:
            return read(entries[name])
        except KeyError:
            raise damaged(path, f"it has no entry {name!r}") from None
        except UnknownNameError as error:
            kind, unknown, _ = error.arguments
            raise PangaeaError(
                f"{path} has a {kind} that pangaea {__version__} does not know, {unknown[:60]!r}: "
                "open it with the version that made it, or it is damaged"
            ) from None
        except PangaeaError as error:
            raise damaged(path, f"its {name}: {error}") from None
        except NONSENSE as error:
            raise damaged(path, f"its {name}: {brief(error)}") from None

    settings = entry("settings", lambda text: flat(plain(text)))
    task = entry("task", _task)
    goal = _goal(task["goal"])
    goals = entry("goals", _goals) if "goals" in entries else {}
    return About(
        settings=settings,
        task=task,
        goal=goal,
        goals={settings.task: goal} | goals,
        versions=entry("versions", _versions),
        created=entry("created", _moment),
    )


def plain(text: str, longest: int = _LETTERS) -> dict[str, Any]:
    """A dict of plain values from JSON; an error of `NONSENSE` if it is none."""
    if len(text) > longest:
        raise ValueError(f"it has {len(text)} letters")
    value = json.loads(text)
    if not isinstance(value, dict):
        raise ValueError(f"it is a {type(value).__name__}, not a dict")
    if not _shallow(value, _LEVELS):
        raise ValueError(f"it has more than {_LEVELS} levels")
    return value


def _shallow(value: Any, levels: int) -> bool:
    if not isinstance(value, dict | list):
        return True
    inner = value.values() if isinstance(value, dict) else value
    return levels > 0 and all(_shallow(one, levels - 1) for one in inner)


def _task(text: str) -> dict[str, Any]:
    task = plain(text)
    for name, longest in (("name", 4096), ("baseline", 4096), ("unit", 100)):
        value = task.get(name)
        if not isinstance(value, str) or len(value) > longest:
            raise ValueError(f"its {name} is a text of at most {longest} letters")
    budgets = task.get("budgets")
    if not isinstance(budgets, dict) or not {"search", "full"} <= budgets.keys():
        raise ValueError("it has the budgets search and full")
    for name, budget in budgets.items():
        if type(budget) is not int or not 1 <= budget <= _MOST_BUDGET:
            raise ValueError(f"the budget {name[:60]!r} is a whole number from 1 to {_MOST_BUDGET}")
    if not isinstance(task.get("recipe"), dict | None):
        raise ValueError("its recipe is a dict")
    _goal(task["goal"])
    return task


def _goals(text: str) -> dict[str, Goal]:
    return {name: _goal(goal) for name, goal in plain(text).items()}


def _goal(kept: dict[str, Any]) -> Goal:
    goal = Goal(**kept)
    if len(goal.name) + len(goal.unit) > 1000:
        raise ValueError("a goal has a name and a unit of at most 1000 letters")
    return goal


def _versions(text: str) -> dict[str, str]:
    versions = plain(text)
    if not all(isinstance(version, str) for version in versions.values()):
        raise ValueError("a version is a text")
    return versions


def _moment(text: str) -> float:
    moment = float(text)
    if not math.isfinite(moment) or not 0 <= moment <= LAST_MOMENT:
        raise ValueError(f"{moment} is at no time that a calendar has")
    return moment


def versions() -> dict[str, str]:
    """Of everything that a result may depend on."""
    known = {
        "python": platform.python_version(),
        "platform": platform.platform(),
        "pangaea": __version__,
    }
    for package in ("torch", "numpy", "scipy", "dask", "distributed", "triton"):
        try:
            known[package] = version(package)
        except PackageNotFoundError:
            continue
    return known | {"sqlite": sqlite3.sqlite_version}

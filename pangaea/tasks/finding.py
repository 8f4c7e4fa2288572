"""Tasks by name: those of this folder's files, or of a file or module of the user's own."""

from pangaea import scanning
from pangaea.errors import PangaeaError, UnknownNameError
from pangaea.locating import locate, settled
from pangaea.tasks.task import DEFAULT, Task

_LOCATED: dict[str, Task] = {}  # those of files and modules, by where they stand


def task(name: Task | str) -> Task:
    """A task from itself or its name: `mnist1d`, `wrn-10-4/cifar100`, `my_task.py:task`."""
    if isinstance(name, Task):
        return name
    if not isinstance(name, str):
        raise PangaeaError(f"a task is a name such as mnist1d, got {type(name).__name__}")
    if not name.strip():
        raise PangaeaError("a task has a name, such as mnist1d: `pangaea tasks` lists them")
    if ":" in name:
        return _located(name)
    if (known := built_in(name)) is not None:
        return known
    if name.endswith(".py"):
        raise PangaeaError(f"{name} is a file: say which task of it, as in {name}:task")
    raise UnknownNameError("task", name, tasks())


def built_in(name: str) -> Task | None:
    """The task of this name that comes with the package."""
    for module in scanning.modules("pangaea.tasks"):
        if hasattr(module, "find") and (known := module.find(name)) is not None:
            return known  # type: ignore[no-any-return]
    return None


def name_of(task: Task) -> str:
    """The name by which any process finds the task, if it has one; otherwise its own."""
    places = (place for place, value in _LOCATED.items() if value is task)
    return next(places, task.name)


def tasks() -> tuple[str, ...]:
    """The names of the tasks, the default first."""
    modules = [module for module in scanning.modules("pangaea.tasks") if hasattr(module, "names")]
    names = [name for module in modules for name in module.names()]
    return tuple(sorted(names, key=lambda name: name != DEFAULT))


def _located(name: str) -> Task:
    value = locate(name)
    if not isinstance(value, Task):
        raise PangaeaError(
            f"{name} is no task, but of type {type(value).__name__}: make one with pangaea.Task(…)"
        )
    _LOCATED[settled(name)] = value
    return value

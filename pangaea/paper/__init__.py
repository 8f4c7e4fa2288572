"""Every table and figure of the paper as a list of runs: `pg.paper.run("results")`."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pangaea.paper.adding import add as add
    from pangaea.paper.contents import experiment as experiment
    from pangaea.paper.contents import experiments as experiments
    from pangaea.paper.lines import read as read
    from pangaea.paper.running import run as run
    from pangaea.paper.standing import standings as standings

_HOME = {
    "add": "adding",
    "experiment": "contents",
    "experiments": "contents",
    "read": "lines",
    "run": "running",
    "standings": "standing",
}


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOME[name]}"), name)

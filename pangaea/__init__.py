"""Finds better activation functions for a neural network.

Evolution discovers the form of the function, gradient descent tunes its parameters inside the
network: *Discovering Parametric Activation Functions* (PANGAEA), on PyTorch.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pangaea import paper as paper
    from pangaea.activation.module import Activation as Activation
    from pangaea.activation.module import parameter_groups as parameter_groups
    from pangaea.activation.surgery import replace_activations as replace_activations
    from pangaea.errors import PangaeaError as PangaeaError
    from pangaea.errors import ParseError as ParseError
    from pangaea.export import export as export
    from pangaea.functions.catalog import catalog as catalog
    from pangaea.functions.catalog import parse as parse
    from pangaea.functions.equivalence import equivalent as equivalent
    from pangaea.functions.equivalence import fingerprint as fingerprint
    from pangaea.functions.expression import Expression as Expression
    from pangaea.functions.expression import Function as Function
    from pangaea.functions.space import Space as Space
    from pangaea.report import plot as plot
    from pangaea.study.driver import resume as resume
    from pangaea.study.driver import search as search
    from pangaea.study.evaluation import evaluate as evaluate
    from pangaea.study.runs import Runs as Runs
    from pangaea.study.runs import bench as bench
    from pangaea.study.study import Study as Study
    from pangaea.study.study import open_study as open_study
    from pangaea.tasks.evaluate import Evaluation as Evaluation
    from pangaea.tasks.evaluate import train as train
    from pangaea.tasks.evaluate import train_seeds as train_seeds
    from pangaea.tasks.finding import task as task
    from pangaea.tasks.finding import tasks as tasks
    from pangaea.tasks.fitting import fit_task as fit_task
    from pangaea.tasks.goal import Goal as Goal
    from pangaea.tasks.goal import maximize as maximize
    from pangaea.tasks.goal import minimize as minimize
    from pangaea.tasks.own import OwnTask

    Task = OwnTask
    from pangaea.training.recipes import Recipe as Recipe

__version__ = "0.2.0"  # the one place where it is written

# Torch takes a second to import, so nothing is imported before it is asked for.
_HOME = {
    "Activation": "activation.module",
    "Evaluation": "tasks.evaluate",
    "Expression": "functions.expression",
    "Function": "functions.expression",
    "Goal": "tasks.goal",
    "PangaeaError": "errors",
    "ParseError": "errors",
    "Recipe": "training.recipes",
    "Runs": "study.runs",
    "Space": "functions.space",
    "Study": "study.study",
    "Task": "tasks.own",
    "bench": "study.runs",
    "catalog": "functions.catalog",
    "evaluate": "study.evaluation",
    "equivalent": "functions.equivalence",
    "export": "export",
    "fingerprint": "functions.equivalence",
    "fit_task": "tasks.fitting",
    "maximize": "tasks.goal",
    "minimize": "tasks.goal",
    "open_study": "study.study",
    "paper": "paper",
    "parameter_groups": "activation.module",
    "parse": "functions.catalog",
    "plot": "report.plot",
    "replace_activations": "activation.surgery",
    "resume": "study.driver",
    "search": "study.driver",
    "task": "tasks.finding",
    "tasks": "tasks.finding",
    "train": "tasks.evaluate",
    "train_seeds": "tasks.evaluate",
}

__all__ = [*_HOME]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'pangaea' has no attribute {name!r}")
    module = import_module(f"pangaea.{_HOME[name]}")
    # The figures' whole module, and a room that can be called; to people their own task is a task.
    whole = name in ("plot", "export", "paper")
    value = module if whole else getattr(module, {"Task": "OwnTask"}.get(name, name))
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*globals(), *_HOME])

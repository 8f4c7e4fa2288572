"""Finds better activation functions for a neural network.

Evolution discovers the form of the function, gradient descent tunes its parameters inside the
network: *Discovering Parametric Activation Functions* (PANGAEA), on PyTorch.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pangaea.activation.module import Activation as Activation
    from pangaea.activation.module import parameter_groups as parameter_groups
    from pangaea.activation.surgery import replace_activations as replace_activations
    from pangaea.errors import PangaeaError as PangaeaError
    from pangaea.errors import ParseError as ParseError
    from pangaea.functions.catalog import catalog as catalog
    from pangaea.functions.catalog import parse as parse
    from pangaea.functions.equivalence import equivalent as equivalent
    from pangaea.functions.equivalence import fingerprint as fingerprint
    from pangaea.functions.expression import Expression as Expression
    from pangaea.functions.expression import Function as Function
    from pangaea.report import plot as plot
    from pangaea.study.search import resume as resume
    from pangaea.study.search import search as search
    from pangaea.study.study import Study as Study
    from pangaea.study.study import open_study as open_study
    from pangaea.training.evaluate import Evaluation as Evaluation
    from pangaea.training.evaluate import evaluate as evaluate
    from pangaea.training.recipes import Recipe as Recipe
    from pangaea.training.tasks import Task as Task
    from pangaea.training.tasks import task as task
    from pangaea.training.tasks import tasks as tasks
    from pangaea.training.train import train as train
    from pangaea.training.train import train_seeds as train_seeds

__version__ = "0.1.0"

# Torch takes a second to import, so nothing is imported before it is asked for.
_HOME = {
    "Activation": "activation.module",
    "Evaluation": "training.evaluate",
    "Expression": "functions.expression",
    "Function": "functions.expression",
    "PangaeaError": "errors",
    "ParseError": "errors",
    "Recipe": "training.recipes",
    "Study": "study.study",
    "Task": "training.tasks",
    "catalog": "functions.catalog",
    "evaluate": "training.evaluate",
    "equivalent": "functions.equivalence",
    "fingerprint": "functions.equivalence",
    "open_study": "study.study",
    "parameter_groups": "activation.module",
    "parse": "functions.catalog",
    "plot": "report.plot",
    "replace_activations": "activation.surgery",
    "resume": "study.search",
    "search": "study.search",
    "task": "training.tasks",
    "tasks": "training.tasks",
    "train": "training.train",
    "train_seeds": "training.train",
}

__all__ = [*_HOME]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'pangaea' has no attribute {name!r}")
    module = import_module(f"pangaea.{_HOME[name]}")
    value = module if name == "plot" else getattr(module, name)  # the figures' whole module
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*globals(), *_HOME])

"""Small studies, made in a moment."""

from pathlib import Path
from typing import Any

from pangaea.functions.parser import parse
from pangaea.study.driver import search
from pangaea.study.settings import flat
from pangaea.study.stages import SEARCH, STAGES
from pangaea.study.study import Run, Study, Wanted
from pangaea.tasks.goal import Goal, maximize, minimize
from tests.study.judges import instant

ACCURACY = maximize("accuracy", unit="%", failure=10.0, threshold=20.0, digits=2)
LOSS = minimize("validation loss", failure=9.0)
BUDGETS = {"search": 2, "full": 4}
RESULT = {"seconds": 1.0, "finished": 1.0}


def created(path: Path, goal: Goal = ACCURACY, **given: Any) -> Study:
    """A new study, to be written."""
    task = {
        "name": "mnist1d",
        "goal": goal.as_dict(),
        "baseline": "relu(x)",
        "budgets": BUDGETS,
        "unit": "epochs",
    }
    return Study.create(path, flat({"candidates": 5} | given), task)


def wanted(stage: str = SEARCH.name, function: str = "relu(x)", **more: Any) -> Wanted:
    row = STAGES[stage]
    fields = {
        "stage": stage,
        "candidate": None,
        "function": function,
        "task": "mnist1d",
        "scope": None,
        "budget": BUDGETS[row.budget],
        "seed": 0,
        "part": row.part,
    }
    return Wanted(**fields | more)


def ran(study: Study, want: Wanted, **result: Any) -> Run:
    """A run and its result, inside a transaction of the caller."""
    run = study.ask(want)
    study.record(run.number, RESULT | result)
    return run


def candidate(
    study: Study, number: int, text: str, parent: int | None = None, **result: Any
) -> Run:
    """A candidate with its first run, and that one's result if there is one."""
    function = parse(text)
    want = wanted(function=str(function), candidate=number, seed=number)
    with study.transaction():
        study.add(number, str(function), parent, "initial")
        return ran(study, want, **result) if result else study.ask(want)


def searched(path: Path, **given: Any) -> None:
    """A whole search, closed."""
    how = {"candidates": 6, "runs": 1, "workers": 0, "judge": instant} | given
    search("mnist1d", study=path, **how).close()

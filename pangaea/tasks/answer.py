"""What a user's training function returned: its score, or why it is none, and what else is kept."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

from torch import Tensor

from pangaea.tasks.goal import Goal
from pangaea.training.result import TrainingResult


def take(answer: Any, result: TrainingResult, goal: Goal) -> None:
    """Note an answer in a result: a score, or a dict with `score` or `failure`, and more."""
    values = dict(answer) if isinstance(answer, Mapping) else {"score": answer}
    result.failure, result.detail = values.pop("failure", None), values.pop("detail", None)
    if result.failure is None and "score" not in values:
        result.failure = "no score"
        result.detail = f"train returned a dict without 'score': {short(answer)}"
    score = values.pop("score", None)
    _keep(values, result)
    if result.part == "test" and "test" in values:
        result.values.pop("test", None)
        result.values |= _finite({"validation": score})
        score = values["test"]
    if result.failure is None:
        _score(score, result, goal)


def _score(value: Any, result: TrainingResult, goal: Goal) -> None:
    score = number(value)
    if score is None:
        result.failure = "no score"
        result.detail = f"train returned {short(value)} as the {goal.name}, which is not a number"
    elif not math.isfinite(score):
        result.failure, result.detail = "diverged", f"the {goal.name} was {score}"
    else:
        result.score = score


def _keep(values: Mapping[str, Any], result: TrainingResult) -> None:
    """Numbers by their names; `loss`, `training`, `validation` and `parameters` may be curves."""
    result.loss, result.training = _curve(values.get("loss")), _curve(values.get("training"))
    if isinstance(values.get("validation"), Mapping):
        result.validation = _finite(values["validation"])
    if isinstance(values.get("parameters"), Mapping):
        curves = {
            name: [*map(_curve, rows)]
            for name, rows in values["parameters"].items()
            if isinstance(rows, list | tuple)
        }
        result.parameters = {name: rows for name, rows in curves.items() if rows and all(rows)}
        layers = {len(row) for rows in result.parameters.values() for row in rows}
        counts = _curve(values.get("counts"))
        result.counts = [int(count) for count in counts] if layers == {len(counts)} else []
    result.values = {str(name): value for name, value in _finite(values).items()}


def _finite(values: Mapping[Any, Any]) -> dict[Any, float]:
    numbers = {name: number(value) for name, value in values.items()}
    return {name: n for name, n in numbers.items() if n is not None and math.isfinite(n)}


def _curve(values: Any) -> list[float]:
    """A list of finite numbers, or nothing."""
    if not isinstance(values, Sequence) or isinstance(values, str | bytes):
        return []
    numbers = _finite(dict(enumerate(values)))
    return [*numbers.values()] if len(numbers) == len(values) else []


def number(value: Any) -> float | None:
    """A plain number, a NumPy one or a tensor of one element; None for anything else."""
    if isinstance(value, str | bytes | bool) or value is None:
        return None
    try:
        return float(value.detach() if isinstance(value, Tensor) else value)
    except OverflowError:  # a whole number beyond 1e308
        return math.inf if value > 0 else -math.inf
    except (TypeError, ValueError, RuntimeError):
        return None


def short(value: Any) -> str:
    """A value in few words, for a message."""
    text = "nothing" if value is None else " ".join(repr(value).split())
    return text if len(text) <= 60 else text[:57] + "…"

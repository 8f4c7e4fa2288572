"""What training made of a function's parameters, as far as the runs of a study tell."""

import math
from collections.abc import Mapping, Sequence
from statistics import fmean
from typing import TYPE_CHECKING, Any, Protocol

from pangaea.errors import PangaeaError
from pangaea.functions.parser import parse
from pangaea.study.stages import EVALUATION, PAPER, PROPOSED, RERANK, TEST

if TYPE_CHECKING:
    from pangaea.activation.module import Activation
    from pangaea.study.study import Study

Parameters = dict[str, list[list[float]]]
"""By name, each parameter's mean by epoch (the first before training) and layer."""


class Recorded(Protocol):
    """A study, or what was read of one."""

    def runs(self, stage: str | None = None) -> list[dict[str, Any]]: ...
    def curves(self, run: int) -> dict[str, Any]: ...


def recorded(study: Recorded, function: str, task: str | None = None) -> Parameters:
    """A function's parameters through its longest training that there is a record of."""
    written = _longest(study, function, task).get("parameters", {})
    if not isinstance(written, dict):
        return {}
    parameters = {n: written[n] for n in parse(function).parameters if written.get(n)}
    return parameters if all(map(_by_layer, parameters.values())) else {}


def weights(study: Recorded, function: str, task: str | None = None) -> list[float] | None:
    """How many parameters each layer has, so that a mean is over the whole network."""
    counts = _longest(study, function, task).get("counts")
    if not isinstance(counts, list) or not counts or not all(map(_number, counts)):
        return None  # of a time in which they were not kept
    return counts if min(counts) > 0 else None


def _longest(study: Recorded, function: str, task: str | None) -> dict[str, Any]:
    """The curves of a function's longest training, on one task or on any."""
    runs = [
        run
        for stage in (TEST.name, RERANK.name, PAPER.name, EVALUATION.name, *PROPOSED)
        for run in study.runs(stage)
        if run["function"] == function and task in (None, run["task"]) and run["score"] is not None
    ]
    return study.curves(max(runs, key=lambda run: run["budget"])["run"]) if runs else {}


def mean(layers: Sequence[float], counts: Sequence[float] | None) -> float:
    """Over the whole network, as the paper averages; over the layers, if no counts fit them."""
    return fmean(layers, counts if counts and len(counts) == len(layers) else None)


def _by_layer(epochs: Any) -> bool:
    """Are these a parameter's values, by epoch and layer?"""
    return isinstance(epochs, list) and all(
        isinstance(layers, list) and layers and all(map(_number, layers)) for layers in epochs
    )


def _number(value: Any) -> bool:
    return isinstance(value, int | float) and math.isfinite(value)


def by_layer(parameters: Parameters) -> dict[str, list[float]]:
    """After training, layer by layer."""
    return {name: epochs[-1] for name, epochs in parameters.items()}


def at_the_end(study: Recorded, function: str) -> dict[str, float]:
    """Each parameter's mean after training, over the whole network; nothing if one is missing."""
    layers, counts = by_layer(recorded(study, function)), weights(study, function)
    if layers.keys() != {*parse(function).parameters}:
        return {}
    return {name: mean(values, counts) for name, values in layers.items()}


def activation(
    study: "Study", number: int | None, layer: int | None, options: Mapping[str, Any]
) -> "Activation":
    """A candidate as a module that starts where training left it: on average, or in a layer.

    A layer of a function that was trained again or tested has each of its values, unless options
    ask for another shape.
    """
    from pangaea.activation.module import Activation

    text = _candidate(study, number)
    if layer is not None and (module := _kept(study, text, layer, options)) is not None:
        return module
    layers = by_layer(recorded(study, text))
    missing = [name for name in parse(text).parameters if name not in layers]
    if missing:
        raise PangaeaError(
            f"{study.path} has no record of what training made of {', '.join(missing)} in {text}: "
            f'pangaea.Activation("{text}") starts at 1'
        )
    count = min(map(len, layers.values()), default=0)
    if layer is not None and layers and not 1 <= layer <= count:
        raise PangaeaError(f"{text} was trained in layers 1 to {count}, got layer {layer}")
    counts = weights(study, text)
    trained = {n: mean(v, counts) if layer is None else v[layer - 1] for n, v in layers.items()}
    return Activation(text, **{"scope": study.settings.scope, "init": trained, **options})


def _kept(
    study: "Study", function: str, layer: int, options: Mapping[str, Any]
) -> "Activation | None":
    """A layer with a value for each channel or neuron, if they are in the study and asked for."""
    runs = [run for stage in (TEST, RERANK) for run in study.runs(stage.name)]
    runs.sort(key=lambda run: run["budget"], reverse=True)  # the best trained ones first
    numbers = (
        run["run"] for run in runs if run["function"] == function and run["score"] is not None
    )
    rows: list[Any] = next(
        (kept for run in numbers if (kept := study.curves(run).get("trained"))), []
    )
    if options or not 1 <= layer <= len(rows):
        return None
    from pangaea.activation.values import restored

    try:
        return restored(function, rows[layer - 1])
    except (KeyError, TypeError, ValueError, RuntimeError, PangaeaError) as error:
        raise PangaeaError(f"{study.path} is damaged: {error}") from None


def _candidate(study: "Study", number: int | None) -> str:
    """The text of a candidate, of the best if no number is given."""
    rows = study.best(1) if number is None else study.table()
    for row in rows:
        if number is None or row["number"] == number:
            return str(row["function"])
    what = "candidate that could be trained" if number is None else f"candidate {number}"
    raise PangaeaError(f"{study.path} has no {what}")

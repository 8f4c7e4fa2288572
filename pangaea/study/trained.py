"""What training made of a function's parameters, as far as the runs of a study tell."""

import math
from collections.abc import Mapping
from statistics import fmean
from typing import TYPE_CHECKING, Any, Protocol

from pangaea.errors import PangaeaError
from pangaea.functions.parser import parse
from pangaea.study.stages import PROPOSED, RERANK, TEST

if TYPE_CHECKING:
    from pangaea.activation.module import Activation
    from pangaea.study.study import Study

Parameters = dict[str, list[list[float]]]
"""By name, each parameter's mean by epoch (the first before training) and layer."""


class Recorded(Protocol):
    """A study, or what was read of one."""

    def runs(self, stage: str | None = None) -> list[dict[str, Any]]: ...
    def curves(self, run: int) -> dict[str, Any]: ...


def recorded(study: Recorded, function: str) -> Parameters:
    """A function's parameters through the longest training that there is a record of."""
    runs = [
        run
        for stage in (TEST.name, RERANK.name, *PROPOSED)
        for run in study.runs(stage)
        if run["function"] == function and run["score"] is not None
    ]
    if not runs:
        return {}
    longest = max(runs, key=lambda run: run["budget"])
    written = study.curves(longest["run"]).get("parameters", {})
    if not isinstance(written, dict):
        return {}
    parameters = {n: written[n] for n in parse(function).parameters if written.get(n)}
    return parameters if all(map(_by_layer, parameters.values())) else {}


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


def at_the_end(parameters: Parameters) -> dict[str, float]:
    """Each parameter's mean over the layers after training."""
    return {name: fmean(layers) for name, layers in by_layer(parameters).items()}


def activation(
    study: "Study", number: int | None, layer: int | None, options: Mapping[str, Any]
) -> "Activation":
    """A candidate as a module that starts where training left it: on average, or in a layer."""
    from pangaea.activation.module import Activation

    text = _candidate(study, number)
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
    trained = {n: fmean(v) if layer is None else v[layer - 1] for n, v in layers.items()}
    return Activation(text, **{"scope": study.settings.scope, "init": trained, **options})


def _candidate(study: "Study", number: int | None) -> str:
    """The text of a candidate, of the best if no number is given."""
    rows = study.best(1) if number is None else study.table()
    for row in rows:
        if number is None or row["number"] == number:
            return str(row["function"])
    what = "candidate that could be trained" if number is None else f"candidate {number}"
    raise PangaeaError(f"{study.path} has no {what}")

"""What training made of a network's activations: as plain data, and as modules again."""

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.parameter import UninitializedParameter

from pangaea.activation import state
from pangaea.activation.module import Activation, Scope
from pangaea.errors import PangaeaError, UnknownNameError
from pangaea.functions.catalog import resolve

# Of one network, 100 KB in a study; WRN-10-4 has 3,600 with three parameters for each channel.
_MOST_NUMBERS = 10_000
_SHOWN = 6  # names in a message


def activations(model: nn.Module) -> dict[str, Activation]:
    """By their names, in the network's order."""
    return {name: m for name, m in model.named_modules() if isinstance(m, Activation)}


def layers(model: object) -> list[dict[str, Any]]:
    """Each activation's values; none if one of them is not finite, or there are too many."""
    if not isinstance(model, nn.Module):
        return []
    rows = []
    for name, module in activations(model).items():
        tensors = {p: getattr(module, p) for p in module.parameter_names}
        if any(isinstance(tensor, UninitializedParameter) for tensor in tensors.values()):
            return []
        values = {p: _plain(tensor) for p, tensor in tensors.items()}
        where = {"layer": name, "scope": module.scope, "channel_dim": module.channel_dim}
        rows.append(where | {"values": values})
    numbers = [p for m in activations(model).values() for p in m.parameters()]
    count = sum(p.numel() for p in numbers)
    sound = all(bool(p.isfinite().all()) for p in numbers)
    return rows if sound and 0 < count <= _MOST_NUMBERS else []


def _plain(tensor: Tensor) -> Any:
    """Numbers in nested lists, with the nine digits that a float32 has."""

    def rounded(value: Any) -> Any:
        return [*map(rounded, value)] if isinstance(value, list) else float(f"{value:.9g}")

    return rounded(tensor.detach().tolist())


def restored(function: str, row: Mapping[str, Any]) -> Activation:
    """The module that a row of `layers` tells of."""
    module = Activation(function, row["scope"], channel_dim=row["channel_dim"])
    module.load_state_dict({name: torch.tensor(value) for name, value in row["values"].items()})
    return module


def of_model(model: nn.Module, layer: str | int | None = None) -> Activation:
    """The activation of this name, or number from 1; the only one needs neither."""
    known = activations(model)
    return known[_selected([*known], layer)]


def of_state(weights: Mapping[str, Any], layer: str | int | None = None) -> Activation:
    """The same from a state dict, which has the function's text and where its channels are."""
    texts = {
        key.removesuffix(state.KEY): state.read(value)
        for key, value in weights.items()
        if key == state.KEY or key.endswith(f".{state.KEY}")
    }
    functions = {prefix: known for prefix, known in texts.items() if _is_function(known[0])}
    name = _selected([prefix.removesuffix(".") for prefix in functions], layer)
    prefix = f"{name}." if f"{name}." in functions else name
    function, channel_dim = functions[prefix]
    try:
        values = {p: weights[prefix + p].detach() for p in resolve(function).parameters}
    except (AttributeError, KeyError) as error:
        raise PangaeaError(f"the state of {name} is not whole: {error} is missing") from None
    dimensions = max((value.ndim for value in values.values()), default=0)
    scope: Scope = "layer" if dimensions == 0 else "channel" if dimensions == 1 else "neuron"
    module = Activation(function, scope, channel_dim=channel_dim)
    module.load_state_dict(values)
    return module


def _is_function(text: str) -> bool:
    try:
        return bool(resolve(text))
    except PangaeaError:
        return False  # of somebody else's module


def _selected(names: Sequence[str], layer: str | int | None) -> str:
    if not names:
        raise PangaeaError(
            "there is no Activation in it: replace_activations puts a function into a model"
        )
    if layer is None and len(names) == 1:
        return names[0]
    if layer is None:
        some = ", ".join(names[:_SHOWN]) + (", …" if len(names) > _SHOWN else "")
        raise PangaeaError(
            f"there are {len(names)} activations in it: say which layer, by its name ({some}) or "
            f"its number from 1"
        )
    if isinstance(layer, str):
        if layer not in names:
            raise UnknownNameError("layer", layer, names)
        return layer
    if not 1 <= layer <= len(names):
        raise PangaeaError(f"layers are numbered from 1 to {len(names)}, got {layer}")
    return names[layer - 1]

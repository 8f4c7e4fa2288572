"""What is exported: a function, what it is called there, and the values of its parameters."""

import keyword
import math
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pangaea.errors import PangaeaError, UnknownNameError
from pangaea.functions.catalog import catalog, resolve
from pangaea.functions.expression import Function
from pangaea.functions.learnable import Learnable, initial, usual_scope

if TYPE_CHECKING:
    from torch import nn

    from pangaea.activation.module import Activation

_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,59}")
# A source with a number for every neuron of a large layer helps nobody.
_MOST_NUMBERS = 100_000


@dataclass(frozen=True, slots=True)
class Values:
    """The parameters' values: numbers for the whole layer, or flat lists of one shape.

    A shape of one dimension is that of the channels, at `channel_dim` of the input, or, where
    that is None, of the input's last dimension.
    """

    numbers: Mapping[str, float | list[float]]
    shape: tuple[int, ...] = ()
    channel_dim: int | None = None


_LOCALS = ("self", "shape", "wide")  # of the methods that are written


@dataclass(frozen=True, slots=True)
class Request:
    function: Function | Learnable
    name: str  # small letters, _ between words
    values: Values
    given: bool = False  # are the values somebody's, or where training starts?

    def identifier(self, reserved: Collection[str] = ()) -> str:
        """A name for a function, not one of those that the text around it uses."""
        arguments = "x", *self.function.parameters, *_LOCALS
        taken = keyword.iskeyword(self.name) or self.name in {*reserved, *arguments}
        return f"{self.name}_activation" if taken else self.name

    def class_name(self, reserved: Collection[str] = ()) -> str:
        name = "".join(word.capitalize() for word in self.name.split("_"))
        taken = keyword.iskeyword(name) or name in reserved
        return f"{name}Activation" if taken else name

    @property
    def scope(self) -> str:
        """That of the values, or the usual one."""
        if self.values.shape:
            return "channel" if len(self.values.shape) == 1 else "neuron"
        return usual_scope(self.function)


def request(
    function: "Function | Learnable | Activation | nn.Module | Mapping[str, Any] | str",
    parameters: Mapping[str, Any] | None,
    name: str | None,
    layer: str | int | None = None,
) -> Request:
    if name is not None and not _NAME.fullmatch(name):
        raise PangaeaError(
            f"a name has letters, digits and _ and starts with a letter, got {name!r}"
        )
    trained = None
    if layer is not None and isinstance(function, str | Function | Learnable):
        raise PangaeaError(
            f"{function} has no layers: one is of a model, its state dict or a study"
        )
    resolved: Function | Learnable
    if isinstance(function, str | Function | Learnable):
        resolved = resolve(function)
    else:
        resolved, trained = _of_module(function, layer)
    values = trained or Values(initial(resolved))
    if parameters:
        values = _given(resolved, values, parameters)
    words = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name or _catalog_name(resolved))
    words = words.replace("-", "_").lower()
    return Request(resolved, words, values, given=trained is not None or bool(parameters))


def _catalog_name(function: Function | Learnable) -> str:
    if isinstance(function, Learnable):
        return function.name
    names = (name for name, known in catalog().items() if known == function)
    return next(names, "activation")


def _of_module(source: Any, layer: str | int | None) -> tuple[Function | Learnable, Values | None]:
    """The function of an `Activation`, and its values as they are now."""
    from torch import float64
    from torch.nn.parameter import UninitializedParameter

    module = _activation(source, layer)
    tensors = {name: getattr(module, name) for name in module.parameter_names}
    if not tensors:
        return module.function, None
    first = next(iter(tensors.values()))
    if isinstance(first, UninitializedParameter):  # whatever shape they will have
        return module.function, Values(dict(module.initial))
    shape = tuple(first.shape)
    _check_size(shape)
    # Nine digits are every digit of a float32.
    digits = 17 if first.dtype == float64 else 9
    numbers: dict[str, float | list[float]] = {}
    for name, tensor in tensors.items():
        flat = [float(f"{value:.{digits}g}") for value in tensor.detach().flatten().tolist()]
        numbers[name] = flat if shape else flat[0]
    channel_dim = module.channel_dim if shape and module.scope == "channel" else None
    return module.function, Values(numbers, shape, channel_dim)


def _activation(source: Any, layer: str | int | None) -> "Activation":
    """An `Activation` itself, or the one of a model or a state dict that is asked for."""
    from torch import nn

    from pangaea.activation.module import Activation
    from pangaea.activation.values import of_model, of_state

    if isinstance(source, Activation):
        return source
    if isinstance(source, nn.Module):
        return of_model(source, layer)
    if isinstance(source, Mapping):
        return of_state(source, layer)
    raise PangaeaError(
        "an export is of a function, its text, an Activation, a model that has one or its state "
        f"dict, got {type(source).__name__}"
    )


def _given(function: Function | Learnable, start: Values, parameters: Mapping[str, Any]) -> Values:
    shapes = {}
    numbers: dict[str, float | list[float]] = dict(start.numbers)
    for name, value in parameters.items():
        if name not in function.parameters:
            if not function.parameters:
                raise PangaeaError(f"{function} has no parameters, got one called {name!r}")
            raise UnknownNameError(f"parameter of {function}", name, function.parameters)
        shapes[name], flat = _flattened(name, value)
        numbers[name] = flat if shapes[name] else flat[0]
    sizes = {shape for shape in (*shapes.values(), start.shape) if shape}
    if len(sizes) > 1:
        raise PangaeaError(f"all parameters have one shape, got {sorted(sizes)}")
    shape = sizes.pop() if sizes else ()
    _check_size(shape)
    if shape:
        count = math.prod(shape)
        numbers = {k: v if isinstance(v, list) else [v] * count for k, v in numbers.items()}
    channel_dim = start.channel_dim if start.shape else 1 if len(shape) == 1 else None
    return Values(numbers, shape, channel_dim)


def _flattened(name: str, value: Any) -> tuple[tuple[int, ...], list[float]]:
    """The shape and the numbers of a number, an array, a tensor or nested lists."""
    nested = value.tolist() if hasattr(value, "tolist") else value
    if not isinstance(nested, list | tuple):
        if isinstance(nested, bool) or not isinstance(nested, int | float):
            raise PangaeaError(f"{name} is a number or a list of numbers, got {nested!r}")
        if not math.isfinite(nested):
            raise PangaeaError(f"{name} is a finite number, got {nested}")
        return (), [float(nested)]
    parts = [_flattened(name, part) for part in nested]
    shapes = {shape for shape, _ in parts}
    if len(shapes) != 1:
        raise PangaeaError(f"{name} is a number or an even list of numbers, got {nested!r:.60}")
    return (len(parts), *shapes.pop()), [number for _, flat in parts for number in flat]


def _check_size(shape: tuple[int, ...]) -> None:
    if math.prod(shape) > _MOST_NUMBERS:
        raise PangaeaError(
            f"a source has at most {_MOST_NUMBERS:,} values of a parameter, got the shape {shape}; "
            "export the function without its values and load them with the model's state"
        )

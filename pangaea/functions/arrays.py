"""A function of whole arrays: NumPy's by the float64 truth, torch's tensors by torch."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any

from pangaea.errors import PangaeaError

if TYPE_CHECKING:
    from pangaea.functions.expression import Function


def apply(function: Function, x: Any, parameters: Sequence[Any]) -> Any:
    """The value at every element, of the same kind, shape and (for floats) type as `x`."""
    if any(kind.__module__.partition(".")[0] == "torch" for kind in type(x).__mro__):
        # Only who holds a tensor has torch, and pays for its import.
        return import_module("pangaea.activation.program").evaluate(function, x, parameters)
    if not hasattr(x, "__array__"):
        raise PangaeaError(f"x is a number, an array or a tensor, got {type(x).__name__}")
    import numpy as np

    array = np.asarray(x)
    if array.dtype.kind not in "buif":
        raise PangaeaError(f"an activation function takes real numbers, got {array.dtype}")
    named = dict(zip(function.parameters, map(float, parameters), strict=True))
    flat = [function(value, **named) for value in array.astype(np.float64).ravel().tolist()]
    kind = array.dtype if array.dtype.kind == "f" else np.dtype(np.float64)
    with np.errstate(over="ignore"):  # a float16 overflows to infinity, as everywhere
        return np.array(flat).reshape(array.shape).astype(kind)[()]

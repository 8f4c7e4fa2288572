"""What people may give where a function is expected: a function, its text or its name."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pangaea.errors import PangaeaError
from pangaea.functions.catalog import LEARNABLE, parse
from pangaea.functions.expression import Function

if TYPE_CHECKING:
    from pangaea.activation.learnable import Learnable


def resolve(spec: Function | Learnable | str) -> Function | Learnable:
    """A function from itself, its text, a catalog name or a learnable baseline's name."""
    if isinstance(spec, Function):
        return spec
    name = spec.strip().lower() if isinstance(spec, str) else None
    if isinstance(spec, str) and name not in LEARNABLE:
        return parse(spec)
    from pangaea.activation import learnable  # only who wants a baseline waits for torch

    if isinstance(spec, learnable.Learnable):
        return spec
    if name is None:
        raise PangaeaError(f"a function is a Function or a text, got {type(spec).__name__}")
    return learnable.LEARNABLE[name]

"""Which activations somebody wants replaced: by type, by name or by a question of their own."""

from collections.abc import Callable
from fnmatch import fnmatchcase
from typing import Any

from torch import nn

from pangaea.activation.recognition import function_kind
from pangaea.errors import PangaeaError

Which = str | type[nn.Module] | Callable[[str, nn.Module], bool]


class Selection:
    """`which` as types, name patterns (any of them is enough) or a predicate."""

    def __init__(self, which: Which | tuple[Which, ...] | list[Which] | None) -> None:
        parts: list[Any] = [*which] if isinstance(which, tuple | list) else [which]
        self.everything = which is None
        self.types = tuple(p for p in parts if isinstance(p, type) and issubclass(p, nn.Module))
        self.patterns = [p for p in parts if isinstance(p, str)]
        self.predicates = [p for p in parts if _is_predicate(p)]
        if not self.everything and len(parts) != len(
            [*self.types, *self.patterns, *self.predicates]
        ):
            raise PangaeaError(
                "which selects activations by a module class, a name pattern such as "
                f"'encoder.*' or a function of name and module; got {which!r}"
            )

    def includes(self, names: set[str], module: nn.Module) -> bool:
        """Is the activation of these names wanted?"""
        return (
            self.everything
            or self.insists(names, module)
            or any(fnmatchcase(name, pattern) for name in names for pattern in self.patterns)
        )

    def insists(self, names: set[str], module: nn.Module) -> bool:
        """Is it wanted by its type, its very name or the predicate, a gate or not?"""
        return (
            isinstance(module, self.types)
            or any(name in self.patterns for name in names)
            or any(predicate(name, module) for name in names for predicate in self.predicates)
        )

    def adds(self, name: str, module: nn.Module) -> bool:
        """Is this module wanted although nothing tells that it is an activation?"""
        return isinstance(module, self.types) or name in self.patterns


def _is_predicate(part: object) -> bool:
    """Something to ask, which neither a class nor an activation itself is."""
    if isinstance(part, type | nn.Module) or function_kind(part) is not None:
        return False
    return callable(part)

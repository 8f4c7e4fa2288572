"""A function elsewhere: source, graph or text for somebody who does not have this package.

Each target is a file of `targets`, found by its name, with one function `export`. The folder is
also what people call, `pg.export(f, to="jax")`, so it is a module that can be called.
"""

import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from pkgutil import iter_modules
from types import ModuleType
from typing import TYPE_CHECKING, Any

from pangaea.errors import UnknownNameError

if TYPE_CHECKING:
    from torch import nn

    from pangaea.activation.module import Activation
    from pangaea.export.request import Request
    from pangaea.functions.expression import Function

_ROOM = "pangaea.export.targets"


def destinations() -> tuple[str, ...]:
    """Where a function can go: the files of the folder `targets`."""
    return tuple(sorted(module.name for module in iter_modules(import_module(_ROOM).__path__)))


def export(
    function: "Function | Activation | nn.Module | Mapping[str, Any] | str",
    to: str,
    *,
    parameters: Mapping[str, Any] | None = None,
    name: str | None = None,
    layer: str | int | None = None,
) -> str | bytes:
    """The function as source code, text or (ONNX) bytes that need nothing of this package.

    Parameters start at 1, at the given values (a number, a list with one per channel, nested
    lists with one per neuron), or at the trained values of an `Activation`: also of the `layer`
    of a model or its state dict, by name or number from 1. `name` is what the function is called
    there; without it, what the catalog calls it.
    """
    from pangaea.export.request import request

    return _target(to)(request(function, parameters, name, layer))


def _target(name: str) -> Callable[["Request"], str | bytes]:
    if name not in destinations():
        raise UnknownNameError("export", name, destinations())
    target: Callable[[Request], str | bytes]
    target = import_module(f"{_ROOM}.{name}").export
    return target


class _Callable(ModuleType):
    __call__ = staticmethod(export)


sys.modules[__name__].__class__ = _Callable

"""Classes with another forward, under their own name, that can be copied and pickled."""

import inspect
import re
from functools import cache
from importlib import import_module
from types import ModuleType
from typing import Any, NamedTuple

from torch import nn

from pangaea.errors import PangaeaError

_HEAD = re.compile(r"def forward\(")


def forward_source(sources: list[str], signature: inspect.Signature, fixed: dict[str, Any]) -> str:
    """The graphs as functions, and a forward with the signature that the module has had."""
    text = "".join(_HEAD.sub(f"def _graph{i}(", source) for i, source in enumerate(sources))
    arguments = ["self"]
    for parameter in signature.parameters.values():
        if parameter.kind is parameter.KEYWORD_ONLY and "*" not in arguments:
            arguments.append("*")
        if parameter.default is parameter.empty:
            arguments.append(parameter.name)
        else:
            arguments.append(f"{parameter.name}={parameter.default!r}")
    text += f"\ndef forward({', '.join(arguments)}):\n"
    for name, value in fixed.items():
        text += (
            f"    if {name} is not {value!r}:\n"
            if value is None
            else (f"    if {name} != {value!r}:\n")
        )
        text += f"        refuse({name!r}, {value!r})\n"
    given = ", ".join(["self", *(name for name in signature.parameters if name not in fixed)])
    text += f"    return _graph0({given})"
    if len(sources) > 1:
        text += f" if self.training else _graph1({given})"
    return text + "\n"


def refuse(name: str, value: object) -> None:
    raise PangaeaError(
        f"this module's activations were replaced for calls with {name}={value!r}; pass an example "
        "with the other value to replace_activations"
    )


class _Module(NamedTuple):
    """A module of Python's by its name, for modules cannot be pickled."""

    name: str


def portable(value: Any) -> Any:
    return _Module(value.__name__) if isinstance(value, ModuleType) else value


Names = tuple[tuple[str, Any], ...]


def _remade(kind: Any, versions: tuple[tuple[str, Names], ...]) -> nn.Module:
    for source, names in versions:
        kind = subclass(kind, source, names)
    return kind.__new__(kind)  # type: ignore[no-any-return]


@cache
def subclass(kind: Any, source: str, names: Names) -> type[nn.Module]:
    """`kind` with another forward, under its own name; it can be copied and pickled."""
    scope: dict[str, Any] = {"refuse": refuse}
    for name, value in names:
        scope[name] = import_module(value.name) if isinstance(value, _Module) else value
    exec(compile(source, f"<{kind.__name__} retraced>", "exec"), scope)
    forward = scope["forward"]
    forward.__doc__ = kind.forward.__doc__
    # From Python 3.14 on, annotations are a function's to give: they are not asked for here.
    annotated = "__annotate__" if hasattr(forward, "__annotate__") else "__annotations__"
    setattr(forward, annotated, getattr(kind.forward, annotated))
    first, versions = getattr(kind, "_retraced", (kind, ()))

    def reduced(self: nn.Module, protocol: Any) -> Any:
        _, _, *state = tuple(nn.Module.__reduce_ex__(self, protocol))
        return _remade, self._retraced, *state

    body = {
        "__module__": kind.__module__,
        "__qualname__": kind.__qualname__,
        "__doc__": kind.__doc__,
        "__reduce_ex__": reduced,
        "_retraced": (first, (*versions, (source, names))),
        "forward": forward,
    }
    return type(kind.__name__, (kind,), body)

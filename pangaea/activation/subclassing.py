"""Classes with another forward, under their own name, that can be copied and pickled."""

import inspect
import math
import re
from functools import cache
from importlib import import_module
from textwrap import indent
from types import ModuleType
from typing import Any, NamedTuple

from torch import nn

from pangaea.errors import PangaeaError

ABSENT = Ellipsis  # for a value: there is none
_METHOD = "_of_the_class_"
_HEAD = re.compile(r"def forward\(")


def forward_source(
    sources: list[str],
    signature: inspect.Signature,
    fixed: dict[str, Any],
    read: list[dict[str, Any]],
) -> str:
    """The graphs as functions, and a forward with the signature that the module has had.

    It holds for these arguments, and as long as what each graph has read of the module is the same.
    """
    text = "".join(_HEAD.sub(f"def _graph{i}(", source) for i, source in enumerate(sources))
    arguments = ["self"]
    for parameter in signature.parameters.values():
        if parameter.kind is parameter.KEYWORD_ONLY and "*" not in arguments:
            arguments.append("*")
        if parameter.default is parameter.empty:
            arguments.append(parameter.name)
        else:
            arguments.append(f"{parameter.name}={_literal(parameter.default)}")
    text += f"\ndef forward({', '.join(arguments)}):\n"
    text += "".join(_check(name, name, value, "refuse") for name, value in fixed.items())
    tensors = {n: p.default for n, p in signature.parameters.items() if n not in fixed}
    for name in (name for name, default in tensors.items() if default is None):
        text += f"    if {name} is None:\n        _missing({name!r})\n"
    given = ", ".join(["self", *tensors])
    bodies = [
        "".join(_check(name, f"self.{name}", value, "outdated") for name, value in values.items())
        + f"    return _graph{i}({given})\n"
        for i, (_, values) in enumerate(zip(sources, read, strict=False))
    ]
    if len(bodies) > 1:
        text += "    if self.training:\n" + indent(bodies[0], "    ")
    return text + bodies[-1]


def _check(name: str, now: str, value: object, complain: str) -> str:
    if value is ABSENT:
        differs = f"hasattr(self, {name!r})"
    elif value is None:
        differs = f"{now} is not None"
    elif value != value:  # NaN
        differs = f"{now} == {now}"
    else:
        differs = f"{now} != {_literal(value)}"
    return f"    if {differs}:\n        _{complain}({name!r}, {_literal(value)})\n"


def refusing(methods: set[str]) -> str:
    """These methods are part of the recorded forward; alone they would still be what they were."""
    heads = ((name, f"\ndef {_METHOD}{name}(self, *_, **__):\n") for name in sorted(methods))
    return "".join(f"{head}    _inlined({name!r})\n" for name, head in heads)


def _literal(value: Any) -> str:
    """As source; also of the kinds of numbers and texts that print otherwise."""
    if isinstance(value, float) and not math.isfinite(value):
        return f"float({float.__repr__(value)!r})"
    plain = (kind for kind in (bool, float, int, str) if isinstance(value, kind))
    kind: Any = next(plain, type(value))
    return str(kind.__repr__(value))


def outdated(name: str, value: object) -> None:
    what = f"without {name}" if value is ABSENT else f"with {name}={value!r}"
    raise PangaeaError(
        f"this module's forward was recorded {what} when its activations were "
        "replaced, and would not see another value: set it before that"
    )


def inlined(name: str) -> None:
    raise PangaeaError(
        f"{name} has an activation that was replaced where forward calls it, and would still have "
        "the old one: call the module, or make a module of the activation before it is replaced"
    )


def refuse(name: str, value: object) -> None:
    raise PangaeaError(
        f"this module's activations were replaced for calls with {name}={value!r}; pass an example "
        "with the other value to replace_activations"
    )


def missing(name: str) -> None:
    raise PangaeaError(
        f"this module's activations were replaced for calls with a tensor as {name}; pass an "
        "example without it to replace_activations"
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
    refusals = (refuse, missing, outdated, inlined)
    scope: dict[str, Any] = {f"_{function.__name__}": function for function in refusals}
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
        "__doc__": kind.__doc__,
        "__reduce_ex__": reduced,
        "_retraced": (first, (*versions, (source, names))),
        "forward": forward,
        **{n.removeprefix(_METHOD): m for n, m in scope.items() if n.startswith(_METHOD)},
    }
    return derived(kind, body)


def derived(kind: Any, body: dict[str, Any]) -> type[nn.Module]:
    """A subclass under the class's own name."""
    names = {"__module__": kind.__module__, "__qualname__": kind.__qualname__}
    result: type[nn.Module] = type(kind.__name__, (kind,), names | body)
    return result

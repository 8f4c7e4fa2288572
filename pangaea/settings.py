"""Settings, each declared once: its type, check, default and help are one line of a dataclass.

The options of the command line, the keys of a settings file and the tables of the documentation are
made from these lines.
"""

import math
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import MISSING, Field, field, fields
from typing import Any, NamedTuple, get_args, get_type_hints

from pangaea.errors import PangaeaError, UnknownNameError

_LONGEST = 4096  # letters, as many as a path may have
_KINDS = {str: "a text", int: "a whole number", float: "a number", bool: "true or false"}


def setting(
    default: Any,
    help: str,  # noqa: A002 (what `--help` shows)
    *,
    least: float | None = None,
    above: float | None = None,
    most: float | None = None,
    names: Callable[[], Collection[str]] | None = None,
    former: str | None = None,
    score: bool = False,
    several: bool = False,
    later: bool = False,
) -> Any:
    """A field of a `Declared`: its default, what it means, and which values it may have.

    `names` gives the only values there are, `former` is what it was called before. A `score` is in
    the terms of the task's goal. `several` names are a text with commas, or a list.
    What is changed `later`, when a study goes on, spoils nothing of it.
    """
    limits = {"least": least, "above": above, "most": most, "names": names}
    about = {"help": help, "former": former, "score": score, "several": several, "later": later}
    return field(default=default, metadata=about | limits)


class Declared:
    """A frozen dataclass of settings, each checked when it is made."""

    def __post_init__(self) -> None:
        for declared in declarations(type(self)):
            value = checked(declared, getattr(self, declared.name))
            object.__setattr__(self, declared.name, value)


class Declaration(NamedTuple):
    """What is known of one setting."""

    name: str
    hint: Any
    kind: Any
    default: Any
    help: str
    limits: Mapping[str, Any]

    @property
    def option(self) -> str:
        return "--" + self.name.replace("_", "-")

    @property
    def explained(self) -> str:
        """What it means, which values there are, and what it is if nobody says."""
        names = self.limits["names"]
        text = self.help + (f" One of {', '.join(names())}." if names else "")
        if self.default is None or self.kind is bool:
            return text
        return f"{text} Default: {self.default}."


_KNOWN: dict[type, tuple[Declaration, ...]] = {}


def declarations(owner: type) -> tuple[Declaration, ...]:
    """The settings that a class declares, in their order."""
    if owner not in _KNOWN:
        hints = get_type_hints(owner)
        _KNOWN[owner] = tuple(
            _declaration(f, hints[f.name]) for f in fields(owner) if "help" in f.metadata
        )
    return _KNOWN[owner]


def _declaration(declared: Field[Any], hint: Any) -> Declaration:
    allowed = get_args(hint) or (hint,)
    kind = next(kind for kind in allowed if kind in _KINDS)
    default = None if declared.default is MISSING else declared.default
    return Declaration(
        declared.name, hint, kind, default, declared.metadata["help"], declared.metadata
    )


def table(declared: Iterable[Declaration]) -> str:
    """The settings as a table in Markdown."""
    rows = [f"| `{d.name}` | {d.explained} |" for d in declared]
    return "\n".join(["| setting | |", "| --- | --- |", *rows])


def checked(declared: Declaration, value: Any) -> Any:
    """The value as its type, or an error that says what it must be."""
    name, limits = declared.name, declared.limits
    if value is None and type(None) in get_args(declared.hint):
        return None
    if limits["several"] and isinstance(value, list | tuple):
        value = ",".join(map(str, value))
    if declared.kind is float and type(value) is int:
        value = float(value) if abs(value) < 1e300 else math.inf
    if type(value) is not declared.kind:
        raise PangaeaError(f"{name} must be {_KINDS[declared.kind]}, got {_short(value)}")
    if isinstance(value, str) and len(value) > _LONGEST:
        raise PangaeaError(f"{name} must have at most {_LONGEST} letters, got {len(value)}")
    if isinstance(value, float) and not math.isfinite(value):
        raise PangaeaError(f"{name} must be a finite number, got {value}")
    if limits["least"] is not None and value < limits["least"]:
        raise PangaeaError(f"{name} must be at least {limits['least']}, got {_short(value)}")
    if limits["above"] is not None and not value > limits["above"]:
        raise PangaeaError(f"{name} must be above {limits['above']}, got {_short(value)}")
    if limits["most"] is not None and value > limits["most"]:
        raise PangaeaError(f"{name} must be at most {limits['most']}, got {_short(value)}")
    if limits["names"] is not None and value not in limits["names"]():
        raise UnknownNameError(name, value, limits["names"]())
    return value


def _short(value: Any) -> str:
    try:
        text = repr(value)
    except ValueError:  # of a number with more digits than Python prints
        return "a number with thousands of digits"
    return text if len(text) <= 60 else text[:57] + "…"

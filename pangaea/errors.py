"""What can go wrong through no fault of the code: one base class, one sentence each."""

import difflib
from collections.abc import Iterable


class PangaeaError(Exception):
    """An error whose message is meant for a person: what is wrong, and what to do."""


class ParseError(PangaeaError, ValueError):
    """A text that is not a function: where, and what was expected there."""

    def __init__(self, position: int, expected: str, found: str) -> None:
        super().__init__(f"position {position}: expected {expected}, found {found}")
        self.position = position
        self.expected = expected
        self.found = found

    def __reduce__(self) -> tuple[type, tuple[int, str, str]]:
        return type(self), (self.position, self.expected, self.found)


class UnknownNameError(PangaeaError, ValueError):
    """A name that stands for nothing here, with the nearest ones that do."""

    def __init__(self, kind: str, name: str, known: Iterable[str]) -> None:
        names = sorted(known)
        shown = name if len(name) <= 60 else name[:57] + "..."
        super().__init__(f"no {kind} is called {shown!r}; {_advice(name[:60].lower(), names)}")
        self.arguments = (kind, name, tuple(names))

    def __reduce__(self) -> tuple[type, tuple[str, str, tuple[str, ...]]]:
        return type(self), self.arguments


def _advice(name: str, names: list[str]) -> str:
    """The names that somebody may have meant: the close ones, or else the nearest of all."""
    if not names:
        return "it has none"
    near = difflib.get_close_matches(name, names, n=3, cutoff=0.5)
    if not near:
        holding = [known for known in names if name and name in known]
        nearest = difflib.get_close_matches(name, names, n=_OFFERED, cutoff=0.0)
        near = list(dict.fromkeys([*holding, *nearest]))[:_OFFERED]
    return f"did you mean {', '.join(near)}?"


_OFFERED = 5


class UserCodeError(PangaeaError):
    """An error in the user's own code: the message has their lines of the traceback, not ours."""

    def __init__(self, message: str, brief: str) -> None:
        super().__init__(message)
        self.brief = brief  # in one line

    def __reduce__(self) -> tuple[type, tuple[str, str]]:
        return type(self), (str(self), self.brief)

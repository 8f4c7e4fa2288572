"""What can go wrong through no fault of the code: one base class, one sentence each."""

import difflib
import os
import sysconfig
import traceback
from collections.abc import Iterable
from pathlib import Path

_OURS = str(Path(__file__).parent) + os.sep
_INSTALLED = tuple(
    sysconfig.get_path(name) + os.sep for name in ("stdlib", "platstdlib", "purelib", "platlib")
)


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
        near = difflib.get_close_matches(name.lower(), names, n=3, cutoff=0.5) or names[:8]
        shown = name if len(name) <= 60 else name[:57] + "..."
        super().__init__(f"no {kind} is called {shown!r}; did you mean {', '.join(near)}?")
        self.arguments = (kind, name, tuple(names))

    def __reduce__(self) -> tuple[type, tuple[str, str, tuple[str, ...]]]:
        return type(self), self.arguments


class UserCodeError(PangaeaError):
    """An error in the user's own code: its message has their lines of the traceback, not ours."""

    def __init__(self, doing: str, error: BaseException) -> None:
        frames = their_frames(error)
        told = traceback.format_list(frames) + traceback.format_exception_only(error)
        super().__init__(f"{doing}:\n\n{''.join(told).rstrip()}")
        place = frames[-1] if frames else None
        where = f" ({Path(place.filename).name}, line {place.lineno})" if place else ""
        self.brief = f"{type(error).__name__}: {error}{where}"


def their_frames(error: BaseException) -> list[traceback.FrameSummary]:
    """The frames of a traceback that are neither ours nor of installed packages, if there are."""
    frames = [
        frame
        for frame in traceback.extract_tb(error.__traceback__)
        if not frame.filename.startswith((_OURS, "<frozen "))
    ]
    return [frame for frame in frames if not frame.filename.startswith(_INSTALLED)] or frames

"""Figures of studies and functions. One is a decorated function in a file of this folder.

The page, its pictures and `pangaea.plot` find it by that, and no other file names it.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeVar

from pangaea import scanning

Make = TypeVar("Make", bound=Callable[..., Any])


class On(NamedTuple):
    """Where the page shows a figure: in which part, at which place of it, and how wide."""

    part: str  # progress, functions, search, or details: of one candidate
    place: int
    span: str = ""  # half, third, or the whole width


@dataclass(frozen=True)
class Figure:
    """How a figure is made, and where it is shown."""

    name: str
    make: Callable[..., Any]  # gives a figure or a list of them, as plain data
    takes: str  # studies (all that have one goal), study, candidate (of a study), function
    on: tuple[On, ...]


def figure(*on: On, takes: str = "study") -> Callable[[Make], Make]:
    """Make a function a figure; without a place on the page it is drawn from Python alone."""

    def declare(make: Make) -> Make:
        make.figure = Figure(make.__name__, make, takes, on)  # type: ignore[attr-defined]
        return make

    return declare


def figures() -> dict[str, Figure]:
    """Every figure by its name."""
    known: dict[str, Figure] = {}
    for module in scanning.modules(__name__):
        for value in vars(module).values():
            declared = getattr(value, "figure", None)
            if isinstance(declared, Figure) and value.__module__ == module.__name__:
                known[declared.name] = declared
    return known


def part(name: str) -> list[tuple[Figure, On]]:
    """The figures of a part of the page, in their order."""
    placed = [(one, on) for one in figures().values() for on in one.on if on.part == name]
    return sorted(placed, key=lambda pair: (pair[1].place, pair[0].name))

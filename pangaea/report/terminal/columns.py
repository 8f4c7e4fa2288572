"""Functions with numbers beside them; below them where a window is too narrow for both."""

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from rich.cells import cell_len, chop_cells
from rich.console import Console, ConsoleOptions, RenderableType
from rich.table import Table
from rich.text import Text

_ROOM = 24  # columns that a formula gets beside its numbers at least, if it has so many
_GAP = 2
_INDENT = "  "
# A formula is broken behind a comma or an operator, and behind a bracket where that is not enough.
_PIECE = re.compile(r"[^\s,·+−*/^]*[\s,·+−*/^]*")
_SMALLER_PIECE = re.compile(r"[^(]+\(*|\(+")


class Line(NamedTuple):
    """A function and what is known of it, a text for each heading."""

    formula: str
    cells: Sequence[str]
    label: str = ""
    bold: int | None = None  # the cell that stands out


class Functions:
    """A table of functions, the formula first and whole, in any width."""

    def __init__(self, headings: Sequence[str], lines: Sequence[Line]) -> None:
        """A column in which nothing stands is left out."""
        kept = [i for i in range(len(headings)) if any(line.cells[i] for line in lines)]
        self.headings = [headings[i] for i in kept]
        self.lines = [
            line._replace(
                cells=[line.cells[i] for i in kept],
                bold=kept.index(line.bold) if line.bold in kept else None,
            )
            for line in lines
        ]

    def __rich_console__(
        self, console: Console, options: ConsoleOptions
    ) -> Iterator[RenderableType]:
        labels = max((cell_len(line.label) for line in self.lines), default=0)
        numbers = [
            max(map(cell_len, (heading, *(line.cells[i] for line in self.lines))))
            for i, heading in enumerate(self.headings)
        ]
        taken = [*([labels] if labels else []), *numbers]
        room = options.max_width - sum(taken) - _GAP * len(taken)
        longest = max((cell_len(line.formula) for line in self.lines), default=0)
        if room >= min(longest, _ROOM):
            yield self._beside(room, labels > 0)
        else:
            yield from self._below(options.max_width)

    def _beside(self, room: int, labelled: bool) -> Table:
        table = Table(*([""] if labelled else []), "function", box=None, pad_edge=False)
        for heading in self.headings:
            table.add_column(heading, justify="right", no_wrap=True)
        for line in self.lines:
            table.add_row(
                *([Text(line.label, style="dim")] if labelled else []),
                Text("\n".join(broken(line.formula, room))),
                *(Text(cell, style=_style(line, i)) for i, cell in enumerate(line.cells)),
            )
        return table

    def _below(self, width: int) -> Iterator[Text]:
        for line in self.lines:
            yield Text("\n".join(broken(line.formula, width)))
            facts = [
                f"{heading} {cell}".strip()
                for heading, cell in zip(self.headings, line.cells, strict=True)
                if cell
            ]
            facts = [line.label, *facts] if line.label else facts
            yield Text("\n".join(filled(facts, width, _INDENT)), style="dim")


def _style(line: Line, cell: int) -> str:
    return "bold" if cell == line.bold else ""


def broken(formula: str, width: int) -> list[str]:
    """A formula on lines of at most so many columns, names whole wherever they fit."""
    width = max(width, 1)
    lines = [""]
    for piece in _pieces(formula, width):
        if cell_len(lines[-1] + piece.rstrip()) <= width:
            lines[-1] += piece
        else:
            lines += chop_cells(piece, width)
    return [line.rstrip() for line in lines if line.strip()]


def _pieces(formula: str, width: int) -> Iterator[str]:
    for piece in _PIECE.findall(formula):
        yield from [piece] if cell_len(piece.rstrip()) <= width else _SMALLER_PIECE.findall(piece)


def filled(parts: Sequence[str], width: int, indent: str = "") -> list[str]:
    """Parts with dots between them, on lines that break between two of them if they can."""
    lines: list[str] = []
    for part in parts:
        if lines and cell_len(f"{lines[-1]} · {part}") <= width:
            lines[-1] += f" · {part}"
        else:
            lines.append(indent + part)
    return lines

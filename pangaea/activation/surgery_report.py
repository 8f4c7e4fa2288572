"""What an operation on a model has done: every activation that was replaced, and every one not."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

from pangaea.wording import counted


@dataclass(frozen=True, slots=True)
class Replaced:
    """An activation that was replaced: where, what stood there, and the channels it has."""

    path: str
    before: str
    scope: str
    channels: int | None
    channel_dim: int | None
    note: str = ""


@dataclass(frozen=True, slots=True)
class Left:
    """An activation that was left alone, and why."""

    path: str
    before: str
    why: str


@dataclass(frozen=True, slots=True)
class SurgeryReport:
    """What was replaced by `function`, what was not and why, and what else there is to know."""

    function: str
    replaced: tuple[Replaced, ...]
    left: tuple[Left, ...]
    notes: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.replaced)

    def __str__(self) -> str:
        return "\n".join(self._lines())

    __repr__ = __str__

    def _lines(self) -> Iterator[str]:
        yield f"replaced by {self.function}: {counted(len(self.replaced), 'activation')}"
        rows = [
            (r.path, r.before, r.scope, _text(r.channels), _text(r.channel_dim), r.note)
            for r in self.replaced
        ]
        yield from _table(("where", "before", "scope", "channels", "dim", ""), rows)
        if self.left:
            yield f"left alone: {counted(len(self.left), 'activation')}"
            yield from _table(("where", "what", "why"), [*_grouped(self.left)])
        yield from self.notes


def _text(value: int | None) -> str:
    return "" if value is None else str(value)


def _grouped(left: Sequence[Left]) -> Iterator[tuple[str, str, str]]:
    """Neighbours that are alike in one row."""
    for (before, why), group in groupby(left, key=lambda row: (row.before, row.why)):
        paths = [row.path for row in group]
        more = f" … {paths[-1]} ({len(paths)})" if len(paths) > 1 else ""
        yield paths[0] + more, before, why


def _table(heads: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> Iterator[str]:
    widths = [max(map(len, column)) for column in zip(heads, *rows, strict=True)]
    for row in (heads, *rows) if rows else ():
        cells = (cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        yield "  " + "  ".join(cells).rstrip()

"""The table of tasks."""

from collections.abc import Sequence
from typing import Any

from rich.table import Table
from rich.text import Text

from pangaea.report import texts
from pangaea.tasks.overview import HERE

_WIDE = 76  # columns, in which parameters and units have room, too
_UNITS = (("d", 86_400.0), ("h", 3_600.0), ("min", 60.0), ("s", 1.0))


def task_table(tasks: Sequence[dict[str, Any]], width: int = 80) -> Table:
    """What a run takes in the search and in full; a window of sixty columns is enough."""
    wide = width >= _WIDE
    heads = ["task", *(["parameters"] if wide else []), "budgets", "takes", "data"]
    shown = Table(*heads, box=None, pad_edge=False)
    for column in shown.columns:
        column.no_wrap = True
    for column in shown.columns[1:-1]:
        column.justify = "right"
    for row in tasks:
        parameters = "" if row["parameters"] is None else f"{row['parameters']:,}"
        shown.add_row(
            Text(texts.inert(row["task"])),
            *([parameters] if wide else []),
            f"{row['search_budget']}, {row['full_budget']}" + (f" {row['unit']}" if wide else ""),
            _takes(row),
            {True: "here", False: "", None: ""}[row["data_here"]],
        )
    return shown


def footer(tasks: Sequence[dict[str, Any]]) -> str:
    """What the table says, and how its figures are known."""
    sources = dict.fromkeys(row["seconds_from"] for row in tasks)
    scaled = "; ".join(source for source in sources if source not in (None, HERE))
    units = ", ".join(dict.fromkeys(row["unit"] for row in tasks))
    text = f"\nBudgets ({units}) and what one run takes with the baseline: in the search, in full."
    if scaled:
        text += f" ~: not measured here yet, but on {scaled}. A search or `evaluate` measures it."
    return f"{text} Data not here is downloaded on first use. pangaea search --task NAME"


def _takes(row: dict[str, Any]) -> str:
    if row["search_seconds"] is None:
        return ""
    about = "" if row["seconds_from"] == HERE else "~"
    return f"{about}{_brief(row['search_seconds'])}, {_brief(row['full_seconds'])}"


def _brief(seconds: float) -> str:
    """`40 s`, `3.5 min`, `2.1 d`."""
    unit, size = next((u for u in _UNITS if seconds >= 1.5 * u[1]), _UNITS[-1])
    count = seconds / size
    return f"{count:.{0 if count >= 10 else 1}f} {unit}"

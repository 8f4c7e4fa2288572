"""The paper's experiments as a table: what each takes, and how far it is."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import torch
from rich.table import Table

from pangaea.paper.contents import experiments
from pangaea.paper.estimate import device, needs
from pangaea.paper.scales import scale as sized


def experiments_table(
    runs: Sequence[Mapping[str, Any]], scale: str, searched: Collection[str]
) -> Table:
    """A row for each, at this scale and on this machine's device; `searched` names searches."""
    here = device("cuda" if torch.cuda.is_available() else "cpu")
    head = ("name", "kind", "runs", "searches", "epochs", "hours")
    table = Table(*head, box=None)
    table.pad_edge = False
    table.columns[0].no_wrap, table.columns[0].overflow = True, "fold"
    for column in table.columns[2:]:
        column.justify = "right"
    for row in experiments().values():
        ended = sum(search.name in searched for search in row.searches)
        cost = needs(row, sized(scale), runs, here)
        table.add_row(
            row.name,
            row.kind,
            f"{cost.done}/{cost.runs}" if cost.runs else "",
            f"{ended}/{len(row.searches)}" if row.searches else "",
            f"{cost.epochs:,}" if cost.epochs else "",
            _hours(cost.seconds) if cost.epochs else "",
        )
    return table


def _hours(seconds: float) -> str:
    hours = seconds / 3600
    return f"{hours:,.0f}" if hours >= 10 else f"{hours:.2g}"

"""Which cells come first when time is short: those that tell most, with the runs each one gets."""

from collections.abc import Iterable, Sequence

from pangaea.paper.contents import Cell, Experiment, printed

# Group after group: the table, the functions of it, the networks, how many runs.
_FIRST = (
    (
        ("results", ("relu", "wrn-1", "swish", "gelu", "pswish", "apl"), ("wrn-10-4",), 3),
        ("prelu_lcn", ("prelu",), ("wrn-10-4",), 3),
        (
            "results",
            ("wrn-2", "wrn-3", "general-1", "general-2", "general-3"),
            ("wrn-10-4",),
            3,
        ),
    ),
    (
        ("results", ("relu",), ("resnet-v1-56", "resnet-v2-56"), 2),
        ("results", ("resnet-v1-1",), ("resnet-v1-56",), 2),
        ("results", ("resnet-v2-1",), ("resnet-v2-56",), 2),
        ("prelu_lcn", ("prelu-layer",), ("resnet-v1-56", "resnet-v2-56"), 2),
    ),
    (("scale_up", ("relu", "wrn-1"), ("wrn-16-8",), 1),),
    (("allcnnc", ("relu", "allcnnc-1"), ("all-cnn-c",), 2),),
)


def _groups() -> tuple[tuple[Cell, ...], ...]:
    return tuple(
        tuple(
            cell._replace(runs=runs)
            for table, names, networks, runs in group
            for cell in printed(table)
            if cell.task.partition("/")[0] in networks
            and (cell.name in names or f"{cell.name}-{cell.scope}" in names)
        )
        for group in _FIRST
    )


def trained(cell: Cell) -> tuple[str, str | None, str]:
    """What is trained: cells of several tables may be the same."""
    return cell.function, cell.scope, cell.task


def first(cells: Iterable[Cell]) -> list[Sequence[Cell]]:
    """The telling ones with their few runs, group after group; then all, as often as printed."""
    wanted = {trained(cell): cell for cell in cells}
    groups: list[Sequence[Cell]] = [
        [
            wanted[trained(cell)]._replace(runs=cell.runs)
            for cell in group
            if trained(cell) in wanted
        ]
        for group in _groups()
    ]
    return [*filter(None, groups), [*cells]]


SELECTIONS = (
    Experiment(
        name="telling",
        kind="selection",
        caption="What to run first when time is short: cells of several tables, most telling "
        "first.",
        cells=tuple({trained(c): c for group in _groups() for c in group}.values()),
        stages=_groups(),
    ),
)

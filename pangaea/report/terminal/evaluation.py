"""Tables of judged functions, and of the tasks to judge them on."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from rich.table import Table
from rich.text import Text

from pangaea.activation.module import resolve
from pangaea.report.statistics import stars, welch

if TYPE_CHECKING:
    from pangaea.training.evaluate import Evaluation
    from pangaea.training.tasks import Task


def rows(evaluations: Sequence["Evaluation"], against: "Evaluation | None") -> list[dict[str, Any]]:
    """One plain row for each function, with p against the reference."""
    return [
        {
            "function": e.function,
            "task": e.task,
            "data": e.results[0].data,
            "mean": e.mean,
            "sd": e.sd,
            "n": len(e.accuracies),
            "failures": e.failures,
            "reasons": sorted({r.failure for r in e.results if r.failure}),
            "p": None
            if against is None or e is against
            else welch(e.accuracies, against.accuracies),
            "against": None if against is None else against.function,
            "seconds": e.seconds,
            "accuracies": e.accuracies,
            "device": e.results[0].device,
        }
        for e in evaluations
    ]


def table(found: Sequence[dict[str, Any]]) -> Table:
    shown = Table("function", "accuracy", "n", "failed", "p", "seconds", box=None, pad_edge=False)
    for column in shown.columns[1:]:
        column.justify, column.no_wrap = "right", True
    best = max((row["mean"] for row in found if row["mean"] == row["mean"]), default=None)
    for row in found:
        spread = "" if row["sd"] is None else f" ± {row['sd']:.2f}"
        accuracy = f"{row['mean']:.2f}{spread}"
        p = "" if row["p"] is None else f"{row['p']:.2g} {stars(row['p']):<3}"
        failed = f"{row['failures']}" + (
            f" ({', '.join(row['reasons'])})" if row["reasons"] else ""
        )
        shown.add_row(
            Text(resolve(row["function"]).readable()),
            Text(accuracy, style="bold" if row["mean"] == best else ""),
            str(row["n"]),
            Text(failed),
            p,
            f"{row['seconds']:.1f}",
        )
    return shown


def task_rows() -> list[dict[str, Any]]:
    """One plain row for each task."""
    from pangaea.training.tasks import task, tasks

    found = []
    for name in tasks():
        t = task(name)
        samples = t.data_set.sizes[0]

        def cost(recipe: str, t: "Task" = t, samples: int = samples) -> int:
            # Backward takes two multiplications for each of the way forward.
            return 3 * t.multiplications * samples * t.recipes[recipe].epochs

        found.append(
            {
                "task": name,
                "parameters": t.parameters,
                "search_epochs": t.recipes["search"].epochs,
                "full_epochs": t.recipes["full"].epochs,
                "search_cost": cost("search"),
                "full_cost": cost("full"),
                "samples": list(t.data_set.sizes),
                "data_here": t.data_set.here(),
            }
        )
    return found


def task_table(found: Sequence[dict[str, Any]]) -> Table:
    shown = Table("task", "parameters", "epochs", "cost", "data", box=None, pad_edge=False)
    for column in shown.columns:
        column.no_wrap = True
    for column in shown.columns[1:4]:
        column.justify = "right"
    for row in found:
        shown.add_row(
            row["task"],
            f"{row['parameters']:,}",
            f"{row['search_epochs']}, {row['full_epochs']}",
            f"{_peta(row['search_cost'])}, {_peta(row['full_cost'])}",
            "here" if row["data_here"] else "not here",
        )
    return shown


def _peta(count: int) -> str:
    return f"{count / 1e15:.3g}"

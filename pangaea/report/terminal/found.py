"""What a study found: its best functions, as rows, as a table, and what to do with them."""

import csv as csv_format
import io
from collections.abc import Sequence
from pathlib import Path
from statistics import fmean, stdev
from typing import Any

from rich.table import Table
from rich.text import Text

from pangaea.functions.parser import parse
from pangaea.report.statistics import stars, welch
from pangaea.study.study import RELU, TESTED, Study


def rows(study: Study, count: int = TESTED) -> list[dict[str, Any]]:
    """ReLU and the best functions: fitness, validation and test accuracies, p against ReLU."""
    relu, validated = study.accuracies("test").get(RELU), study.validations().get(RELU)
    baseline = study.runs("baseline")
    first = {
        "number": 0,
        "function": RELU,
        "fitness": study.relu,
        "gain": 0.0 if baseline else None,
        "reranked": None,
        "validation": fmean(validated) if validated else None,
        "test": relu,
        # The first runs of a worker also load the data.
        "seconds": min((run["seconds"] for run in baseline), default=None),
    }
    found = []
    for row in [first, *study.best(count)]:
        tested = row["test"]
        row.pop("position", None)
        found.append(
            row
            | {
                "readable": parse(row["function"]).readable(),
                "test_mean": fmean(tested) if tested else None,
                "test_sd": stdev(tested) if tested and len(tested) > 1 else None,
                "p": welch(tested, relu) if tested and relu and row is not first else None,
            }
        )
    return found


def table(found: Sequence[dict[str, Any]]) -> Table:
    shown = Table(
        *("", "function", "fitness", "validation", "test", "p", "seconds"),
        box=None,
        pad_edge=False,
    )
    shown.columns[1].overflow = "fold"
    for column in shown.columns[2:]:
        column.justify, column.no_wrap = "right", True
    for row in found:
        spread = "" if row["test_sd"] is None else f" ± {row['test_sd']:.2f}"
        shown.add_row(
            Text(f"#{row['number']}" if row["number"] else "", style="dim"),
            Text("ReLU" if row["number"] == 0 else row["readable"]),
            _number(row["fitness"]),
            _number(row["validation"]),
            Text(_number(row["test_mean"]) + spread, style="bold"),
            "" if row["p"] is None else f"{row['p']:.2g} {stars(row['p']):<3}",
            _number(row["seconds"], ".1f"),
        )
    return shown


def state(study: Study) -> str:
    """Where the study stands, in a line."""
    done, total = len(study.history()), study.settings.candidates
    failed = study.failures()
    parts = [f"{study.settings.task}: {done} of {total} candidates"]
    if failed:
        parts.append("failed: " + ", ".join(f"{n} {reason}" for reason, n in failed.items()))
    return "\n" + " · ".join(parts)


def advice(study: Study, page: Path) -> str:
    """What to do next; the page is the study's report."""
    best = study.best(1)
    if not best:
        return (
            "\nno candidate could be trained: look at why with `sqlite3`, or `pangaea top --json`"
        )
    function = best[0]["function"]
    legend = "\n* p ≤ 0.05, ** p ≤ 0.01, *** p ≤ 0.001 (one-tailed Welch t-test against ReLU)"
    return (
        f"{legend if study.settings.runs else ''}\n\n"
        f'use it       pangaea.Activation("{function}")\n'
        f'look at it   pangaea show "{function}"\n'
        f"see it all   {page}\n"
        f"more         pangaea top {study.path}"
    )


def csv(found: Sequence[dict[str, Any]]) -> str:
    text = io.StringIO()
    writer = csv_format.writer(text, lineterminator="\n")
    names = [name for name in found[0] if name != "test"]
    writer.writerow(names)
    for row in found:
        writer.writerow(["" if row[name] is None else row[name] for name in names])
    return text.getvalue()


def general_table(found: Sequence[dict[str, Any]]) -> Table:
    tasks = list(found[0]["scores"])
    shown = Table("function", *tasks, "", box=None, pad_edge=False)
    shown.columns[0].overflow = "fold"
    for column in shown.columns[1:-1]:
        column.justify, column.no_wrap = "right", True
    for row in found:
        mark = "general" if row["general"] else row["discarded"]
        shown.add_row(
            Text(parse(row["function"]).readable()),
            *(f"{score:.2f}" for score in row["scores"].values()),
            Text(mark, style="bold" if row["general"] else "dim"),
        )
    return shown


def _number(value: float | None, form: str = ".2f") -> str:
    return "" if value is None else format(value, form)

"""The report as HTML, Markdown, CSV or JSON, and where it is written."""

import csv
import io
import json
import os
import re
from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from pangaea.errors import PangaeaError, UnknownNameError
from pangaea.files import save
from pangaea.report import sources, texts
from pangaea.report.findings import again, columns, judged_table, plain, reproduce
from pangaea.report.front import comparing, front, longest, meaning, shown
from pangaea.report.headline import headline
from pangaea.report.measures import bare, mean_or_none
from pangaea.report.page import document as page
from pangaea.report.records import Row, Snapshot, names, opened
from pangaea.study.stages import BEST

FORMATS = ("html", "md", "csv", "json")
_GENERATOR = b'<meta name="generator" content="pangaea">'


def write(
    studies: Sequence[Path | str],
    output: Path | str | None = None,
    kind: str | None = None,
    pictures: Path | str | None = None,
) -> str:
    """Write a report of one or more studies, and its figures as PNG files; returns the report.

    Its kind is one of `FORMATS`, or what the ending of the file's name says.
    """
    kind = kind_of(output) if kind is None else kind
    if kind not in FORMATS:
        raise UnknownNameError("format", kind, FORMATS)
    with ExitStack() as stack:
        read = [stack.enter_context(opened(path)) for path in studies]
        text = _MAKERS[kind](read)
        if pictures is not None:  # first: where no browser can draw them, nothing is written
            from pangaea.report.pictures import save as save_pictures

            save_pictures(read, Path(pictures))
        if output is not None:
            save(Path(output), text)
    return text


def kind_of(output: Path | str | None) -> str:
    """What the ending of a file's name says; HTML if it has none."""
    ending = "" if output is None else Path(output).suffix.lower()[1:]
    if ending in ("", "htm", "study"):  # in whose place nothing is written
        return "html"
    if ending not in FORMATS:
        raise UnknownNameError(f"format (the ending of {output})", ending, FORMATS)
    return ending


# Where it is written


def beside(study: Path) -> Path:
    """Where a search puts its own page: where nothing is, or only such a page of before."""
    stem = study.name.removesuffix(".study")
    for end in ("", *(f"-{n}" for n in range(2, 1000))):
        path = study.with_name(f"{stem}{end}.html")
        if not os.path.lexists(path) or _our_page(path):
            return path
    raise PangaeaError(f"every name for the page of {study} is taken: write it with -o")


def _our_page(path: Path) -> bool:
    if path.is_symlink() or not path.is_file():
        return False
    with path.open("rb") as file:
        return _GENERATOR in file.read(1000)


# Markdown


def markdown(studies: Sequence[Snapshot]) -> str:
    return "\n\n".join(
        _markdown(study, name) for study, name in zip(studies, names(studies), strict=True)
    )


def _markdown(study: Snapshot, name: str) -> str:
    about, how = headline(study), reproduce(study)
    function = f"**{_plain(about['function'])}**: " if about["function"] else ""
    facts = "\n".join(f"- {key}: {_plain(value)}" for key, value in about["facts"].items())
    parts = [f"# {_plain(name)}", f"{function}{_plain(about['sentence'])}", facts]
    if judged := judged_table(study):
        parts += [_table(judged["head"], judged["rows"]), *map(_plain, judged["notes"])]
    goal, scores = study.goal, columns(study)
    top = [
        {
            "candidate": row["number"],
            "function": texts.short(row["function"]),
            "search": bare(goal, row["score"]),
            "again": again(study, row),
            "full": bare(goal, row["validation"]),
            "test": bare(goal, mean_or_none(goal, row["test"])),
        }
        for row in study.best(BEST)
    ]
    if top:
        head = ("candidate", "function", *scores)
        parts.append(_table(head, [[row[name] for name in head] for row in top]))
        parts.append("\n".join(f"- {name}: {_plain(what)}" for name, what in scores.items()))
    if dearer := front(study):
        cells = [
            (
                shown(r["cost"]),
                r["number"] or "",
                r["readable"],
                bare(goal, r["score"]),
                longest(goal, r),
            )
            for r in dearer
        ]
        parts.append("Best at each cost:")
        parts.append(_table(("cost", "candidate", "function", "search", "longer"), cells))
        parts.append(f"- {_plain(meaning(study))}\n- {_plain(comparing(study))}")
    versions = ", ".join(f"{key} {value}" for key, value in how["versions"].items())
    if best := study.best(1):
        parts.append(f"Take it elsewhere:\n\n    {sources.command(best[0]['function'])}")
        if trained := sources.trained_command(study, best[0]):
            parts.append(f"As it was trained (with `--layer 1`, in that layer):\n\n    {trained}")
    parts += [f"Run it again:\n\n    {how['command']}", _plain(versions)]
    return "\n\n".join(parts) + "\n"


def _table(head: Sequence[str], rows: Sequence[Sequence[Any]]) -> str:
    lines = [
        list(map(_plain, head)),
        ["---"] * len(head),
        *([_plain(cell) for cell in row] for row in rows),
    ]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _plain(value: Any) -> str:
    """A text that Markdown leaves as it is."""
    return re.sub(r"([\\`*_{}\[\]<>#|~$&])", r"\\\1", texts.inert(str(value)))


# Plain data


def as_csv(studies: Sequence[Snapshot]) -> str:
    """A row for each candidate."""
    rows = [
        {
            "study": name,
            **row,
            "readable": texts.formula(row["function"]),
            "latex": texts.latex(row["function"]),
        }
        for study, name in zip(studies, names(studies), strict=True)
        for row in study.table()
    ]
    return table_csv(rows, ("study", "number", "function", "score"))


def table_csv(rows: Sequence[Row], head: Iterable[str] = ()) -> str:
    """Rows of plain values, of which a spreadsheet calculates none; lists are left out."""
    out = io.StringIO()
    names = [n for n in rows[0] if not isinstance(rows[0][n], list | dict)] if rows else list(head)
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(names)
    writer.writerows([_cell(row.get(name)) for name in names] for row in rows)
    return out.getvalue()


def _cell(value: Any) -> Any:
    """A text that begins like a formula of a spreadsheet gets the mark of a text."""
    if not isinstance(value, str):
        return "" if value is None else value
    text = texts.inert(value)
    return f"'{text}" if text.startswith(("=", "+", "-", "@")) else text


def as_json(studies: Sequence[Snapshot]) -> str:
    """Everything that the page shows in words and numbers, as plain data."""
    reports = [
        {
            "study": name,
            "path": texts.inert(str(study.path)),
            "headline": headline(study),
            "baseline": {"function": study.baseline, "score": study.baseline_score},
            "best": [*map(plain, study.best(BEST))],
            "front": front(study),
            "candidates": study.table(),
            **reproduce(study),
        }
        for study, name in zip(studies, names(studies), strict=True)
    ]
    return json.dumps({"studies": reports}, indent=1, ensure_ascii=False, allow_nan=False)


_MAKERS = {"html": page.document, "md": markdown, "csv": as_csv, "json": as_json}

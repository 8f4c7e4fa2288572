"""The report as HTML, Markdown, CSV or JSON, and where it is written."""

import csv
import io
import json
import re
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from pangaea.errors import PangaeaError, UnknownNameError
from pangaea.report.page import document as page
from pangaea.report.records import Row, Still, best, formula, latex, names, opened
from pangaea.report.summary import headline, judged, reproduce
from pangaea.study.study import RERANKED

FORMATS = ("html", "md", "csv", "json")


def write(
    studies: Sequence[Path | str],
    output: Path | str | None = None,
    kind: str = "html",
    pictures: Path | str | None = None,
) -> str:
    """Write a report of one or more studies, and its figures as PNG files; returns the report."""
    if kind not in FORMATS:
        raise UnknownNameError("format", kind, FORMATS)
    with ExitStack() as stack:
        found = [stack.enter_context(opened(path)) for path in studies]
        text = _MAKERS[kind](found)
        if output is not None:
            save(Path(output), text)
        if pictures is not None:
            from pangaea.report.figures.pictures import save as save_pictures

            save_pictures(found, Path(pictures))
    return text


def save(path: Path, text: str) -> None:
    """There at once and whole; never in place of a study."""
    aside = path.with_name(path.name + ".new")
    try:
        if _database(path):
            raise PangaeaError(f"{path} is a study: give the report another name with -o")
        aside.write_text(text, encoding="utf-8")
        aside.replace(path)
    except OSError as error:
        raise PangaeaError(f"cannot write {path}: {error.strerror or error}") from None


def _database(path: Path) -> bool:
    if not path.is_file():
        return False
    with path.open("rb") as file:
        return file.read(15) == b"SQLite format 3"


def markdown(studies: Sequence[Still]) -> str:
    return "\n\n".join(
        _markdown(study, name) for study, name in zip(studies, names(studies), strict=True)
    )


def _markdown(study: Still, name: str) -> str:
    about, how = headline(study), reproduce(study)
    found = f"**{_plain(about['function'])}**: " if about["function"] else ""
    facts = "\n".join(f"- {key}: {_plain(value)}" for key, value in about["facts"].items())
    parts = [f"# {_plain(name)}", f"{found}{_plain(about['sentence'])}", facts]
    tests = [
        (row["readable"], _spread(row), row["n"], row["failures"], row["p_shown"])
        for row in judged(study)
    ]
    if tests:
        parts.append(_table(("function", "test accuracy (%)", "n", "failed", "p"), tests))
    top = [
        (row["number"], formula(row["function"]), f"{row['fitness']:.2f}", _mean(row["reranked"]))
        for row in best(study, RERANKED)
    ]
    if top:
        parts.append(_table(("candidate", "function", "validation (%)", "reranked (%)"), top))
    versions = ", ".join(f"{key} {value}" for key, value in how["versions"].items())
    parts += ["Run it again:\n\n    " + how["command"].replace("\n", "\n    "), _plain(versions)]
    return "\n\n".join(parts) + "\n"


def _spread(row: Row) -> str:
    return f"{row['mean']:.2f}" + ("" if row["sd"] is None else f" ± {row['sd']:.2f}")


def _mean(value: float | None) -> str:
    return "" if value is None else f"{value:.2f}"


def _table(head: Sequence[str], rows: Sequence[Sequence[Any]]) -> str:
    lines = [head, ["---"] * len(head), *([_plain(cell) for cell in row] for row in rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _plain(value: Any) -> str:
    """A text that Markdown leaves as it is."""
    return re.sub(r"([\\`*_{}\[\]<>#|~$&])", r"\\\1", " ".join(str(value).split()))


def as_csv(studies: Sequence[Still]) -> str:
    """A row for each candidate."""
    out = io.StringIO()
    rows = [
        {
            "study": name,
            **row,
            "readable": formula(row["function"]),
            "latex": latex(row["function"]),
        }
        for study, name in zip(studies, names(studies), strict=True)
        for row in study.table()
    ]
    fields = list(rows[0]) if rows else ["study", "number", "function", "fitness"]
    writer = csv.DictWriter(out, fields, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return out.getvalue()


def as_json(studies: Sequence[Still]) -> str:
    """Everything that the page shows in words and numbers, as plain data."""
    found = [
        {
            "study": name,
            "path": str(study.path),
            "headline": headline(study),
            "relu": study.relu,
            "best": best(study, RERANKED),
            "candidates": study.table(),
            **reproduce(study),
        }
        for study, name in zip(studies, names(studies), strict=True)
    ]
    return json.dumps({"studies": found}, indent=1, ensure_ascii=False)


_MAKERS = {"html": page.document, "md": markdown, "csv": as_csv, "json": as_json}

"""Pages of the site that are made from the code: one file each, and no other edit.

A module has a function `page()` that gives the page's Markdown; `python -m pages` writes them all
to `docs/reference`, where nothing is kept in the repository.
"""

from pathlib import Path

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / "docs" / "reference"
FIGURES = ROOT / "build" / "figures"  # pieces of pages, which are no pages themselves


def cell(text: str) -> str:
    """A text as a cell of a Markdown table shows it: as it is, on one line."""
    line = " ".join(text.split())
    return line.replace("\\", "\\\\").replace("|", "\\|").replace("<", "&lt;").replace("*", "\\*")


def table(head: list[str], rows: list[list[str]]) -> str:
    """A Markdown table; its cells are Markdown already."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)

"""Every file of the package in a line: the first of its docstring."""

import ast
from pathlib import Path

from pages import ROOT, cell, table

PACKAGE = ROOT / "pangaea"


def page() -> str:
    parts = ["# Every file", "The first line of each, by [folder](../architecture.md#folders)."]
    for folder in [PACKAGE, *sorted(path for path in PACKAGE.rglob("*") if path.is_dir())]:
        if rows := [_row(path) for path in sorted(folder.glob("*.py")) if _said(path)]:
            parts += [f"## {folder.relative_to(ROOT)}", table(["file", ""], rows)]
    return "\n\n".join(parts) + "\n"


def _row(path: Path) -> list[str]:
    return [f"`{path.name}`", cell(_said(path))]


def _said(path: Path) -> str:
    """What the module says of itself; nothing for an empty one."""
    text = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
    return text.partition("\n\n")[0]

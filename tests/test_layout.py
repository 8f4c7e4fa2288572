"""The layout is the architecture: imports point only upwards in this list."""

import ast
from pathlib import Path

import pytest

import pangaea

ORDER = (
    "errors",
    "files",
    "locating",
    "settings",
    "functions",
    "evolution",
    "activation",
    "export",
    "networks",
    "data",
    "training",
    "tasks",
    "workers",
    "study",
    "paper",
    "report",
    "cli",
)
PACKAGE = Path(pangaea.__file__).parent
MODULES = sorted(
    p
    for p in PACKAGE.rglob("*.py")
    if p.parent != PACKAGE or p.stem not in ("__init__", "__main__")
)


def imported(source: str) -> set[str]:
    names = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            names.update(f"{node.module}.{alias.name}" for alias in node.names)
    return {name.split(".")[1] for name in names if name.startswith("pangaea.")}


@pytest.mark.parametrize("module", MODULES, ids=lambda p: str(p.relative_to(PACKAGE)))
def test_imports_point_only_upwards(module: Path) -> None:
    home = module.relative_to(PACKAGE).with_suffix("").parts[0]
    assert home in ORDER, f"{home} is not part of the layout"
    allowed = {*ORDER[: ORDER.index(home) + 1], *pangaea.__all__, "__version__"}
    assert imported(module.read_text()) <= allowed


def test_the_test_sees_a_downward_import() -> None:
    assert imported("from pangaea.cli import app\nimport pangaea.workers.engine") == {
        "cli",
        "study",
    }

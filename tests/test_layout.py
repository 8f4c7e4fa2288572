"""The layout is the architecture: imports point only upwards in this list."""

import ast
from pathlib import Path

import pytest

import pangaea

ORDER = (
    "errors",
    "wording",
    "system",
    "files",
    "locating",
    "settings",
    "scanning",
    "locating",
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
    "testing",
)
PACKAGE = Path(pangaea.__file__).parent
MODULES = sorted(
    p
    for p in PACKAGE.rglob("*.py")
    if p.parent != PACKAGE or p.stem not in ("__init__", "__main__")
)


def imported(source: str) -> set[str]:
    """The rooms that a module takes something from, by whichever name."""
    names = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            names.update(f"{node.module}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            names.add(f"{node.value.id}.{node.attr}")
    inner = {name.split(".")[1] for name in names if name.startswith("pangaea.")}
    return {room(name) for name in inner if name != "__version__"}


def room(name: str) -> str:
    """Where a name of the package lives: a folder is itself, a public name stands in one."""
    home = pangaea._HOME.get(name)
    return name if name in ORDER or home is None else home.split(".")[0]


@pytest.mark.parametrize("module", MODULES, ids=lambda p: str(p.relative_to(PACKAGE)))
def test_imports_point_only_upwards(module: Path) -> None:
    home = module.relative_to(PACKAGE).with_suffix("").parts[0]
    assert home in ORDER, f"{home} is not part of the layout"
    assert imported(module.read_text()) <= {*ORDER[: ORDER.index(home) + 1]}


@pytest.mark.parametrize(
    ("source", "rooms"),
    [
        ("from pangaea.cli import app\nimport pangaea.study.study", {"cli", "study"}),
        ("from pangaea import search", {"study"}),
        ("from pangaea import plot", {"report"}),
        ("import pangaea\npangaea.train('mnist1d', 'relu')", {"tasks"}),
        ("from pangaea import errors, __version__", {"errors"}),
        ("import torch\nfrom torch import nn", set()),
    ],
)
def test_the_test_sees_every_way_to_import(source: str, rooms: set[str]) -> None:
    assert imported(source) == rooms

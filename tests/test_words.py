"""No word of one goal, one baseline or one kind of task where any may be."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import pangaea

PACKAGE = Path(pangaea.__file__).parent
FOLDERS = ("evolution", "workers", "study", "report", "cli")
WORDS = re.compile(r"\b(accurac(y|ies)|fitness|chance|classes|p?relu)\b", re.IGNORECASE)
# What the paper calls its figure, the accuracies that it prints, examples of functions, and studies
# of a time in which every goal was an accuracy.
ALLOWED = {
    "cli/language.py": {"accuracies", "relu"},
    "cli/training.py": {"relu"},
    "report/figures/cost.py": {"fitness"},
    "report/terminal/language.py": {"accuracies", "accuracy"},
    "study/migration.py": {"accuracy", "classes", "relu"},
    "study/settings.py": {"relu"},
}
FILES = sorted(
    path
    for folder in FOLDERS
    for path in (PACKAGE / folder).rglob("*")
    if path.suffix in (".py", ".js", ".html") and not path.name.endswith(".min.js")
)


def words(text: str) -> set[str]:
    return {match[0].lower() for match in WORDS.finditer(text.replace("_", " "))}


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_a_file_knows_no_goal_and_no_baseline(path: Path) -> None:
    used = words(path.read_text(encoding="utf-8"))
    assert used <= ALLOWED.get(str(path.relative_to(PACKAGE)), set())


def test_the_test_sees_such_words() -> None:
    text = "ReLU relu_seconds Fitness accuracies by_chance number_of_classes prelude class"
    assert words(text) == {"relu", "fitness", "accuracies", "chance", "classes"}


EMPTY = {"found", "made", "own", "said"}  # names of anything, and so of nothing


def names(tree: ast.AST) -> Iterator[str]:
    """What a file calls its own: functions, classes, arguments, variables and attributes."""
    for node in ast.walk(tree):
        match node:
            case ast.FunctionDef(name=name) | ast.ClassDef(name=name) | ast.arg(arg=name):
                yield name
            case ast.Name(id=name, ctx=ast.Store()) | ast.Attribute(attr=name, ctx=ast.Store()):
                yield name


def test_names_say_what_they_hold() -> None:
    for path in PACKAGE.rglob("*.py"):
        used = {name.strip("_") for name in names(ast.parse(path.read_text(encoding="utf-8")))}
        if path.name == "errors.py":  # of a text that is no function: expected this, found that
            used -= {"found"}
        assert not used & EMPTY, path


def test_the_test_sees_such_names() -> None:
    text = "def made(own):\n    _found = self.said = 1\n    return found, _found"
    assert {*names(ast.parse(text))} == {"made", "own", "_found", "said"}

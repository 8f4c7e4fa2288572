"""What `--help` says: legible in sixty columns, in the order in which people need it."""

import inspect
import textwrap
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, TypeVar, get_args

from rich.console import Console
from rich.text import Text
from typer.core import TyperCommand, TyperGroup
from typer.models import OptionInfo

HEADINGS = {
    "Search": ("search", "resume", "top", "report", "dashboard", "general"),
    "Judge functions": ("evaluate", "tasks", "paper"),
    "Look at functions, take them away": ("show", "list", "export", "inspect"),
    "What functions are made of": ("operators", "space"),
}
_NAMES = 20  # columns for names; a longer one has a line of its own
_WIDEST = 100

_WORDS = {Path: "FILE", int: "N", float: "NUMBER", str: "TEXT"}

Row = tuple[str, str]
Run = TypeVar("Run", bound=Callable[..., Any])


def named(run: Run) -> Run:
    """The same function; what its options take has a word that people know."""
    for parameter in inspect.signature(run, eval_str=True).parameters.values():
        kind, *more = get_args(parameter.annotation) or (parameter.annotation,)
        for option in more:
            if isinstance(option, OptionInfo) and option.metavar is None:
                option.metavar = next((w for k, w in _WORDS.items() if k in _kinds(kind)), None)
    return run


def _kinds(annotation: Any) -> set[Any]:
    """A type, and those that it is made of: `list[str] | None`."""
    return {annotation}.union(*map(_kinds, get_args(annotation)))


class Command(TyperCommand):
    """A command whose options stand below each other under the headings of their groups."""

    def format_help(self, ctx: Any, formatter: Any) -> None:
        groups: dict[str, list[Row]] = {}
        for parameter in self.get_params(ctx):
            heading, row = _described(parameter)
            groups.setdefault(heading, []).append(row)
        arguments = [row[0] for row in groups.get("Arguments", [])]
        _write(" ".join([ctx.command_path, "[OPTIONS]", *arguments]), self.help or "", groups)


class Group(TyperGroup):
    """The commands, the first ones first."""

    def list_commands(self, ctx: Any) -> list[str]:
        if ctx.parent is not None:  # of a group within another, as they were written
            return list(self.commands)
        order = [name for names in HEADINGS.values() for name in names]
        return sorted(self.commands, key=lambda n: order.index(n) if n in order else len(order))

    def format_help(self, ctx: Any, formatter: Any) -> None:
        groups: dict[str, list[Row]] = {}
        for name in self.list_commands(ctx):
            heading = next((h for h, names in HEADINGS.items() if name in names), "More")
            if ctx.parent is not None:  # a group of commands within another
                heading = "Commands"
            first = (self.commands[name].help or "").split("\n\n")[0]
            groups.setdefault(heading, []).append((name, _line(first)))
        groups["Options"] = [_described(parameter)[1] for parameter in self.get_params(ctx)]
        _write(f"{ctx.command_path} COMMAND [OPTIONS]", self.help or "", groups)


def _described(parameter: Any) -> tuple[str, Row]:
    """Its heading, its names with what they take, and what it means."""
    help_text = _line(getattr(parameter, "help", None) or "")
    if parameter.param_type_name == "argument":
        return "Arguments", (str(parameter.metavar or parameter.name.upper()), help_text)
    names = ", ".join(sorted(parameter.opts, key=lambda name: name.startswith("--")))
    if parameter.secondary_opts:
        names += f" / {', '.join(parameter.secondary_opts)}"
    takes = f" {parameter.metavar}" if parameter.metavar and not parameter.is_flag else ""
    default = parameter.default
    if takes and isinstance(default, str | int | float | Path) and "Default" not in help_text:
        help_text += f" Default: {default}."
    heading = getattr(parameter, "rich_help_panel", None) or "Options"
    return heading, (names + takes, help_text)


def _line(text: str) -> str:
    return " ".join(text.split())


def _write(usage: str, about: str, groups: dict[str, list[Row]]) -> None:
    console = Console(highlight=False, soft_wrap=True, emoji=False)
    width = min(console.width, _WIDEST)
    paragraphs = [f"Usage: {usage}", *(_line(paragraph) for paragraph in about.split("\n\n"))]
    for paragraph in paragraphs:
        console.print(Text("\n".join(_wrapped(paragraph, width)) + "\n"))
    for number, (heading, rows) in enumerate(groups.items()):
        console.print(Text("\n" * (number > 0) + heading, style="bold"))
        for line in _lines(rows, width):
            console.print(line)


def _wrapped(text: str, width: int) -> list[str]:
    return textwrap.wrap(text, width, break_on_hyphens=False)


def _lines(rows: Sequence[Row], width: int) -> Iterable[Text]:
    column = min(max(len(name) for name, _ in rows), _NAMES, width // 3) + 4
    for name, text in rows:
        wrapped = _wrapped(text, width - column) or [""]
        label = f"  {name}"
        if len(label) + 2 > column:
            yield Text(label, style="cyan")
        else:
            yield Text.assemble((label.ljust(column), "cyan"), wrapped.pop(0))
        for line in wrapped:
            yield Text(" " * column + line)

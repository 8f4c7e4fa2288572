"""The command line, as its own parser knows it."""

from typing import Any

import typer

from pages import cell, table
from pangaea.cli import app

PROGRAM: Any = typer.main.get_command(app)


def page() -> str:
    parts = [
        "# Commands",
        f"{PROGRAM.help} `pangaea COMMAND --help` says the same as this page, which is made from "
        "it.",
    ]
    for name, command in commands().items():
        parts += [
            f"## {name}",
            _paragraphs(command.help),
            _usage(name, command),
            *_options(command),
        ]
    return "\n\n".join(parts) + "\n"


def commands(group: Any = PROGRAM, above: Any = None, before: str = "") -> dict[str, Any]:
    """By name, in the order of `--help`; those of a group after its own: `search`, `paper run`."""
    context = typer.Context(group, parent=above)
    named: dict[str, Any] = {}
    for name in group.list_commands(context):
        command, whole = group.commands[name], f"{before}{name}"
        inner = commands(command, context, f"{whole} ") if hasattr(command, "commands") else {}
        named |= inner or {whole: command}
    return named


def _paragraphs(text: str) -> str:
    return "\n\n".join(cell(part) for part in text.split("\n\n"))


def _usage(name: str, command: Any) -> str:
    arguments = [_value(parameter) for parameter in command.params if _positional(parameter)]
    return f"```text\n{' '.join(['pangaea', name, '[OPTIONS]', *arguments])}\n```"


def _positional(parameter: Any) -> bool:
    return bool(parameter.param_type_name == "argument")


def _options(command: Any) -> list[str]:
    """A table for each heading of `--help`."""
    panels: dict[str, list[list[str]]] = {}
    for parameter in command.params:
        heading = getattr(parameter, "rich_help_panel", None) or ""
        panels.setdefault(heading, []).append([_names(parameter), cell(parameter.help or "")])
    parts = []
    for heading, rows in panels.items():
        parts += [f"**{heading}**"] * bool(heading)
        parts.append(table(["option", ""], rows))
    return parts


def _names(parameter: Any) -> str:
    if _positional(parameter):
        return f"`{_value(parameter)}`"
    value = f" {parameter.metavar}" if parameter.metavar else ""
    return ", ".join(f"`{name}{value}`" for name in (*parameter.opts, *parameter.secondary_opts))


def _value(parameter: Any) -> str:
    return str(parameter.metavar or parameter.name.upper())

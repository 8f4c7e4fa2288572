"""Every setting, as it is declared."""

from pages import cell
from pages import table as rows_of
from pangaea.evolution.strategies import strategies
from pangaea.settings import declarations, table
from pangaea.study.settings import Settings
from pangaea.training.how import How
from pangaea.workers.place import Place

_INTRO = """# Settings

A setting is declared once, with its type, check, default and help; options of the command line,
keys of a settings file and this page are made from that line. `pangaea search --print-settings`
prints them as TOML with the defaults of a task, `--settings file.toml` reads them, and options on
the command line win."""


def page() -> str:
    parts = [
        _INTRO,
        "## Of the search",
        table(declarations(Settings)),
        *_strategies(),
        "## Where it runs",
        table(declarations(Place)),
        "## How `evaluate` trains",
        table(declarations(How)),
        "## What a task changes",
        _defaults(),
    ]
    return "\n\n".join(parts) + "\n"


def _strategies() -> list[str]:
    """A table for strategies that declare the same."""
    groups: dict[str, list[str]] = {}
    for name, strategy in strategies().items():
        declared = declarations(strategy.settings)
        said = table(declared) if declared else "Nothing of their own."
        groups.setdefault(said, []).append(f"`{name}`")
    parts = [f"{', '.join(names)}:\n\n{said}" for said, names in groups.items()]
    return ["## Of a strategy", *parts]


def _defaults() -> str:
    from pangaea.tasks.finding import task, tasks

    rows = []
    for name in tasks():
        defaults = dict(task(name).defaults)
        if defaults:
            given = ", ".join(f"{key} = {value}" for key, value in defaults.items())
            rows.append([f"`{name}`", cell(given)])
    return rows_of(["task", "its own defaults"], rows)

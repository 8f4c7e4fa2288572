"""The study's file, as its schema declares it."""

import re

from pages import cell, table
from pangaea.study.file import APPLICATION
from pangaea.study.schema import SCHEMA, VERSION
from pangaea.study.stages import STAGES

_TABLE = re.compile(r"create table (\w+) \(\n(.*?)\n\)", re.DOTALL)
_COLUMN = re.compile(r" +(\w+) (\w+)(.*?),? -- (.*)")


def page() -> str:
    parts = [
        "# The study's file",
        "One SQLite file; what its columns mean stands in the file too (`sqlite3 first.study "
        f".schema`). `pragma user_version` is the schema's version, {VERSION}, and `pragma "
        f"application_id` is {APPLICATION:#x}. [Searching](../search.md#the-study) says who writes "
        "it and when.",
    ]
    for name, columns in tables().items():
        rows = [[f"`{column}`", kind, cell(meaning)] for column, kind, meaning in columns]
        parts += [f"## {name}", table(["column", "type", "meaning"], rows)]
    stages = [[f"`{s.name}`", s.budget, s.part, s.doing] for s in STAGES.values()]
    parts += ["## Stages", table(["stage", "budget", "part of the data", "what goes on"], stages)]
    return "\n\n".join(parts) + "\n"


def tables() -> dict[str, list[tuple[str, str, str]]]:
    """By table: each column's name, type and meaning."""
    return {
        name: [
            (column, kind, meaning)
            for line in body.splitlines()
            for column, kind, _, meaning in _COLUMN.findall(line)
        ]
        for name, body in _TABLE.findall(SCHEMA)
    }

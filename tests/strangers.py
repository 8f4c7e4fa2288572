"""Studies as a stranger might send them: one that was fine, hurt in one place, by a seed."""

import contextlib
import json
import random
import shutil
import sqlite3
from pathlib import Path
from typing import Any

ENDLESS = "with recursive n(i) as (select 1 union all select i + 1 from n) select i from n"
TABLES = {
    "about": ("name", "value"),
    "candidates": ("number", "function", "parent", "mutation", "proposed"),
    "runs": (
        *("run", "stage", "candidate", "function", "task", "scope"),
        *("budget", "seed", "part", "asked"),
    ),
    "results": (
        *("position", "run", "score", "failure", "detail", "seconds", "measured"),
        *("peak_memory", "device", "worker", "started", "finished"),
    ),
    "curves": ("run", "curves"),
}
# As SQL, so that values can be written which Python's module would refuse.
VALUES = (
    *("null", "'long'", "x'ff00'", "cast(x'ff41' as text)", "''", "'relu(x)'", "'search'"),
    *("0", "-1", "2", "9223372036854775807", "-9223372036854775808", "1e-320", "1e308", "9e999"),
    *("-9e999", "253402300800.0", "-1.5", "1e18", "'\x1b[31mred'", "'\x1b]0;owned\x07'", "'{}'"),
    *("'[]'", "'nan'", "'{\"a\": NaN}'", "'{\"validation\": [1]}'", "'[' || 1", "zeroblob(3000)"),
    "replace(hex(zeroblob(100000)), '00', '[')",
    "replace(hex(zeroblob(100000)), '00', '{\"a\":')",
    "replace(hex(zeroblob(600000)), '00', 'x')",
    "'{\"loss\": ' || replace(hex(zeroblob(5000)), '00', '9') || '}'",
)
PLAIN: tuple[Any, ...] = (
    *(None, True, -1, 0, 1.5, 10**9, 10**30, 10**4000, 1e308, float("nan"), float("inf")),
    *("", "x", "\x1b[2J", "x" * 50_000, [], {}, [[]], {"a": 1}, "evolution", "relu(x)"),
)
SCHEMA = (
    "drop table {table}",
    "alter table {table} rename to other",
    "alter table {table} add column more text",
    "create table more (x)",
    f"create view more as {ENDLESS}",
    f"drop table {{table}}; create view {{table}} as {ENDLESS}",
    "create trigger more after insert on {table} begin delete from {table}; end",
    "create index more on {table}({column})",
    "alter table {table} rename column {column} to more",
    "pragma user_version = {number}",
    "pragma application_id = {number}",
)


def hurt(whole: Path, path: Path, seed: int) -> str:
    """A copy that is hurt in one place; returns what was done to it."""
    rng = random.Random(seed)
    shutil.copy(whole, path)
    how = rng.choices((_value, _entry, _schema, _rows, _bytes), weights=(10, 5, 3, 2, 2))[0]
    return how(path, rng)


def told(path: Path, *statements: str) -> None:
    """What SQLite is told of a study, as far as it does it."""
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as connection:
        for statement in statements:
            with contextlib.suppress(sqlite3.Error):
                connection.executescript(statement)


def _value(path: Path, rng: random.Random) -> str:
    table, columns = rng.choice([*TABLES.items()])
    column, value = rng.choice(columns), rng.choice(VALUES)
    some = "" if rng.random() < 0.1 else f" where {columns[0]} = (select {columns[0]} from {table}"
    if some:
        some += f" limit 1 offset {rng.randrange(4 if table == 'about' else 20)})"
    statement = f"update {table} set {column} = {value}{some}"
    told(path, statement)
    return statement[:200]


def _entry(path: Path, rng: random.Random) -> str:
    """Something in one of the entries about the study, however deep."""
    with contextlib.closing(sqlite3.connect(path)) as connection:
        entries = dict(connection.execute("select name, value from about"))
        name = rng.choice([name for name in sorted(entries) if entries[name].startswith("{")])
        whole = json.loads(entries[name])
        inside, key = whole, rng.choice([*whole])
        while isinstance(inside[key], dict) and inside[key] and rng.random() < 0.8:
            inside = inside[key]
            key = rng.choice([*inside])
        if rng.random() < 0.15:
            del inside[key]
            said = "gone"
        else:
            inside[key] = rng.choice(PLAIN)
            said = "changed"
        connection.execute("update about set value = ? where name = ?", (json.dumps(whole), name))
        connection.commit()
    return f"{name}: {key} is {said}"


def _schema(path: Path, rng: random.Random) -> str:
    table, columns = rng.choice([*TABLES.items()])
    number = rng.choice((0, 1, 2, 3, -1, 2**31 - 1))
    text = rng.choice(SCHEMA)
    statement = text.format(table=table, column=rng.choice(columns), number=number)
    told(path, f"pragma foreign_keys=off; {statement}")
    return statement[:200]


def _rows(path: Path, rng: random.Random) -> str:
    """Rows are gone, or there twice."""
    table, columns = rng.choice([*TABLES.items()])
    key = columns[0]
    place = f"limit {rng.choice((1, 5, 1000))} offset {rng.randrange(20)}"
    some = f"(select {key} from {table} {place})"
    others = ", ".join(c for c in columns if c != key)
    statement = rng.choice(
        (
            f"delete from {table} where {key} in {some}",
            f"insert into {table} select {key} + 1000, {others} from {table} where {key} in {some}",
            f"update {table} set {key} = {key} + 500 where {key} in {some}",
        )
    )
    told(path, statement)
    return statement


def _bytes(path: Path, rng: random.Random) -> str:
    content = bytearray(path.read_bytes())
    place = rng.randrange(100, len(content))
    if rng.random() < 0.3:
        del content[place:]
        said = f"cut after {place} bytes"
    else:
        count = rng.choice((1, 10, 3000))
        content[place : place + count] = rng.randbytes(len(content[place : place + count]))
        said = f"{count} other bytes at {place}"
    path.write_bytes(content)
    return said

"""What a study's file must hold: its tables and columns, and values of the kinds they declare.

A file may come from a stranger. Its tables are compared with ours before any of them is read (a
view in the place of a table could keep every reader busy for ever, a trigger act for its writer),
and its values by SQLite itself, which takes a tenth of a second for 100,000 candidates.
"""

import re
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import NamedTuple, NoReturn

from pangaea.errors import PangaeaError
from pangaea.evolution.trials import NoFunctionError
from pangaea.study import migration
from pangaea.study.settings import SCOPES
from pangaea.study.stages import PROPOSED, STAGES

VERSION = 2
# What a column means stands beside it, in every study too: `sqlite3 first.study .schema`. A meaning
# has no semicolon, for the migration takes the text apart at them.
SCHEMA = """
create table about (
    name text primary key, -- settings, task, versions, created, time, goals of the tasks of general
    value text not null -- JSON, and Unix time for created
) without rowid;
create table candidates (
    number integer primary key, -- from 1
    function text not null, -- canonical text
    parent integer references candidates(number), -- its number, none for a random function
    mutation text not null, -- what was done to the parent, or initial, or given
    proposed real not null -- Unix time
);
create table runs (
    run integer primary key, -- recorded before it is submitted, pending as long as it has no result
    stage text not null, -- why it was asked for, such as search
    candidate integer references candidates(number), -- its number, if the function is one
    function text not null, -- what to train
    task text not null, -- on what
    scope text, -- where parameters are shared, none for the paper's choice
    budget integer not null, -- how long, in the task's unit
    seed integer not null, -- of everything that the run draws
    part text not null, -- of the data: validation or test
    asked real not null -- Unix time
);
create index runs_by_stage on runs(stage) where stage <> 'search';
create index runs_by_candidate on runs(candidate) where candidate is not null;
create table results (
    position integer primary key, -- in the order in which runs ended
    run integer not null unique references runs(run), -- exactly one result for a run
    score real, -- in the goal's terms, on the run's part of the data, none if it failed
    failure text, -- the reason
    detail text, -- more about it
    seconds real not null, -- of the run
    measured text, -- JSON: what else was measured, such as the validation score of a test run
    peak_memory integer, -- bytes
    device text, -- where it was trained
    worker text, -- by which process
    started real, -- Unix time
    finished real not null -- Unix time
);
create table curves (
    run integer primary key references runs(run), -- one that ended with a score
    curves text not null -- JSON: loss, training and validation score by epoch, means of parameters
);
"""
_SCHEMAS = {1: migration.EARLIER, VERSION: SCHEMA}

LONGEST = 100_000  # bytes of a text; what is written as JSON may be longer:
LARGEST = 8 << 20  # bytes of any value, so that no value takes more than 200 MB once it is read
_JSON = ("value", "measured", "curves")
_LAST_TEXT = chr(0x10FFFF)  # no text of ours begins with it
_MOMENTS = ("proposed", "asked", "started", "finished")
LAST_MOMENT = 253_402_300_799  # of the year 9999
HUGE = 1e300  # a number beyond it has overflowed somewhere
# What must hold beside a column's kind.
_RULES = {
    "candidates": {"number": "number >= 1", "parent": "(parent is null or parent < number)"},
    "runs": {
        "stage": f"(stage = 'search' or stage in {tuple(STAGES)})",  # nearly all are
        "scope": f"(scope is null or scope in {SCOPES})",
        "part": f"part in {tuple(sorted({stage.part for stage in STAGES.values()}))}",
        "candidate": f"(candidate is not null or stage not in {PROPOSED})",
        "budget": "budget = cast(budget as integer) and budget between 1 and 1000000000",
    },
}
# Each table with the column that names its rows, and what such a row is called.
_ROWS = {
    "about": ("name", "entry"),
    "candidates": ("number", "candidate"),
    "runs": ("run", "run"),
    "results": ("run", "run"),
    "curves": ("run", "run"),
}


# What Python raises at values that make no sense.
NONSENSE = (ArithmeticError, KeyError, RecursionError, TypeError, ValueError)


def damaged(path: Path, why: str) -> PangaeaError:
    """That a file is not as pangaea writes it, and where."""
    return PangaeaError(f"{path} is damaged, or pangaea did not write it: {why}")


@contextmanager
def functions_of(path: Path) -> Iterator[None]:
    """A candidate's text that is no function is said with the file it stands in."""
    try:
        yield
    except NoFunctionError as error:
        raise damaged(path, str(error)) from None


def brief(error: Exception) -> str:
    """An error in one short line, with nothing in it that a terminal would act on."""
    text = ascii(str(error)[:200])[1:-1]
    return text if isinstance(error, sqlite3.Error) else f"{type(error).__name__}: {text}"


# Tables and columns


def check_tables(connection: sqlite3.Connection, path: Path) -> None:
    """Raise unless the tables, their columns and indexes are those of its version, and no more."""
    (version,) = connection.execute("pragma user_version").fetchone()
    if version > VERSION:
        raise PangaeaError(
            f"{path} was written by a newer pangaea (schema {version}, this one knows "
            f"{VERSION}): update pangaea to open it"
        )
    if version not in _SCHEMAS:
        raise damaged(path, f"there is no schema {version}")
    declared, there = _declared(version), _things(connection)
    for name in there:
        if name not in declared:
            raise damaged(path, f"it has the {_shown(there[name].kind)} {_shown(name)}")
    for name, thing in declared.items():
        if name not in there:
            raise damaged(path, f"it has no {thing.kind} {name}")
        if there[name] != thing:
            raise damaged(path, f"its {thing.kind} {name} is not what a study has there")


class _Thing(NamedTuple):
    """A table or an index: what makes it."""

    kind: str
    sql: str | None


@cache
def _declared(version: int) -> dict[str, _Thing]:
    empty = sqlite3.connect(":memory:")
    try:
        empty.executescript(_SCHEMAS[version])
        return _things(empty)
    finally:
        empty.close()


def _things(connection: sqlite3.Connection) -> dict[str, _Thing]:
    rows = connection.execute("select name, type, sql from sqlite_schema limit 100")
    return {
        name: _Thing(kind, _essence(sql) if isinstance(sql, str) else None)
        for name, kind, sql in rows
    }


def _essence(sql: str) -> str:
    """Without comments and spaces that mean nothing, which differ from version to version."""
    code = " ".join(re.sub(r"--[^\n]*", "", sql).split())
    return re.sub(r" ?([(),]) ?", r"\1", code)


# Values


def check_values(connection: sqlite3.Connection, path: Path) -> None:
    """Raise if a value is not of its column's kind, or a row belongs to none of those it names."""
    for table, (key, noun) in _ROWS.items():
        if table == "curves":  # most of the file: each is looked at when it is read
            continue
        if not _right(connection, table):
            _say(connection, path, table, key, noun)
        lost = connection.execute(f"pragma foreign_key_check({table})").fetchone()
        if lost is not None:
            _, row, named, _ = lost
            raise damaged(path, f"row {row} of its {table} belongs to none of its {named}")


def _right(connection: sqlite3.Connection, table: str) -> bool:
    """Does each row keep every rule? What is null is not true, either."""
    rules = " and ".join(_rules(table).values())
    # To let SQLite refuse longer texts takes no time, and to measure each a seventh of the check.
    before = connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, LONGEST)
    try:
        wrong = connection.execute(f"select 1 from {table} where ({rules}) is not true").fetchone()
    except sqlite3.DataError:
        return False
    finally:
        connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, before)
    return wrong is None


def _say(connection: sqlite3.Connection, path: Path, table: str, key: str, noun: str) -> NoReturn:
    """Which value it is, and what it is."""
    for column, rule in _rules(table).items():
        short = f"coalesce(length(cast({column} as blob)), 0) <= {LONGEST}"
        both = rule if column in _JSON else f"{rule} and {short}"
        row = connection.execute(
            f"select {key}, {column} from {table} where ({both}) is not true limit 1"
        ).fetchone()
        if row is not None:
            name, value = row
            raise damaged(path, f"the {column} of {noun} {_shown(name)} is {_shown(value)}")
    raise damaged(path, f"a value of its {table} is too long")


@cache
def _rules(table: str) -> dict[str, str]:
    """What must hold of each column; numbers of rows need no rule, here and where they refer to."""
    empty = sqlite3.connect(":memory:")
    try:
        empty.executescript(SCHEMA)
        columns = empty.execute(f"pragma table_info({table})").fetchall()
        keys = {row[3] for row in empty.execute(f"pragma foreign_key_list({table})")}
    finally:
        empty.close()
    rules = {}
    for _, name, kind, needed, _, key in columns:
        if name not in keys and (key, kind) != (1, "INTEGER"):
            rule = _rule(name, kind)
            rules[name] = rule if needed or key else f"({name} is null or {rule})"
    return rules | _RULES.get(table, {})


def _rule(name: str, kind: str) -> str:
    """To SQLite numbers are less than all texts, and these less than all bytes."""
    if name in _MOMENTS:
        return f"{name} between 0 and {LAST_MOMENT}"
    if kind == "REAL":
        return f"{name} between {-HUGE} and {HUGE}"
    if kind == "INTEGER":
        return f"{name} = cast({name} as integer)"
    if name in _JSON:  # which need not be looked into for that
        return f"typeof({name}) = 'text'"
    return f"{name} between '' and '{_LAST_TEXT}'"


def _shown(value: object) -> str:
    """Short, on one line, with nothing in it that a terminal would act on."""
    return ascii(value[:60] if isinstance(value, str | bytes) else value)

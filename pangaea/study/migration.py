"""Studies of earlier schemas, as today's."""

import json
import sqlite3

EARLIER = """
create table about (name text primary key, value text not null) without rowid;
create table candidates (
    number integer primary key,
    function text not null,
    parent integer references candidates(number),
    mutation text not null,
    seed integer not null,
    proposed real not null
);
create table runs (
    position integer primary key,
    stage text not null,
    candidate integer references candidates(number),
    function text not null,
    seed integer not null,
    accuracy real,
    failure text,
    detail text,
    seconds real not null,
    peak_memory integer,
    device text,
    worker text,
    started real,
    finished real not null
);
create unique index one_result_for_a_candidate on runs(candidate) where candidate is not null;
create unique index one_run_for_a_seed on runs(stage, function, seed) where candidate is null;
create table curves (
    run integer primary key references runs(position),
    curves text not null
);
"""
_TABLES = ("about", "candidates", "runs", "curves")


def migrate(connection: sqlite3.Connection, schema: str) -> None:
    """From schema 1, in which a candidate had one run and every goal was an accuracy in percent."""
    connection.execute("begin")
    for index in ("one_result_for_a_candidate", "one_run_for_a_seed"):
        connection.execute(f"drop index {index}")
    for table in _TABLES:
        connection.execute(f"alter table {table} rename to earlier_{table}")
    for statement in schema.split(";"):
        if statement.strip():
            connection.execute(statement)
    about = dict(connection.execute("select name, value from earlier_about"))
    settings, budgets = _about(connection, about)
    _candidates(connection)
    _runs(connection, settings, budgets)
    for table in reversed(_TABLES):
        connection.execute(f"drop table earlier_{table}")
    connection.execute("commit")


def _about(
    connection: sqlite3.Connection, about: dict[str, str]
) -> tuple[dict[str, object], dict[str, int]]:
    settings, recipes = json.loads(about["settings"]), json.loads(about["recipes"])
    budgets = {name: int(recipe["epochs"]) for name, recipe in recipes.items()}
    budgets = {"search": 1, "full": 1} | budgets
    settings["budget"] = settings.pop("epochs", None)
    if settings["strategy"] in ("random-search", "random-sampling"):
        for name in ("population", "sample", "threshold"):
            settings.pop(name, None)
    task = {
        "name": settings["task"],
        "goal": {
            "name": "accuracy",
            "unit": "%",
            "maximised": True,
            "failure": 100 / int(about["classes"]),
            "threshold": 20.0,
            "digits": 2,
        },
        "baseline": "relu(x)",
        "budgets": budgets,
        "unit": "epochs",
        "recipe": recipes.get("full"),
    }
    rows = {
        "settings": json.dumps(settings),
        "task": json.dumps(task),
        "versions": about["versions"],
        "created": about["created"],
    }
    connection.executemany("insert into about values (?, ?)", rows.items())
    return settings, budgets


def _candidates(connection: sqlite3.Connection) -> None:
    connection.execute(
        "insert into candidates select number, function, parent, mutation, proposed"
        " from earlier_candidates order by number"
    )


def _runs(
    connection: sqlite3.Connection, settings: dict[str, object], budgets: dict[str, int]
) -> None:
    """A run keeps its place; candidates that waited for their result come behind."""
    connection.execute(
        "insert into runs select position,"
        " iif(stage like 'general %', 'general', stage), candidate, function,"
        " iif(stage like 'general %', substr(stage, 9), ?), ?,"
        " iif(stage in ('baseline', 'search'), ?, ?), seed,"
        " iif(stage = 'test', 'test', 'validation'), coalesce(started, finished)"
        " from earlier_runs order by position",
        (settings["task"], settings.get("scope"), budgets["search"], budgets["full"]),
    )
    connection.execute(
        "insert into runs (stage, candidate, function, task, scope, budget, seed, part, asked)"
        " select 'search', number, function, ?, ?, ?, seed, 'validation', proposed"
        " from earlier_candidates where number not in"
        " (select candidate from earlier_runs where candidate is not null) order by number",
        (settings["task"], settings.get("scope"), budgets["search"]),
    )
    connection.execute(
        "insert into results select position, position, accuracy, failure, detail, seconds, null,"
        " peak_memory, device, worker, started, finished from earlier_runs order by position"
    )
    connection.execute("insert into curves select run, curves from earlier_curves order by run")
    for run, text in connection.execute(
        "select run, curves from earlier_curves where run in"
        " (select position from earlier_runs where stage = 'test' and accuracy is not null)"
    ).fetchall():
        validation = json.loads(text).get("validation")
        if validation:
            last = validation[max(validation, key=int)]
            connection.execute(
                "update results set measured = ? where run = ?",
                (json.dumps({"validation": last}), run),
            )

"""Studies of earlier schemas: shown as they are, migrated when gone on with, a copy kept."""

import contextlib
import errno
import json
import random
import re
import shutil
import sqlite3
import subprocess
import sys
from collections import Counter
from itertools import filterfalse
from pathlib import Path
from typing import Any

import pytest

from pangaea.errors import PangaeaError
from pangaea.study import file
from pangaea.study.driver import resume
from pangaea.study.schema import VERSION
from pangaea.study.stages import PROPOSED, STAGES
from pangaea.study.study import Study
from pangaea.tasks.finding import task
from pangaea.testing.judges import instant, raising
from pangaea.workers.judge import Job, Result
from tests.study import earlier
from tests.study.driving import REPOSITORY

V1, V2 = (earlier.FOLDER / f"v{version}.sqlite" for version in (1, 2))


@pytest.fixture
def old(path: Path) -> Path:
    """A copy of the study of schema 1, to write to."""
    shutil.copy(V1, path)
    return path


def changed(path: Path, *statements: str) -> Path:
    with contextlib.closing(sqlite3.connect(path)) as connection:
        for statement in statements:
            connection.execute(statement)
        connection.commit()
    return path


def told(path: Path) -> dict[str, Any]:
    """All that a study says."""
    with Study.open(path) as study:
        runs = study.runs()
        return {
            "about": (study.settings, study.task, study.versions, study.created),
            "table": study.table(),
            "runs": runs,
            "curves": [study.curves(run["run"]) for run in runs],
            "pending": study.pending([*STAGES]),
            "best": study.best(10),
        }


def schema(path: Path) -> int:
    with contextlib.closing(sqlite3.connect(path)) as connection:
        return int(connection.execute("pragma user_version").fetchone()[0])


def beside(path: Path) -> list[str]:
    return sorted(one.name for one in path.parent.iterdir())


# Schema 1.


def test_a_study_of_schema_1_is_shown_and_left_as_it_is(old: Path) -> None:
    with Study.open(old) as study:
        said = study.settings
        assert (said.candidates, said.seed, said.timeout, said.runs) == (12, 1, 60.0, 2)
        assert (said.get("population"), said.get("sample"), said.get("threshold")) == (4, 2, 20.0)
        assert (study.goal, study.baseline) == (task("mnist1d").goal, "relu(x)")
        assert study.task["budgets"] == {"search": 20, "full": 40}
        assert study.task["recipe"]["epochs"] == 40
        assert [row["number"] for row in study.best(3)] == [9, 7, 10]
        assert study.best(1)[0]["function"] == "alpha*softsign(beta*x)"
        assert study.baseline_score == pytest.approx(65.141, abs=1e-3)
        assert study.failures() == {"diverged": 1}
        assert study.curves(5)["parameters"] == {"alpha": [[1.0, 1.1], [0.9, 1.2]]}
    assert (old.read_bytes(), beside(old)) == (V1.read_bytes(), ["a.study"])


def test_every_row_of_schema_1_is_there_in_its_order(old: Path) -> None:
    with contextlib.closing(sqlite3.connect(old)) as connection:
        names = "position, stage, candidate, function, seed, accuracy, failure, seconds, worker"
        runs = connection.execute(f"select {names} from runs order by position").fetchall()
        names = "number, function, parent, mutation, proposed"
        candidates = connection.execute(f"select {names} from candidates").fetchall()
    with Study.open(old) as study:
        names = "position, stage, candidate, function, seed, score, failure, seconds, worker"
        assert [tuple(run[n] for n in names.split(", ")) for run in study.runs()] == runs
        names = "number, function, parent, mutation, proposed"
        assert [tuple(row[n] for n in names.split(", ")) for row in study.table()] == candidates
        assert {(r["stage"], r["budget"], r["part"], r["task"]) for r in study.runs()} == {
            ("baseline", 20, "validation", "mnist1d"),
            ("search", 20, "validation", "mnist1d"),
        }


def test_resume_migrates_keeps_a_copy_and_goes_on_to_the_end(old: Path) -> None:
    before = told(old)
    seeds: dict[str, int] = {}

    def noting(job: Job) -> Result:
        seeds.setdefault(job.function, job.seed)
        return instant(job)

    resume(old, workers=0, judge=noting).close()
    after = told(old)
    assert beside(old) == ["a.study", "a.study.schema-1"]
    assert old.with_name("a.study.schema-1").read_bytes() == V1.read_bytes()
    assert schema(old) == 2
    assert after["table"][:10] == before["table"][:10]
    assert after["runs"][: len(before["runs"])] == before["runs"]
    assert [row["number"] for row in after["table"]] == list(range(1, 13))
    assert after["pending"] == []
    assert seeds["softplus(x)"] == 1740239757  # of the candidate that waited
    assert after["table"][10]["seed"] == 1740239757
    stages = [run["stage"] for run in after["runs"]]
    assert Counter(stages) == {
        "baseline": 3,
        "search": 12,
        "rerank": 2 * len(after["best"]),
        "test": 4 * 2,
    }


def test_a_migrated_study_says_what_it_said_before(old: Path) -> None:
    before = told(old)
    Study.resume(old).close()
    assert schema(old) == 2
    assert told(old) == before


def test_the_copy_of_the_first_migration_stays(old: Path) -> None:
    Study.resume(old).close()
    kept = old.with_name("a.study.schema-1")
    shutil.copy(V1, old)
    changed(old, "update candidates set mutation = 'other'")
    Study.resume(old).close()
    assert kept.read_bytes() == V1.read_bytes()
    assert told(old)["table"][0]["mutation"] == "other"


def test_a_study_that_cannot_be_gone_on_with_is_not_migrated(old: Path) -> None:
    changed(old, "update about set value = replace(value, 'mnist1d', 'mnist9d')")
    before = old.read_bytes()
    with pytest.raises(PangaeaError, match="searches on the task mnist9d"):
        resume(old, workers=0, judge=instant)
    assert (old.read_bytes(), beside(old)) == (before, ["a.study"])


def test_a_study_of_schema_1_is_locked_while_it_is_migrated(old: Path) -> None:
    lock = file.Lock(old)
    with pytest.raises(PangaeaError, match="is being searched"):
        Study.resume(old)
    lock.release()
    assert old.read_bytes() == V1.read_bytes()


def test_where_a_file_has_but_one_name_the_copy_is_one(
    old: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(*_: object) -> None:
        raise OSError(errno.EPERM, "Operation not permitted")

    monkeypatch.setattr(file.os, "link", refused)
    Study.resume(old).close()
    assert beside(old) == ["a.study", "a.study.schema-1"]
    assert old.with_name("a.study.schema-1").read_bytes() == V1.read_bytes()


def test_without_room_for_the_copy_nothing_is_changed(
    old: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(file.os, "link", full)
    monkeypatch.setattr(file.shutil, "copyfileobj", full)
    with pytest.raises(PangaeaError, match=r"cannot be migrated: No space left on device.*resume"):
        Study.resume(old)
    assert old.read_bytes() == V1.read_bytes()
    monkeypatch.undo()
    Study.resume(old).close()
    assert beside(old) == ["a.study", "a.study.schema-1"]


def test_later_stages_of_schema_1_are_counted_as_done(old: Path) -> None:
    """Reranked, and tested once; a test run knew its validation by the curve alone."""
    with Study.open(old) as study:
        ranked = [row["function"] for row in study.best(10)]
    rows = [
        ("rerank", text, seed, 70.0 + place, None)
        for place, text in enumerate(ranked)
        for seed in (1, 2)
    ]
    rows += [("test", "relu(x)", 3, 66.0, None), ("test", ranked[-1], 3, 80.0, {"20": 1, "40": 81})]
    with contextlib.closing(sqlite3.connect(old)) as connection:
        for stage, text, seed, accuracy, validation in rows:
            number = connection.execute(
                "insert into runs (stage, function, seed, accuracy, seconds, finished)"
                " values (?, ?, ?, ?, 1.0, 1.0)",
                (stage, text, seed, accuracy),
            ).lastrowid
            if validation:
                curves = json.dumps({"validation": validation})
                connection.execute("insert into curves values (?, ?)", (number, curves))
        connection.execute(
            "update about set value = replace(value, '12', '10') where name = 'settings'"
        )
        connection.execute("delete from candidates where number = 11")
        connection.commit()
    jobs: list[Job] = []

    def noting(job: Job) -> Result:
        jobs.append(job)
        return instant(job)

    resume(old, workers=0, judge=noting).close()
    with Study.open(old) as study:
        assert {len(scores) for scores in study.scores("rerank").values()} == {2}
        tested = study.runs("test")
        assert {(r["budget"], r["part"]) for r in tested} == {(40, "test")}
        assert tested[1]["values"] == {"validation": 81}
    assert len(jobs) == 4 * 2 - 2
    assert {job.stage for job in jobs} == {"test"}


def test_runs_on_several_tasks_of_schema_1_have_their_task(old: Path) -> None:
    changed(
        old,
        "insert into runs (stage, function, seed, accuracy, seconds, finished)"
        " values ('general wrn-10-4/cifar100', 'tanh(x)', 5, 33.0, 1.0, 1.0)",
    )
    with Study.open(old) as study:
        (run,) = study.runs("general")
    assert (run["task"], run["function"], run["score"]) == ("wrn-10-4/cifar100", "tanh(x)", 33.0)


@pytest.mark.parametrize("strategy", ["random-search", "random-sampling", "nonparametric"])
def test_strategies_of_schema_1_have_their_own_settings_now(old: Path, strategy: str) -> None:
    changed(old, f"update about set value = replace(value, 'evolution', '{strategy}')")
    with Study.open(old) as study:
        assert study.settings.strategy == strategy
        assert study.settings.get("population") == (4 if strategy == "nonparametric" else None)
    resume(old, workers=0, judge=instant).close()
    assert len(told(old)["table"]) == 12


def test_runs_of_schema_1_have_the_scope_of_their_study(old: Path) -> None:
    changed(
        old,
        "update about set value = json_set(value, '$.scope', 'layer') where name = 'settings'",
    )
    with Study.open(old) as study:
        assert {run["scope"] for run in study.runs()} == {"layer"}
        assert {run.wanted.scope for run in study.pending(PROPOSED)} == {"layer"}


def test_epochs_of_schema_1_are_a_budget(old: Path) -> None:
    changed(
        old,
        """update about set value = replace(value, '"epochs": null', '"epochs": 7')""",
        """update about set value = replace(value, '"epochs": 20', '"epochs": 7')""",
    )
    with Study.open(old) as study:
        assert (study.settings.budget, study.task["budgets"]["search"]) == (7, 7)
        assert {run["budget"] for run in study.runs()} == {7}
        assert [run.wanted.budget for run in study.pending(PROPOSED)] == [7]


@pytest.mark.parametrize(
    "harm",
    [
        "delete from about where name = 'classes'",
        "delete from about",
        "update about set value = '{' where name = 'settings'",
        "update about set value = '[]' where name = 'settings'",
        "update about set value = 'x' where name = 'recipes'",
        "update about set value = '{\"search\": 3}' where name = 'recipes'",
        "update about set value = 'ten' where name = 'classes'",
        "update about set value = '0' where name = 'classes'",
        "update curves set curves = '['",
        "drop table curves",
        "drop index one_run_for_a_seed",
        "alter table candidates drop column seed",
    ],
)
@pytest.mark.parametrize("use", [Study.open, Study.resume], ids=["open", "resume"])
def test_damage_in_schema_1_is_one_sentence(old: Path, harm: str, use: Any) -> None:
    if harm.startswith("update curves"):
        changed(old, "insert or replace into curves values (5, '[')")
        changed(old, "update runs set stage = 'test' where position = 5")
    changed(old, harm)
    before = old.read_bytes()
    with pytest.raises(PangaeaError, match=r"damaged|cannot be opened") as caught:
        use(old)
    assert "\n" not in str(caught.value)
    assert (old.read_bytes(), beside(old)) == (before, ["a.study"])


def test_bytes_overwritten_in_schema_1_are_one_sentence(path: Path) -> None:
    content, rng, refused = V1.read_bytes(), random.Random(0), 0
    for _ in range(60):
        place = rng.randrange(100, len(content))
        hurt = bytearray(content)
        hurt[place : place + 2000] = rng.randbytes(len(hurt[place : place + 2000]))
        path.write_bytes(hurt)
        try:
            told(path)
        except PangaeaError as error:
            refused += 1
            assert "\n" not in str(error)
    assert refused > 15


# A process is killed at each line of the migration in turn, and what it leaves is looked at.
KILLED = """
import os, shutil, signal, sys
from itertools import count
from pathlib import Path
from pangaea.study import file
from pangaea.study.study import Study
from tests.study.test_migration import V1, schema, told

folder = Path(sys.argv[1])
parts = {part.__code__ for part in (file._migrate, file._migrated, file._keep)}
whole, states = told(V1), set()

def resume(path, line):
    left = line

    def trace(frame, event, argument):
        nonlocal left
        if frame.f_code not in parts:
            return None
        if event == "line":
            left -= 1
            if not left:
                os.kill(os.getpid(), signal.SIGKILL)
        return trace

    sys.settrace(trace)
    Study.resume(path).close()
    os._exit(0)

for line in count(1):
    path = folder / str(line) / "a.study"
    path.parent.mkdir()
    shutil.copy(V1, path)
    pid = os.fork()
    if pid == 0:
        resume(path, line)
    if os.waitpid(pid, 0)[1] == 0:
        break
    kept = path.with_name("a.study.schema-1")
    states.add((schema(path), kept.exists(), path.with_name("a.study.new").exists()))
    assert schema(path) == 2 or path.read_bytes() == V1.read_bytes(), line
    assert schema(path) == 1 or kept.read_bytes() == V1.read_bytes(), line
    assert told(path) == whole, line
    Study.resume(path).close()
    assert told(path) == whole, line
    assert kept.read_bytes() == V1.read_bytes(), line
    left = sorted(one.name for one in path.parent.iterdir())
    assert left == ["a.study", "a.study.schema-1"], (line, left)
print(line, len(states))
"""


def test_killed_at_any_line_of_the_migration_nothing_is_lost(tmp_path: Path) -> None:
    ended = subprocess.run(
        [sys.executable, "-c", KILLED, tmp_path],
        cwd=REPOSITORY,
        capture_output=True,
        text=True,
        timeout=240,
    )
    assert ended.stderr == ""
    lines, states = map(int, ended.stdout.split())
    assert lines > 25
    assert states >= 4  # before and after the copy, the new file, and its taking the place


# Schema 2.


def test_a_study_of_schema_2_says_what_it_said() -> None:
    with Study.open(V2) as study:
        said = study.settings
        assert (said.candidates, said.seed, said.timeout, said.runs) == (9, 1, 60.0, 2)
        assert (said.get("population"), said.get("sample"), said.get("threshold")) == (3, 2, None)
        assert study.goal.label("validation") == "validation accuracy (%)"
        assert (study.baseline, study.baseline_score) == ("relu(x)", 65.0)
        assert study.task["budgets"] == {"search": 20, "full": 40}
        table = study.table()
        assert [row["number"] for row in table] == [1, 2, 3, 4, 5, 6]
        assert [row["score"] for row in table] == [60.5, 75.0, None, 64.0, 68.0, None]
        assert [row["runs"] for row in table] == [1, 3, 1, 1, 1, 0]
        assert [row["parent"] for row in table] == [None, None, None, 2, 2, 5]
        assert (table[2]["failure"], table[2]["detail"]) == (
            *("diverged",),
            "the loss was inf after 3 steps",
        )
        assert [(m.budget, m.score) for m in study.trials()[1].runs] == [
            *((20, 71.25), (40, 75.5)),
            (40, 74.5),
        ]
        assert [row["number"] for row in study.best(3)] == [2, 5, 4]  # one alone was reranked
        (run,) = study.pending([*STAGES])
        assert (run.wanted.candidate, run.wanted.seed, run.wanted.budget) == (6, 109, 20)
        assert Counter(run["stage"] for run in study.runs()) == {
            "baseline": 3,
            "search": 5,
            "promotion": 2,
            "rerank": 1,
            "test": 1,
            "general": 1,
        }
        assert study.runs("general")[0]["task"] == "wrn-10-4/cifar100"
        assert study.runs("test")[0]["values"] == {"validation": 76.0}
        assert study.curves(table[0]["run"])["parameters"] == {"alpha": [[1.0, 1.1], [0.9, 1.2]]}
        assert study.failures() == {"diverged": 1}


def test_a_study_of_schema_2_can_be_gone_on_with(path: Path) -> None:
    shutil.copy(V2, path)
    before = told(path)
    resume(path, workers=0, judge=instant).close()
    after = told(path)
    assert beside(path) == ["a.study"]
    assert after["runs"][: len(before["runs"])] == before["runs"]
    assert [row["number"] for row in after["table"]] == list(range(1, 8))
    assert after["table"][5]["seed"] == 109
    resume(path, workers=0, judge=raising).close()  # there is nothing left to do
    assert told(path) == after


def test_the_file_of_schema_2_is_what_its_script_makes_today(path: Path) -> None:
    """If this fails the schema has changed: raise its version, and keep both files."""
    earlier.make(path)

    def content(file: Path) -> list[Any]:
        with contextlib.closing(sqlite3.connect(file)) as connection:
            return [_without_comments(line) for line in connection.iterdump()]

    def told_more(line: str) -> bool:  # settings and recipes may grow
        return line.startswith('INSERT INTO "about"')

    assert [*filterfalse(told_more, content(path))] == [*filterfalse(told_more, content(V2))]
    with Study.open(path) as now, Study.open(V2) as then:
        assert now.settings == then.settings


def _without_comments(line: str) -> str:
    """A statement as SQLite reads it, however it is laid out."""
    words = " ".join(re.sub(r"--.*", "", line).split())
    return words.replace("( ", "(").replace(" )", ")").replace(" ,", ",")


def test_there_are_studies_of_every_schema_and_they_are_small() -> None:
    files = sorted(earlier.FOLDER.glob("*.sqlite"))
    assert [one.stem for one in files] == [f"v{n + 1}" for n in range(VERSION)]
    assert max(one.stat().st_size for one in files) < 60_000

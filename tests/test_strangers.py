"""Studies of strangers: every command ends, soon and small, at worst in a sentence with the file.

`top`, the reports, the dashboard and `resume` look at studies that are hurt in one place each: 25
of them, and 500 in `make test-all`. A few of the worst are also looked at by processes of their
own, whose time and memory are measured.
"""

import contextlib
import io
import json
import resource
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from pangaea.errors import PangaeaError
from pangaea.report import findings, formats, records
from pangaea.report.page import document
from pangaea.report.terminal import best
from pangaea.study.driver import resume, search
from pangaea.study.general import general
from pangaea.workers.judge import Job, Judge, Result
from tests.strangers import ENDLESS, hurt, told
from tests.study.engines import Noting
from tests.study_maker import make

SECONDS = 2.0
MEGABYTES = 300
EARLIER = Path(__file__).parent / "study" / "data" / "v1.sqlite"


def top(path: Path) -> None:
    from rich.console import Console

    with records.opened(path) as study:
        json.dumps(findings.rows(study, 10))
        formats.table_csv(findings.rows(study, 10))
        Console(file=io.StringIO()).print(best.table(study, 10), best.footer(study))


def dashboard(path: Path) -> None:
    with records.opened(path) as study:
        document.document([study], live=True)


def going_on(path: Path) -> None:
    """With three runs, and no more."""
    with contextlib.suppress(KeyboardInterrupt):
        resume(path, workers=0, judge=Noting(most=3)).close()


def judged(path: Path) -> None:
    with contextlib.suppress(KeyboardInterrupt):
        out = path.with_name("general.study")
        out.unlink(missing_ok=True)
        general([path], ["mnist1d"], out=out, workers=0, judge=Noting(most=3))


USES: dict[str, Callable[[Path], object]] = {
    "top": top,
    **{kind: lambda path, kind=kind: formats.write([path], None, kind) for kind in formats.FORMATS},  # type: ignore[misc]
    "dashboard": dashboard,
    "general": judged,
    "resume": going_on,  # the last, for it may change the file
}


@pytest.fixture(scope="module")
def wholes(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Studies that are fine: finished, left off, of an earlier schema."""
    folder = tmp_path_factory.mktemp("wholes")
    first = make(folder / "first.study", 20, strategy="evolution", timeout=60.0)
    second = make(folder / "second.study", 20, done=12, again=3)
    return [first, second, first, second, EARLIER]


def uses(path: Path) -> Iterator[str]:
    """Every command on a study; gives what those say that refuse it."""
    for name, use in USES.items():
        began = time.process_time()
        try:
            use(path)
        except PangaeaError as error:
            said = str(error)
            assert path.name in said, (name, said)
            assert "\n" not in said
            assert said.isprintable()
            assert len(said) < 1000
            yield said
        spent = time.process_time() - began
        assert spent < SECONDS, (name, spent)


@pytest.mark.parametrize(
    "seeds",
    [range(25), pytest.param(range(25, 500), marks=pytest.mark.slow)],
    ids=["25", "475 more"],
)
def test_every_command_ends_on_a_study_that_is_hurt(
    wholes: list[Path], tmp_path: Path, seeds: range
) -> None:
    for use in USES.values():
        whole = tmp_path / "whole.study"
        whole.write_bytes(wholes[0].read_bytes())
        use(whole)  # whatever is imported is imported
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    refused = 0
    for seed in seeds:
        path = tmp_path / f"{seed}.study"
        done = hurt(wholes[seed % len(wholes)], path, seed)
        try:
            refused += bool([*uses(path)])
        except BaseException as error:
            error.add_note(f"seed {seed}: {done}")
            raise
        for left in tmp_path.glob(f"{seed}.study*"):
            left.unlink()
    assert refused > 0.4 * len(seeds)
    after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    assert (after - before) >> 10 < MEGABYTES - 120  # what a command takes by itself


# What each does to a study, and what is then said of it.
WORST: dict[str, tuple[str, str]] = {
    "an endless view": (
        f"drop table curves; create view curves as {ENDLESS}",
        "its table curves is not what a study has there",
    ),
    "a view more": (f"create view more as {ENDLESS}", "it has the 'view' 'more'"),
    "a trigger": (
        "create trigger more after insert on runs begin delete from runs; end",
        "it has the 'trigger' 'more'",
    ),
    "a table less": ("drop table curves", "it has no table curves"),
    "a column more": (
        "alter table runs add column more text",
        "its table runs is not what a study has there",
    ),
    "a text for a score": (
        "update results set score = 'good' where run = 5",
        "the score of run 5 is 'good'",
    ),
    "an infinite score": (
        "update results set score = 9e999 where run = 5",
        "the score of run 5 is inf",
    ),
    "a blob for a function": (
        "update candidates set function = x'00' where number = 3",
        "the function of candidate 3 is b'\\x00'",
    ),
    "an absurd date": (
        "update results set finished = 1e18 where run = 7",
        "the finished of run 7 is 1e+18",
    ),
    "a parent that comes later": (
        "update candidates set parent = 9 where number = 3",
        "the parent of candidate 3 is 9",
    ),
    "a run of nobody": (
        "update runs set candidate = 99 where run = 8",
        "row 8 of its runs belongs to none of its candidates",
    ),
    "a long blob for a candidate": (
        "update runs set candidate = zeroblob(200000) where run = 8",
        "row 8 of its runs belongs to none of its candidates",
    ),
    "a candidate's run without one": (
        "update runs set candidate = null where run = 8",
        "the candidate of run 8 is None",
    ),
    "a text of millions": (
        "update results set detail = replace(hex(zeroblob(3000000)), '00', 'x') where run = 6",
        "the detail of run 6 is 'xxxx",
    ),
    "a text of millions behind a zero": (
        "update results set detail = char(0) || replace(hex(zeroblob(3000000)), '00', 'x')"
        " where run = 6",
        r"the detail of run 6 is '\x00xxxx",
    ),
    "a value of many millions": (
        "update curves set curves = hex(zeroblob(20000000))"
        " where run = (select max(run) from curves)",
        "string or blob too big",
    ),
    "deep settings": (
        "update about set value = '{\"sample\": ' || replace(hex(zeroblob(200000)), '00', '[')"
        " where name = 'settings'",
        "its settings: ValueError: it has 200011 letters",
    ),
    "settings of a hundred levels": (
        "update about set value = '{\"sample\": ' || replace(hex(zeroblob(100)), '00', '[')"
        " || replace(hex(zeroblob(100)), '00', ']') || '}' where name = 'settings'",
        "its settings: ValueError: it has more than 50 levels",
    ),
    "a sample of a billion": (
        "update about set value = json_set(value, '$.sample', 1000000000) where name = 'settings'",
        "its settings: sample must be at most 10000, got 1000000000",
    ),
    "a budget of none": (
        "update about set value = json_set(value, '$.budgets.full', 0) where name = 'task'",
        "its task: ValueError: the budget 'full' is a whole number from 1",
    ),
    "an infinite budget": (
        "update runs set budget = 9223372036854775807 where run = 4",
        "the budget of run 4 is 9223372036854775807",
    ),
    "a goal that is none": (
        "update about set value = json_set(value, '$.goal.digits', 99) where name = 'task'",
        "its task: a goal is printed with 0 to 12 digits, got 99",
    ),
    "no time": (
        "update about set value = 'nan' where name = 'created'",
        "its created: ValueError: nan is at no time that a calendar has",
    ),
    "a time beyond the calendar": (
        "update about set value = '1e20' where name = 'created'",
        "its created: ValueError: 1e+20 is at no time that a calendar has",
    ),
    "no versions": ("delete from about where name = 'versions'", "it has no entry 'versions'"),
    "deep values": (
        "update results set measured = replace(hex(zeroblob(200000)), '00', '[') where run = 4",
        "the measured of run 4: RecursionError",
    ),
    "values that are none": (
        "update results set measured = '{\"validation\": NaN}' where run = 4",
        "what run 4 measured are not numbers by name",
    ),
    "letters that do nothing": (
        "update results set score = char(27) || '[31m' where run = 5",
        r"the score of run 5 is '\x1b[31m'",
    ),
}


# What stands in JSON is read by those who show it.
SEEN_LATE = ("a value of many millions", "deep values", "values that are none")


@pytest.mark.parametrize("what", WORST)
def test_what_is_wrong_is_said_with_its_file_and_its_row(
    wholes: list[Path], tmp_path: Path, what: str
) -> None:
    statement, sentence = WORST[what]
    path = tmp_path / "a.study"
    path.write_bytes(wholes[0].read_bytes())
    told(path, f"pragma foreign_keys=off; {statement}")
    complaints = [*uses(path)]
    assert len(complaints) == len(USES) or (complaints and what in SEEN_LATE)
    for said in complaints:
        assert "a.study" in said
        assert sentence in said


@pytest.mark.parametrize(
    "text",
    ["relu(", "'); drop table runs; --", "\x1b[2J", "x" * 5000, "sub(" * 1000],
    ids=["cut off", "injected", "escape", "long", "deep"],
)
def test_a_function_that_is_none_is_shown_inert_and_never_bred(
    wholes: list[Path], tmp_path: Path, text: str
) -> None:
    path = tmp_path / "a.study"
    path.write_bytes(wholes[0].read_bytes())
    with contextlib.closing(sqlite3.connect(path)) as connection:
        connection.execute("update candidates set function = ?", (text,))
        connection.commit()
    for name, use in USES.items():
        if name not in ("resume", "general"):
            use(path)
            continue
        with pytest.raises(PangaeaError, match=r"a\.study is damaged.*candidate \d+ is not a func"):
            use(path)


# Seconds since what the command needs was imported, and the most memory of all, in kilobytes. Only
# what trains needs torch, which takes 230 MB.
MEASURED = """
import re, sys, time
from pathlib import Path
from pangaea.cli import main
if sys.argv[1] == "report":
    import pangaea.report.formats
if sys.argv[1] == "resume":
    import pangaea.study.driver
began = time.process_time()
try:
    main()
finally:
    memory = re.search(r"VmHWM:\\s+(\\d+)", Path("/proc/self/status").read_text())[1]
    print(time.process_time() - began, memory)
"""


@pytest.mark.parametrize(
    ("command", "what"),
    [
        ("top", "an endless view"),
        ("top", "deep settings"),
        ("report", "a value of many millions"),
        ("resume", "a trigger"),
    ],
)
def test_a_process_of_its_own_ends_soon_and_small(
    wholes: list[Path], tmp_path: Path, command: str, what: str
) -> None:
    path = tmp_path / "a.study"
    path.write_bytes(wholes[0].read_bytes())
    told(path, f"pragma foreign_keys=off; {WORST[what][0]}")
    done = subprocess.run(
        [sys.executable, "-c", MEASURED, command, str(path)],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert done.stderr.startswith(f"error: {path}")
    *_, spent, used = done.stdout.split()
    assert float(spent) < SECONDS
    assert int(used) >> 10 < MEGABYTES


STRANGE: Result = {
    "score": 50.0,
    "detail": b"bytes",
    "device": 3,
    "worker": "half a character \ud800",
    "seconds": "long",
    "started": -1.0,
    "finished": 1e30,
    "peak_memory": 1.5,
    "curves": [1, 2],
    "values": {"validation": float("nan"), "steps": 3},
}


def strange(job: Job) -> Result:
    return STRANGE


def strange_failure(job: Job) -> Result:
    return STRANGE | {"failure": "x" * 10**6, "detail": "\ud800" * 10**6}


@pytest.mark.parametrize("judge", [strange, strange_failure])
def test_what_a_strange_judge_says_makes_no_strange_study(tmp_path: Path, judge: Judge) -> None:
    path = tmp_path / "a.study"
    with contextlib.suppress(PangaeaError):  # the baseline that fails ends a search
        search("mnist1d", study=path, candidates=2, runs=0, workers=0, judge=judge).close()
    with records.opened(path) as study:
        for run in study.runs():
            assert run["values"] == {"steps": 3}
            assert 0 <= run["seconds"] < 60
            assert run["finished"] > study.created
            assert (run["started"] is None or run["started"] > 0, run["peak_memory"]) == (
                True,
                None,
            )
            assert len(run["failure"] or "") <= 2000
        assert study.runs()

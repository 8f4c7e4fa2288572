"""`pangaea search`, `resume`, `top` and `general` as a person runs them."""

import csv
import io
import json
import os
import re
import signal
import subprocess
import sys
import time
import tomllib
import urllib.request
from pathlib import Path

import pytest

import pangaea as pg
from pangaea.cli import main

PROGRAM = (sys.executable, "-c", "from pangaea.cli import main; main()")
KEPT = {name: os.environ[name] for name in ("PATH", "PYTHONPATH") if name in os.environ}
ENVIRONMENT = KEPT | {"COLUMNS": "120", "NO_COLOR": "1"}
QUICK = ("--epochs", "1", "--candidates", "4", "--population", "2", "--sample", "1")
BRIEF = (*QUICK, "--no-rerank", "--runs", "0", "--workers", "0")

Done = subprocess.CompletedProcess[str]


def run(*arguments: str, cwd: Path) -> Done:
    return subprocess.run(
        [*PROGRAM, *arguments],
        cwd=cwd,
        env=ENVIRONMENT,
        capture_output=True,
        encoding="utf-8",
        timeout=120,
    )


def complaint(done: Done) -> str:
    assert done.returncode == 2, done.stderr
    assert done.stderr.startswith("error: ")
    assert done.stderr.count("\n") == 1
    return done.stderr


def test_a_search_goes_on_when_nobody_reads_what_it_says(tmp_path: Path) -> None:
    arguments = ("search", *BRIEF, "--study", ":fire:.study")
    with subprocess.Popen(
        [*PROGRAM, *arguments],
        cwd=tmp_path,
        env=ENVIRONMENT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.readline()
        process.stdout.close()
        said = process.stderr.read()
    assert (process.returncode, said) == (0, b"")
    shown = run("top", ":fire:.study", cwd=tmp_path).stdout  # which is no picture of a fire
    assert "4 of 4 candidates" in shown
    assert "pangaea export :fire:.study" in shown


@pytest.fixture(scope="module")
def searched(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Done]:
    folder = tmp_path_factory.mktemp("searched")
    return folder / "mnist1d.study", run("search", *BRIEF, cwd=folder)


def test_a_search_ends_with_its_best_functions(searched: tuple[Path, Done]) -> None:
    path, done = searched
    assert (done.returncode, done.stderr) == (0, "")
    assert "mnist1d: 4 candidates, study mnist1d.study" in done.stdout
    assert "ReLU: " in done.stdout
    assert 'pangaea.Activation("' in done.stdout
    assert "\x1b" not in done.stdout
    with pg.open_study(path) as study:
        assert len(study.trials()) == 4
        assert study.settings.budget == 1


def test_top_shows_the_best_as_a_table_json_and_csv(searched: tuple[Path, Done]) -> None:
    path, _ = searched
    table = run("top", path.name, cwd=path.parent)
    assert "4 of 4 candidates" in table.stdout
    rows = json.loads(run("top", path.name, "--json", cwd=path.parent).stdout)
    assert rows[0]["function"] == "relu(x)"
    read = csv.DictReader(io.StringIO(run("top", path.name, "--csv", cwd=path.parent).stdout))
    assert [row["function"] for row in read] == [row["function"] for row in rows]


def test_show_tells_what_training_made_of_a_candidate(searched: tuple[Path, Done]) -> None:
    path, _ = searched
    with pg.open_study(path) as study:
        row = next(row for row in study.table() if "alpha" in row["function"])
        trained = study.activation(row["number"], scope="layer").alpha.item()
    done = run("show", path.name, str(row["number"]), cwd=path.parent)
    assert f"candidate   #{row['number']} of mnist1d.study" in done.stdout
    assert f"α = {trained:.4g}" in done.stdout
    assert "layer   alpha" in done.stdout
    assert run("show", path.name, cwd=path.parent).returncode == 0
    complaints = {
        ("show", path.name, "99"): "has no candidate 99",
        ("show", "none.study"): "there is no study at none.study",
        ("show", "relu", "3"): "relu is a function; a number, 3, belongs to a study's file",
        ("show", "."): ". is a folder, not a study",
    }
    for arguments, sentence in complaints.items():
        assert sentence in complaint(run(*arguments, cwd=path.parent))


def test_a_search_ends_by_writing_its_report(searched: tuple[Path, Done]) -> None:
    path, done = searched
    page = path.with_suffix(".html")
    assert page.name in done.stdout
    assert page.read_text().startswith("<!doctype html>")


def test_reports_come_in_four_formats(searched: tuple[Path, Done]) -> None:
    path, _ = searched
    done = run("report", path.name, "-o", "page.html", cwd=path.parent)
    assert done.stdout == "report written to page.html\n"
    text = run("report", path.name, "--format", "md", cwd=path.parent).stdout
    assert text.startswith("# ")
    rows = csv.DictReader(
        io.StringIO(run("report", path.name, "--format", "csv", cwd=path.parent).stdout)
    )
    assert len(list(rows)) == 4
    assert json.loads(run("report", path.name, "--format", "json", cwd=path.parent).stdout)


def test_the_dashboard_says_where_it_is_and_closes(searched: tuple[Path, Done]) -> None:
    path, _ = searched
    process = subprocess.Popen(
        [*PROGRAM, "dashboard", path.name, "--port", "0"],
        cwd=path.parent,
        env=ENVIRONMENT | {"PYTHONUNBUFFERED": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        encoding="utf-8",
    )
    assert process.stdout is not None
    said = process.stdout.readline()
    address = re.search(r"http://127\.0\.0\.1:\d+/", said)
    assert address is not None, said
    with urllib.request.urlopen(address[0], timeout=30) as page:
        assert page.status == 200
    process.send_signal(signal.SIGINT)
    out, error = process.communicate(timeout=300)
    assert (process.returncode, out, error) == (0, "closed\n", "")


def test_a_finished_study_resumes_to_the_same_end(searched: tuple[Path, Done]) -> None:
    path, done = searched
    again = run("resume", path.name, "--workers", "0", cwd=path.parent)
    assert again.returncode == 0
    assert again.stdout.splitlines()[-3:] == done.stdout.splitlines()[-3:]


def test_general_functions_are_judged_on_the_tasks(searched: tuple[Path, Done]) -> None:
    path, _ = searched
    # The full recipe of the default task takes seconds; one function is enough to see it work.
    script = (
        "import json, sys; from pangaea.study.general import general;"
        "judge = lambda job: {'score': 50.0, 'seconds': 1.0, 'finished': 1.0};"
        f"print(json.dumps(general([{str(path)!r}], workers=0, judge=judge)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", script],
        cwd=path.parent,
        env=ENVIRONMENT,
        capture_output=True,
        encoding="utf-8",
    )
    rows = json.loads(done.stdout)
    assert {"mnist1d": 50.0} in [row["scores"] for row in rows]
    table = run("general", path.name, "--workers", "0", cwd=path.parent)
    assert table.returncode == 0
    assert "already chosen" in table.stdout


def test_if_no_function_is_general_that_is_said(tmp_path: Path) -> None:
    (tmp_path / "own.py").write_text(
        "import pangaea as pg\n"
        "def train(activation, budget, seed):\n"
        "    return 50.0\n"
        "task = pg.Task('own', train, goal=pg.maximize('s'), budgets={'search': 1, 'full': 2})\n"
    )
    words = ("--task", "own.py:task", *BRIEF, "--no-dry-run", "--study", "own.study")
    assert run("search", *words, "--candidates", "2", cwd=tmp_path).returncode == 0
    table = run("general", "own.study", "--workers", "0", cwd=tmp_path)
    assert table.stdout.endswith("None of them is general, so there is nothing to test.\n")


def test_what_is_infinitely_bad_is_no_number_in_json(tmp_path: Path) -> None:
    (tmp_path / "own.py").write_text(
        "import pangaea as pg\n"
        "def train(activation, budget, seed):\n"
        "    return 1.0 if budget == 1 else {'failure': 'too long'}\n"
        "goal, budgets = pg.minimize('loss'), {'search': 1, 'full': 2}\n"
        "task = pg.Task('own', train, goal=goal, budgets=budgets)\n"
    )
    brief = (*BRIEF, "--no-dry-run", "--study", "own.study")
    assert run("search", "--task", "own.py:task", *brief, cwd=tmp_path).returncode == 0
    done = run("general", "own.study", "--workers", "0", "--json", cwd=tmp_path)
    rows = json.loads(done.stdout, parse_constant=pytest.fail)
    assert {score for row in rows for score in row["scores"].values()} == {None}
    assert "∞" in run("general", "own.study", "--workers", "0", cwd=tmp_path).stdout


def test_settings_come_from_a_file_and_the_command_line_wins(tmp_path: Path) -> None:
    (tmp_path / "s.toml").write_text('task = "wrn-10-4/cifar100"\ncandidates = 7\nseed = 3\n')
    done = run("search", "--settings", "s.toml", "--seed", "5", "--print-settings", cwd=tmp_path)
    printed = tomllib.loads(done.stdout)
    assert (printed["task"], printed["candidates"]) == ("wrn-10-4/cifar100", 7)
    assert (printed["seed"], printed["population"]) == (5, 64)
    assert not list(tmp_path.glob("*.study"))


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("search", "--task", "mnist"), "did you mean mnist1d"),
        (("search", "--strategy", "evolve"), "evolution"),
        (("search", "--scope", "chanel"), "channel"),
        (("search", "--candidates", "0"), "candidates must be at least 1"),
        (("search", "--workers", "-1"), "workers must be at least 0"),
        (("search", "--cluster", "slurmm"), "slurm"),
        (("search", "--gpus", "all"), "no GPU"),
        (("search", "--settings", "none.toml"), "cannot be read"),
        (("search", "--study", "nowhere/a.study", "--workers", "0"), "does not exist"),
        (("search", "--study", ""), "is a folder: a study is a file"),
        (("search", "--study", "."), "is a folder: a study is a file"),
        (("search", "--task", "", "--print-settings"), "a task has a name"),
        (("search", "--task", "wrn-10-4/imagenet", "--print-settings"), "wrn-10-4/cifar10"),
        (("search", "--against", "swish,gleu"), "did you mean gelu"),
        (("resume", "none.study"), "there is no study"),
        (("top", "none.study"), "there is no study"),
        (("general", "none.study"), "there is no study"),
        (("report", "none.study"), "there is no study"),
        (("dashboard", "none.study"), "there is no study"),
    ],
)
def test_mistakes_are_one_sentence_and_leave_nothing(
    arguments: tuple[str, ...],
    said: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["pangaea", *arguments])
    with pytest.raises(SystemExit) as left:
        main()
    assert left.value.code == 2
    error = capsys.readouterr().err
    assert said in error
    assert error.startswith("error: ")
    assert error.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


def test_an_existing_study_is_not_searched_again(searched: tuple[Path, Done]) -> None:
    path, _ = searched
    before = path.read_bytes()
    done = run("search", "--study", path.name, *BRIEF, cwd=path.parent)
    assert f"pangaea resume {path.name}" in complaint(done)
    assert path.read_bytes() == before


def test_an_interrupted_search_says_how_to_go_on(tmp_path: Path) -> None:
    options = ("--epochs", "1", "--candidates", "500", "--no-rerank", "--runs", "0")
    process = subprocess.Popen(
        [*PROGRAM, "search", *options, "--workers", "0"],
        cwd=tmp_path,
        env=ENVIRONMENT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        encoding="utf-8",
    )
    deadline = time.monotonic() + 300
    while not _begun(tmp_path / "mnist1d.study") and time.monotonic() < deadline:
        time.sleep(0.1)
    process.send_signal(signal.SIGINT)
    out, error = process.communicate(timeout=300)
    assert process.returncode == 130
    assert "pangaea resume mnist1d.study --workers 0" in out
    assert error == ""


def _begun(path: Path) -> bool:
    if not path.exists():
        return False
    with pg.open_study(path) as study:
        return len(study.trials()) > 2

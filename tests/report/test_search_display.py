"""The display of a running search: its counts, and what it prints where."""

import io
from pathlib import Path

import pytest
from rich.console import Console

from pangaea.report.terminal.search import Board, Lines, Screen, display
from pangaea.study.settings import settings
from pangaea.study.study import Study
from pangaea.workers.judge import Job


def job(number: int, function: str, stage: str = "search") -> Job:
    candidate = number if stage == "search" else None
    return Job(
        stage, candidate, function, (0,), "mnist1d", "search", None, None, "validation", None
    )


@pytest.fixture
def study(tmp_path: Path) -> Study:
    made = Study.create(tmp_path / "s.study", settings({}), {}, 10)
    baseline = {"function": "relu(x)", "accuracy": 60.0, "seconds": 2.0, "finished": 1.0}
    with made.transaction():
        for seed in range(3):
            made.record("baseline", None, baseline | {"seed": seed})
    return made


def feed(board: Board, study: Study) -> None:
    board.stage(study, "search", 0, 20)
    for number in range(1, 21):
        if number % 5 == 0:
            result = {"failure": "diverged", "seconds": 0.1}
            board.result(study, job(number, "exp(exp(x))"), [result])
        else:
            result = {"accuracy": 50.0 + number, "failure": None, "seconds": 4.0}
            board.result(study, job(number, f"pow(x, {'relu(' * number}x{')' * number})"), [result])


def test_equivalent_functions_take_one_place(study: Study) -> None:
    board = Board()
    board.stage(study, "search", 0, 3)
    for number, (function, accuracy) in enumerate(
        (("tanh(x)", 70.0), ("identity(tanh(x))", 72.0), ("tanh(identity(x))", 71.0)), 1
    ):
        board.result(
            study, job(number, function), [{"accuracy": accuracy, "failure": None, "seconds": 1.0}]
        )
    assert [(best.number, best.fitness) for best in board.best] == [(2, 72.0)]


def test_lines_have_no_control_codes_and_say_what_failed(study: Study) -> None:
    stream = io.StringIO()
    feed(Lines(stream), study)
    text = stream.getvalue()
    assert "\x1b" not in text
    assert "ReLU: 60.00% validation accuracy" in text
    last = text.splitlines()[-1]
    assert last.startswith("20/20 · best 69.00% (+9.00)")
    assert "4 diverged" in last


def test_the_screen_shows_best_gain_cost_and_failures(study: Study) -> None:
    console = Console(file=io.StringIO(), force_terminal=True, width=100, color_system=None)
    screen = Screen(console)
    feed(screen, study)
    console.print(screen)
    text = console.file.getvalue()  # type: ignore[attr-defined]
    assert "20/20" in text
    assert "69.00%" in text
    assert "+9.00" in text
    assert "2.0× ReLU" in text
    assert "failed: 4 diverged" in text


def test_stopping_is_said_once(study: Study) -> None:
    stream = io.StringIO()
    lines = Lines(stream)
    lines.stopping(2)
    lines.stopping(1)
    assert stream.getvalue().count("stopping: 2 jobs are still running") == 1


def test_where_there_is_no_terminal_there_are_lines() -> None:
    with display(Console(file=io.StringIO())) as board:
        assert isinstance(board, Lines)
    with display(Console(file=io.StringIO(), force_terminal=True)) as board:
        assert isinstance(board, Screen)

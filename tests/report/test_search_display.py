"""The display of a running search: its counts, and what it prints where."""

import io
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from pangaea.report.terminal.search import Board, Lines, Screen, display
from pangaea.study.study import Run, Study, Wanted
from tests.study_maker import LOSS, Maker

BUDGET = 5


def run(
    number: int, function: str, stage: str = "search", budget: int = BUDGET, candidate: int = 0
) -> Run:
    wanted = Wanted(stage, candidate or number, function, "t", None, budget, 0, "validation")
    return Run(number, wanted)


def result(score: float | None, seconds: float = 4.0, **more: Any) -> dict[str, Any]:
    return {"score": score, "failure": None, "seconds": seconds} | more


@pytest.fixture
def study(tmp_path: Path) -> Iterator[Study]:
    with Maker(tmp_path / "s.study") as maker:
        with maker.study.transaction():
            for seed in range(3):
                wanted = Wanted("baseline", None, "relu(x)", "t", None, BUDGET, seed, "validation")
                asked = maker.study.ask(wanted)
                maker.study.record(asked.number, result(60.0, 2.0, finished=1.0))
        yield maker.study


def feed(board: Board, study: Study) -> None:
    board.stage(study, "search", 0, 20)
    for number in range(1, 21):
        if number % 5 == 0:
            failed = result(None, 0.1, failure="diverged")
            board.result(study, run(number, "exp(exp(x))"), failed)
        else:
            function = f"pow(x, {'relu(' * number}x{')' * number})"
            board.result(study, run(number, function), result(50.0 + number))


def test_equivalent_functions_take_one_place(study: Study) -> None:
    board = Board()
    board.stage(study, "search", 0, 3)
    for number, (function, score) in enumerate(
        (("tanh(x)", 70.0), ("identity(tanh(x))", 72.0), ("tanh(identity(x))", 71.0)), 1
    ):
        board.result(study, run(number, function), result(score))
    assert [(best.number, best.score) for best in board.best] == [(2, 72.0)]


def test_another_run_of_a_candidate_may_make_it_worse(study: Study) -> None:
    board = Board()
    board.stage(study, "search", 0, 4)
    board.result(study, run(1, "tanh(x)"), result(70.0))
    board.result(study, run(2, "elu(x)"), result(65.0))
    again = run(3, "tanh(x)", "promotion", 2 * BUDGET, candidate=1)
    board.result(study, again, result(61.0))
    assert [(best.number, best.score) for best in board.best] == [(2, 65.0), (1, 61.0)]
    assert board.done == 3


def test_runs_of_later_stages_are_counted_and_not_ranked(study: Study) -> None:
    board = Board()
    board.stage(study, "rerank", 0, 4)
    board.result(study, run(1, "tanh(x)", "rerank"), result(99.0))
    board.result(study, run(1, "tanh(x)", "rerank"), result(None, failure="diverged"))
    assert (board.done, board.best, board.failed()) == (2, [], "")


def test_of_a_minimised_goal_the_smallest_is_the_best(tmp_path: Path) -> None:
    stream = io.StringIO()
    with Maker(tmp_path / "l.study", goal=LOSS, baseline="gelu(x)") as maker:
        maker.baseline()
        lines = Lines(stream)
        lines.stage(maker.study, "search", 0, 10)
        for number in range(1, 11):
            function = f"{'tanh(' * number}x{')' * number}"
            lines.result(maker.study, run(number, function), result(2.0 - number / 10))
        level = maker.study.baseline_score
    assert level is not None
    first, *_, last = stream.getvalue().splitlines()
    assert first == f"GELU: {level:.3f} nats validation loss"
    assert f"best 1.000 nats (+{level - 1:.3f})" in last


def test_lines_have_no_control_codes_and_say_what_failed(study: Study) -> None:
    stream = io.StringIO()
    feed(Lines(stream), study)
    text = stream.getvalue()
    assert "\x1b" not in text
    assert "ReLU: 60.00% validation accuracy" in text
    last = text.splitlines()[-1]
    assert last.startswith("20/20 · best 69.00% (+9.00)")
    assert "4 diverged" in last


def test_what_a_worker_says_stays_text(study: Study) -> None:
    stream = io.StringIO()
    lines = Lines(stream)
    lines.stage(study, "search", 0, 1)
    lines.result(study, run(1, "x"), result(None, failure="\x1b[2Jgone\n"))
    assert "failed: 1 \\x1b[2Jgone" in stream.getvalue()
    assert "\x1b" not in stream.getvalue()


def test_rounds_of_a_stage_are_one_to_who_reads_it(study: Study) -> None:
    stream = io.StringIO()
    lines = Lines(stream)
    lines.stage(study, "rerank", 0, 3)
    for number in (1, 2):
        lines.result(study, run(number, "tanh(x)", "rerank"), result(60.0))
    lines.stage(study, "rerank", 2, 3)
    lines.result(study, run(3, "tanh(x)", "rerank"), result(60.0))
    assert stream.getvalue() == "training the best again, 3 runs\n"
    lines = Lines(stream)
    lines.stage(study, "rerank", 2, 3)
    assert stream.getvalue().endswith("training the best again, 2 of 3 done before\n")


def test_the_stage_is_told_in_words_with_the_baselines_name(study: Study) -> None:
    stream = io.StringIO()
    lines = Lines(stream)
    for stage in ("baseline", "search", "rerank", "test", "general", "unheard of"):
        lines.stage(study, stage, 0, 2)
    assert stream.getvalue().splitlines() == [
        "the baseline first: ReLU, 2 runs",
        "ReLU: 60.00% validation accuracy",
        "searching, 2 runs",
        "training the best again, 2 runs",
        "testing the best, 2 runs",
        "judging on every task, 2 runs",
        "unheard of, 2 runs",
    ]


@pytest.mark.parametrize("width", [100, 60, 40])
def test_the_screen_shows_best_gain_cost_and_failures(study: Study, width: int) -> None:
    console = Console(file=io.StringIO(), force_terminal=True, width=width, color_system=None)
    screen = Screen(console)
    feed(screen, study)
    console.print(screen)
    text = console.file.getvalue()  # type: ignore[attr-defined]
    for part in ("20/20", "69.00%", "+9.00", "2.0× ReLU", "failed: 4 diverged"):
        assert part in text


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

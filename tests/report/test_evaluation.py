"""Tables of judged functions and of tasks: plain rows first, then what a person sees."""

import io
import json
from typing import Any

import pytest
from rich.console import Console, RenderableType

from pangaea.report.terminal import evaluation
from pangaea.tasks.evaluate import Evaluation
from pangaea.tasks.goal import Goal, maximize, minimize
from pangaea.training.result import TrainingResult

ACCURACY = maximize("accuracy", unit="%", failure=10.0, digits=2)

PARAMETRIC = "mul(logsigmoid(alpha*x), beta*asinh(x))"


def judged(
    function: str,
    *scores: float | None,
    drop_failures: bool = False,
    goal: Goal = ACCURACY,
) -> Evaluation:
    results = tuple(
        TrainingResult(
            task="mnist1d",
            function=function,
            scope=None,
            budget=40,
            seed=seed,
            part="test",
            score=score,
            failure="diverged" if score is None else None,
            seconds=1.25,
        )
        for seed, score in enumerate(scores)
    )
    return Evaluation(
        function=function,
        task="mnist1d",
        goal=goal,
        results=results,
        drop_failures=drop_failures,
    )


RELU = judged("relu(x)", 70.0, 71.0, 70.5)
BETTER = judged(PARAMETRIC, 75.0, 76.0, None)
ONE = judged("tanh(x)", 66.0)


def shown(table: RenderableType, width: int = 200) -> list[str]:
    out = io.StringIO()
    Console(file=out, width=width).print(table)
    return out.getvalue().splitlines()


def row(**changes: Any) -> dict[str, Any]:
    return evaluation.rows([RELU], None)[0] | changes


def test_rows_are_plain_values() -> None:
    found = evaluation.rows([RELU, BETTER, ONE], RELU)
    assert json.loads(json.dumps(found, allow_nan=False)) == found
    relu, better, one = found
    assert relu["mean"] == pytest.approx(70.5)
    assert relu["sd"] == pytest.approx(0.5)
    assert (relu["n"], relu["failures"], relu["reasons"]) == (3, 0, [])
    assert better["scores"] == [75.0, 76.0, 10.0]
    assert (better["n"], better["failures"], better["reasons"]) == (3, 1, ["diverged"])
    assert (one["sd"], one["p"]) == (None, None)
    assert {r["task"] for r in found} == {"mnist1d"}
    assert {r["data"] for r in found} == {"test"}
    assert {r["device"] for r in found} == {"cpu"}
    assert {r["seconds"] for r in found} == {1.25}


def test_a_reference_is_not_compared_with_itself() -> None:
    relu, better = evaluation.rows([RELU, BETTER], RELU)
    assert relu["p"] is None
    assert relu["against"] == better["against"] == "relu(x)"
    assert 0.5 < better["p"] < 1
    assert [r["p"] for r in evaluation.rows([RELU, BETTER], None)] == [None, None]
    assert [r["against"] for r in evaluation.rows([RELU], None)] == [None]


def test_a_better_function_has_a_small_p() -> None:
    best = judged("tanh(x)", 75.0, 76.0, 75.5)
    _, compared = evaluation.rows([RELU, best], RELU)
    assert compared["p"] < 0.001
    (line,) = (line for line in shown(evaluation.table([compared])) if "tanh" in line)
    assert line.split()[-2:] == ["***", "1.2"]


def test_a_table_shows_each_function_in_a_line() -> None:
    header, relu, better, one = shown(evaluation.table(evaluation.rows([RELU, BETTER, ONE], RELU)))
    assert header.split() == ["function", "accuracy", "n", "failed", "p", "seconds"]
    assert relu.split() == ["relu(x)", "70.50", "±", "0.50", "3", "0", "1.2"]
    assert "log(σ(α·x))" in better
    assert "1 (diverged)" in better
    assert one.split() == ["tanh(x)", "66.00", "1", "0", "1.2"]


def test_the_best_mean_stands_out() -> None:
    table = evaluation.table(evaluation.rows([RELU, BETTER, ONE], None))
    assert [line.bold for line in table.lines] == [0, None, None]


def test_the_best_mean_stands_out_where_another_is_unknown() -> None:
    dropped = judged("PAU", None, drop_failures=True)
    table = evaluation.table(evaluation.rows([dropped, RELU], None))
    assert [line.bold for line in table.lines] == [None, 0]


def test_runs_that_were_all_dropped_have_a_row() -> None:
    dropped = judged("PAU", None, None, drop_failures=True)
    (found,) = evaluation.rows([dropped], RELU)
    assert found["mean"] is None
    assert (found["n"], found["sd"], found["p"]) == (0, None, None)
    assert "2 (diverged)" in shown(evaluation.table([found]))[1]


def test_a_table_without_functions_is_its_header() -> None:
    assert len(shown(evaluation.table([]))) == 1


@pytest.mark.parametrize("function", ["PReLU", "APL", "PAU", "SPLASH", "abs(max(x, zero(x)))"])
def test_every_kind_of_function_can_be_shown(function: str) -> None:
    found = evaluation.rows([judged(function, 50.0, 51.0)], None)
    lines = shown(evaluation.table(found))
    assert len(lines) == 2
    assert "50.50 ± 0.71" in lines[1]


@pytest.mark.parametrize("width", [70, 80, 120])
def test_a_narrow_terminal_cuts_no_number(width: int) -> None:
    text = "\n".join(shown(evaluation.table(evaluation.rows([RELU, BETTER], RELU)), width))
    assert max(map(len, text.splitlines())) <= width
    for part in ("70.50 ± 0.50", "53.67 ± 37.82", "1 (diverged)", "1.2"):
        assert part in text


@pytest.mark.parametrize("reason", ["[/oops]", "[red]", "out of [memory]"])
def test_odd_reasons_are_shown_as_they_are(reason: str) -> None:
    lines = shown(evaluation.table([row(failures=1, reasons=[reason])]))
    assert f"1 ({reason})" in lines[1]


def test_of_a_minimised_goal_the_smallest_mean_stands_out() -> None:
    loss = minimize("loss", digits=3)
    low, high, failed = (
        judged("tanh(x)", 1.0, 1.1, 1.2, goal=loss),
        judged("relu(x)", 2.0, 2.2, 2.1, goal=loss),
        judged("elu(x)", 1.0, None, goal=loss),
    )
    rows = evaluation.rows([high, low, failed], high)
    assert json.loads(json.dumps(rows, allow_nan=False)) == rows
    assert rows[1]["p"] < 0.01
    assert (rows[2]["mean"], rows[2]["scores"], rows[2]["p"]) == (None, [1.0, None], None)
    table = evaluation.table(rows)
    assert [line.bold for line in table.lines] == [None, 0, None]
    head, *lines = shown(table)
    assert head.split()[1] == "loss"
    assert "1.100 ± 0.100" in lines[1]
    assert "∞" in lines[2]

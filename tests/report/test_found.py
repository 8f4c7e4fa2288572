"""What a study found, as rows, as a table and as advice."""

import csv
import io
import json
import time
from pathlib import Path

import pytest
from rich.console import Console

from pangaea.evolution.strategies import Proposal
from pangaea.functions.parser import parse
from pangaea.report.terminal import found
from pangaea.study.settings import settings
from pangaea.study.study import RELU, Study


def result(function: str, seed: int, accuracy: float | None) -> dict[str, object]:
    return {
        "function": function,
        "seed": seed,
        "accuracy": accuracy,
        "failure": None if accuracy is not None else "diverged",
        "seconds": 2.0,
        "finished": time.time(),
    }


@pytest.fixture
def study(tmp_path: Path) -> Study:
    """ReLU at 60, three functions of which the second is reranked best and tested."""
    made = Study.create(tmp_path / "s.study", settings({"candidates": 4, "runs": 3}), {}, 10)
    functions = ["tanh(x)", "swish(alpha*x)", "elu(x)", "exp(exp(x))"]
    with made.transaction():
        for seed, accuracy in enumerate((59.0, 60.0, 61.0)):
            made.record("baseline", None, result(RELU, seed, accuracy))
        for number, function in enumerate(functions, 1):
            made.add(number, Proposal(parse(function), None, "initial"), number)
        for number, accuracy in enumerate((70.0, 68.0, 50.0, None), 1):
            made.record("search", number, result(functions[number - 1], number, accuracy))
        for function, accuracies in (("tanh(x)", (60, 62)), ("swish(alpha*x)", (75, 77))):
            for seed, accuracy in enumerate(accuracies):
                made.record("rerank", None, result(function, seed, accuracy))
        for function, accuracies in ((RELU, (60, 61, 62)), ("swish(alpha*x)", (75, 76, None))):
            for seed, accuracy in enumerate(accuracies):
                made.record("test", None, result(function, seed, accuracy))
    return made


def test_relu_comes_first_and_the_reranked_best_next(study: Study) -> None:
    rows = found.rows(study)
    assert [row["function"] for row in rows] == [RELU, "swish(alpha*x)", "tanh(x)", "elu(x)"]
    assert rows[1]["reranked"] == 76
    assert rows[1]["gain"] == 8
    assert rows[0]["p"] is None


def test_a_failed_test_run_counts_as_chance(study: Study) -> None:
    best = found.rows(study)[1]
    assert best["test"] == [75, 76, 10]
    assert best["test_mean"] == pytest.approx(161 / 3)
    assert best["p"] > 0.05


def test_the_table_shows_whole_formulas_in_a_narrow_terminal(study: Study) -> None:
    console = Console(file=io.StringIO(), width=80)
    console.print(found.table(found.rows(study)))
    text = console.file.getvalue()  # type: ignore[attr-defined]
    assert "…" not in text
    assert "ReLU" in text
    assert "swish(α·x)" in text


def test_rows_are_json_and_csv(study: Study) -> None:
    rows = found.rows(study)
    assert json.loads(json.dumps(rows)) == rows
    read = list(csv.DictReader(io.StringIO(found.csv(rows))))
    assert [row["function"] for row in read] == [row["function"] for row in rows]
    assert read[3]["test_mean"] == ""


def test_the_state_names_the_failures(study: Study) -> None:
    assert "4 of 4 candidates" in found.state(study)
    assert "1 diverged" in found.state(study)


def test_the_advice_can_be_pasted(study: Study) -> None:
    assert 'pangaea.Activation("swish(alpha*x)")' in found.advice(study, Path("s.html"))


def test_a_study_without_results_has_a_sentence(tmp_path: Path) -> None:
    with Study.create(tmp_path / "e.study", settings({}), {}, 10) as empty:
        assert found.rows(empty)[0]["fitness"] is None
        assert "no candidate" in found.advice(empty, Path("e.html"))
        Console(file=io.StringIO()).print(found.table(found.rows(empty)))

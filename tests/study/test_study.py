"""What a study tells: its rows, its best, what waits; and studies of earlier versions."""

import shutil
import signal
import sqlite3
import statistics
from pathlib import Path
from typing import Any

import pytest

from pangaea.evolution.ranking import top
from pangaea.evolution.strategies import Proposal
from pangaea.functions.equivalence import equivalent
from pangaea.functions.parser import parse
from pangaea.study.search import resume
from pangaea.study.study import Study, open_study
from tests.study.driving import Drivers, until
from tests.study.judges import instant
from tests.study.making import RUN, created, searched

OLD = sorted((Path(__file__).parent / "data").glob("*.sqlite"))


def candidate(study: Study, number: int, text: str, **result: Any) -> None:
    """A candidate, and its result if there is one."""
    with study.transaction():
        made = study.add(number, Proposal(parse(text), None, "initial"), seed=number)
        if result:
            study.record("search", number, RUN | {"function": made.function} | result)


@pytest.fixture
def study(path: Path) -> Study:
    with created(path) as made:
        for seed, accuracy in enumerate((60.0, 70.0, None)):
            with made.transaction():
                made.record(
                    "baseline",
                    None,
                    RUN | {"function": "relu(x)", "seed": seed, "accuracy": accuracy},
                )
        candidate(made, 1, "tanh(x)", accuracy=50.0, seconds=3.5, loss=[2.0, 1.0])
        candidate(made, 2, "swish(alpha*x)", accuracy=80.0, parameters={"alpha": [[1.0]]})
        candidate(made, 3, "exp(x)", failure="diverged", detail="loss inf")
        candidate(made, 4, "add(tanh(x), zero(x))", accuracy=55.0)
        candidate(made, 5, "exp(exp(x))")
    return Study.open(path)


def test_a_study_remembers_what_it_was_told(path: Path) -> None:
    with created(path, seed=3, timeout=2.5, scope="layer") as first:
        said = first.settings, first.recipes, first.versions, first.created, first.chance
    with open_study(path) as again:
        assert (
            *(again.settings, again.recipes, again.versions),
            *(again.created, again.chance),
        ) == said
        assert (again.settings.seed, again.settings.timeout, again.settings.scope) == (
            3,
            2.5,
            "layer",
        )
        assert {"python", "pangaea", "torch", "numpy", "distributed", "sqlite"} <= {*again.versions}
        assert again.chance == 10.0


def test_a_reader_cannot_write(study: Study) -> None:
    with pytest.raises(sqlite3.OperationalError, match="readonly"):
        study.add(6, Proposal(parse("tanh(x)"), None, "initial"), 6)


def test_the_table_has_a_row_of_plain_values_for_each_candidate(study: Study) -> None:
    rows = study.table()
    assert [row["number"] for row in rows] == [1, 2, 3, 4, 5]
    assert [row["fitness"] for row in rows] == [50.0, 80.0, 0.0, 55.0, None]
    assert [row["failure"] for row in rows] == [None, None, "diverged", None, None]
    assert rows[0]["seconds"] == 3.5
    assert rows[2]["detail"] == "loss inf"
    assert rows[1]["function"] == "swish(alpha*x)"
    kinds = {type(value) for row in rows for value in row.values()}
    assert kinds <= {int, float, str, type(None)}


def test_what_waits_for_its_result_is_pending_and_not_in_the_history(study: Study) -> None:
    assert [(c.number, c.function, c.seed) for c in study.pending()] == [(5, "exp(exp(x))", 5)]
    assert [(e.number, e.fitness) for e in study.history()] == [
        *((1, 50.0), (2, 80.0)),
        *((3, 0.0), (4, 55.0)),
    ]
    assert study.proposed() == 5


def test_the_history_is_in_the_order_of_evaluation(path: Path) -> None:
    with created(path) as made:
        for number in (1, 2, 3):
            candidate(made, number, "tanh(x)")
        for number in (3, 1):
            with made.transaction():
                made.record("search", number, RUN | {"function": "tanh(x)", "accuracy": 50.0})
        assert [e.number for e in made.history()] == [3, 1]
        assert [c.number for c in made.pending()] == [2]


def test_the_best_are_the_fittest_and_no_two_are_equivalent(study: Study) -> None:
    best = study.best(5)
    assert [row["number"] for row in best] == [2, 4]
    assert [row["gain"] for row in best] == [15.0, -10.0]
    assert equivalent(parse("add(tanh(x), zero(x))"), parse("tanh(x)"))
    assert [row["number"] for row in study.best(1)] == [2]


def test_the_best_are_the_top_of_the_history(path: Path) -> None:
    searched(path, candidates=300, population=10, sample=5, rerank=False, runs=0)
    with Study.open(path) as found:
        for count in (0, 1, 10, 40):
            first = top(found.history(), max(count, 10))[:count]
            assert [row["number"] for row in found.best(count)] == [e.number for e in first]


def test_the_best_are_ranked_by_their_mean_once_they_were_trained_again(path: Path) -> None:
    searched(path, candidates=30, population=10, sample=3, runs=2)
    with Study.open(path) as found:
        again, test, best = found.accuracies("rerank"), found.accuracies("test"), found.best(10)
    assert len(again) == 10
    means = [row["reranked"] for row in best]
    assert means == sorted((statistics.fmean(pair) for pair in again.values()), reverse=True)
    assert [row["test"] is not None for row in best] == [True] * 3 + [False] * 7
    assert [row["test"] for row in best[:3]] == [test[row["function"]] for row in best[:3]]


def test_validation_accuracies_of_the_test_runs_order_the_tested_ones(path: Path) -> None:
    texts = ("tanh(x)", "erf(x)", "asinh(x)", "atan(x)")
    with created(path, runs=2) as made:
        for number, text in enumerate(texts, 1):
            candidate(made, number, text)
            with made.transaction():
                made.record("search", number, RUN | {"function": text, "accuracy": 50.0 - number})
                for seed in (1, 2):
                    run = RUN | {"function": text, "seed": seed, "accuracy": 80.0 - number}
                    made.record("rerank", None, run)
        assert [row["number"] for row in made.best(4)] == [1, 2, 3, 4]
        # On test data the first is best, on validation data the third; the second failed once.
        for seed in (3, 4):
            given = zip(texts[:3], (70.0, 90.0, 80.0), (99.0, 9.0, 8.0), strict=True)
            for text, validation, accuracy in given:
                run = RUN | {"function": text, "seed": seed, "accuracy": accuracy}
                if (text, seed) == ("erf(x)", 4):
                    run |= {"accuracy": None, "failure": "diverged"}
                curves = {"validation": {"2": 1.0, "10": validation}}
                with made.transaction():
                    made.record("test", None, run | curves)
                done = (text, seed) == ("asinh(x)", 4)
                order = [3, 1, 2, 4] if done else [1, 2, 3, 4]
                assert [row["number"] for row in made.best(4)] == order
        assert [row["validation"] for row in made.best(4)] == [78.5, 74.5, 64.0, 76.0]
        assert [row["reranked"] for row in made.best(4)] == [77.0, 79.0, 78.0, 76.0]


def test_a_failed_run_counts_as_chance_in_a_mean(study: Study) -> None:
    assert study.accuracies("baseline") == {"relu(x)": [60.0, 70.0, 10.0]}
    assert study.relu == 65.0


def test_failures_are_counted_by_reason(path: Path) -> None:
    with created(path) as made:
        for number, why in enumerate(("diverged", "time limit", "diverged", None), start=1):
            candidate(made, number, "tanh(x)", failure=why)
        assert made.failures() == {"diverged": 2, "time limit": 1}


def test_curves_come_back_as_they_were(study: Study) -> None:
    positions = [row["position"] for row in study.table()]
    assert study.curves(positions[0]) == {"loss": [2.0, 1.0]}
    assert study.curves(positions[1]) == {"parameters": {"alpha": [[1.0]]}}
    assert study.curves(positions[2]) == {}
    assert study.curves(999) == {}


def test_a_study_reads_with_plain_sqlite(study: Study) -> None:
    connection = sqlite3.connect(study.path)
    rows = connection.execute(
        "select number, accuracy from candidates join runs on candidate = number order by number"
    ).fetchall()
    connection.close()
    assert rows == [(1, 50.0), (2, 80.0), (3, None), (4, 55.0)]


def test_a_study_can_be_read_while_another_process_writes_it(path: Path, drivers: Drivers) -> None:
    driver = drivers.start(path, "napping", 0.002, candidates=100, workers=0, rerank=False, runs=0)
    until(path.exists)
    seen = []
    while driver.alive:
        with Study.open(path) as reader:
            rows = reader.table()
        done = [row["number"] for row in rows if row["position"]]
        assert done == list(range(1, len(done) + 1))
        seen.append(len(done))
    assert seen == sorted(seen)
    assert len(set(seen)) > 3
    with Study.open(path) as reader:
        assert len(reader.history()) == 100


def test_what_a_killed_driver_had_begun_is_pending(path: Path, drivers: Drivers) -> None:
    driver = drivers.start(path, "sleeping", candidates=3, workers=0)
    until(path.exists)
    until(lambda: Study.open(path).pending())
    driver.send(signal.SIGKILL)
    until(lambda: not driver.alive)
    with Study.open(path) as found:
        assert [c.number for c in found.pending()] == [1]
        assert found.history() == []
        assert found.relu is not None


@pytest.mark.parametrize("old", OLD, ids=lambda file: file.stem)
def test_a_study_of_an_earlier_version_is_read(old: Path) -> None:
    with Study.open(old) as found:
        assert (found.settings.candidates, found.settings.seed, found.chance) == (12, 1, 10.0)
        assert [row["number"] for row in found.best(3)] == [9, 7, 10]
        assert found.best(1)[0]["function"] == "alpha*softsign(beta*x)"
        assert found.relu == pytest.approx(65.141, abs=1e-3)
        assert [c.number for c in found.pending()] == [11]
        assert found.failures() == {"diverged": 1}
        assert found.curves(5)["parameters"] == {"alpha": [[1.0, 1.1], [0.9, 1.2]]}


@pytest.mark.parametrize("old", OLD, ids=lambda file: file.stem)
def test_a_study_of_an_earlier_version_can_be_gone_on_with(old: Path, path: Path) -> None:
    shutil.copy(old, path)
    with Study.open(path) as found:
        before = found.table()[:10], found.runs("baseline")
    resume(path, workers=0, judge=instant).close()
    with Study.open(path) as found:
        assert (found.table()[:10], found.runs("baseline")) == before
        assert len(found.history()) == 12
        assert len(found.runs("test")) == 4 * 2


def test_there_are_studies_of_earlier_versions() -> None:
    assert [file.stem for file in OLD] == ["v1"]

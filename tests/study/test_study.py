"""What a study tells: its rows, its runs at several budgets, its best, what waits."""

import gc
import signal
import sqlite3
import statistics
from importlib.metadata import PackageNotFoundError
from pathlib import Path
from typing import Any

import pytest

from pangaea.errors import PangaeaError
from pangaea.evolution.ranking import top
from pangaea.evolution.trials import Measured
from pangaea.functions.equivalence import equivalent
from pangaea.functions.parser import parse
from pangaea.study import about
from pangaea.study.stages import PROPOSED, STAGES
from pangaea.study.study import Run, Study, open_study
from pangaea.tasks.goal import minimize
from pangaea.workers.curves import Curves
from tests.study.driving import Drivers, until
from tests.study.making import LOSS, candidate, created, ran, searched, wanted


@pytest.fixture
def study(path: Path) -> Study:
    with created(path) as made:
        for seed, score in enumerate((60.0, 70.0, None)):
            with made.transaction():
                failure = "diverged" if score is None else None
                ran(made, wanted("baseline", seed=seed), score=score, failure=failure)
        candidate(made, 1, "tanh(x)", score=50.0, seconds=3.5, curves={"loss": [2.0, 1.0]})
        parameters = {"parameters": {"alpha": [[1.0]]}}
        candidate(made, 2, "swish(alpha*x)", 1, score=80.0, curves=parameters)
        candidate(made, 3, "exp(x)", failure="diverged", detail="loss inf")
        candidate(made, 4, "add(tanh(x), zero(x))", score=55.0)
        candidate(made, 5, "exp(exp(x))")
    return Study.open(path)


def again(study: Study, number: int, budget: int, **result: Any) -> Run:
    """Another run of a candidate, and its result if there is one."""
    text = study.table()[number - 1]["function"]
    want = wanted("promotion", text, candidate=number, budget=budget)
    with study.transaction():
        return ran(study, want, **result) if result else study.ask(want)


def test_a_study_remembers_what_it_was_told(path: Path) -> None:
    def told(study: Study) -> tuple[Any, ...]:
        about = study.settings, study.task, study.goal, study.baseline
        return *about, study.versions, study.created

    with created(path, LOSS, seed=3, timeout=2.5, scope="layer", precision="bf16") as first:
        before = told(first)
    with open_study(path) as again:
        assert told(again) == before
        said = again.settings
        assert (said.seed, said.timeout, said.scope, said.precision) == (3, 2.5, "layer", "bf16")
        assert {"python", "platform", "pangaea", "torch", "sqlite"} <= {*again.versions}
        assert (again.goal, again.baseline) == (LOSS, "relu(x)")


def test_a_package_that_is_missing_hides_no_other(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def without_scipy(package: str) -> str:
        if package == "scipy":
            raise PackageNotFoundError
        return f"{package}'s"

    monkeypatch.setattr(about, "version", without_scipy)
    with created(path) as study:
        assert "scipy" not in study.versions
        assert (study.versions["numpy"], study.versions["dask"]) == ("numpy's", "dask's")


def test_a_reader_cannot_write(study: Study) -> None:
    with pytest.raises(sqlite3.OperationalError, match="readonly"):
        study.add(6, "tanh(x)", None, "initial")
    with pytest.raises(sqlite3.OperationalError, match="readonly"):
        study.ask(wanted())


def test_the_table_has_a_row_of_plain_values_for_each_candidate(study: Study) -> None:
    rows = study.table()
    assert [row["number"] for row in rows] == [1, 2, 3, 4, 5]
    assert [row["score"] for row in rows] == [50.0, 80.0, None, 55.0, None]
    assert [row["failure"] for row in rows] == [None, None, "diverged", None, None]
    assert [row["runs"] for row in rows] == [1, 1, 1, 1, 0]
    assert [row["parent"] for row in rows] == [None, 1, None, None, None]
    assert rows[0]["seconds"] == 3.5
    assert rows[2]["detail"] == "loss inf"
    assert rows[1]["function"] == "swish(alpha*x)"
    kinds = {type(value) for row in rows for value in row.values()}
    assert kinds <= {int, float, str, type(None)}


def test_a_run_without_result_is_pending_and_its_candidate_no_trial(study: Study) -> None:
    (run,) = study.pending(PROPOSED)
    assert run.wanted == wanted(function="exp(exp(x))", candidate=5, seed=5)
    assert study.pending(["baseline", "rerank", "test"]) == []
    assert [(t.number, t.score) for t in study.trials()] == [
        *((1, 50.0), (2, 80.0)),
        *((3, None), (4, 55.0)),
    ]
    assert (study.proposed(), study.asked(PROPOSED), study.asked(["baseline"])) == (5, 5, 3)


def test_trials_are_in_the_order_in_which_their_first_results_came(path: Path) -> None:
    with created(path) as made:
        runs = [candidate(made, number, "tanh(x)") for number in (1, 2, 3)]
        for run in (runs[2], runs[0]):
            with made.transaction():
                made.record(run.number, {"seconds": 1.0, "finished": 1.0, "score": 50.0})
        again(made, 3, 4, score=60.0)
        assert [t.number for t in made.trials()] == [3, 1]
        assert [run.wanted.candidate for run in made.pending(PROPOSED)] == [2]


def test_a_candidate_has_many_runs_at_many_budgets(study: Study) -> None:
    with Study.resume(study.path) as made:
        again(made, 1, 4, score=70.0, seconds=8.0)
        again(made, 1, 4, score=76.0, seconds=8.0)
        again(made, 1, 1, score=99.0, seconds=1.0)
        again(made, 1, 9, failure="time limit", detail="not done after 9 s", seconds=9.0)
        again(made, 3, 4, failure="exploded", detail="loss 1e9", seconds=2.0)
        again(made, 4, 4)
        trials = {trial.number: trial for trial in made.trials()}
        rows = {row["number"]: row for row in made.table()}
        assert made.failures() == {"diverged": 1, "exploded": 1, "time limit": 1}
        assert [run.wanted.candidate for run in made.pending(PROPOSED)] == [5, 4]
    assert trials[1].runs == (
        *(Measured(2, 50.0), Measured(4, 70.0), Measured(4, 76.0)),
        *(Measured(1, 99.0), Measured(9, None)),
    )
    assert (trials[1].score, trials[1].cost, trials[1].failure) == (73.0, 29.5, "time limit")
    assert (trials[3].score, trials[3].failure) == (None, "exploded")
    assert (rows[1]["score"], rows[1]["seconds"], rows[1]["runs"]) == (73.0, 29.5, 5)
    assert (rows[1]["failure"], rows[1]["detail"]) == (None, None)  # it could be trained
    assert (rows[3]["score"], rows[3]["failure"], rows[3]["detail"]) == (
        *(None, "exploded"),
        "loss 1e9",
    )
    assert (rows[4]["score"], rows[4]["runs"], rows[4]["seconds"]) == (55.0, 1, 1.0)
    assert [rows[n]["position"] for n in (1, 2, 3, 4)] == [4, 5, 6, 7]  # of the first results


def test_of_a_minimised_goal_the_smallest_is_best_and_trials_are_turned_round(path: Path) -> None:
    texts = ("tanh(x)", "erf(x)", "asinh(x)")
    with created(path, LOSS, runs=1) as made:
        with made.transaction():
            ran(made, wanted("baseline"), score=0.5)
        for number, (text, loss) in enumerate(zip(texts, (0.4, 0.2, 0.7), strict=True), 1):
            candidate(made, number, text, score=loss)
        again(made, 1, 9, score=0.1)
        assert [trial.score for trial in made.trials()] == [-0.1, -0.2, -0.7]
        assert made.trials()[0].runs == (Measured(2, -0.4), Measured(9, -0.1))
        assert [row["score"] for row in made.table()] == [0.1, 0.2, 0.7]
        best = made.best(3)
        assert [row["number"] for row in best] == [1, 2, 3]
        assert [row["score"] for row in best] == [0.1, 0.2, 0.7]
        assert [row["gain"] for row in best] == pytest.approx([0.4, 0.3, -0.2])
        assert made.baseline_score == 0.5
        with made.transaction():
            for text, loss in zip(texts, (0.3, 0.1, None), strict=True):
                failure = "diverged" if loss is None else None
                ran(made, wanted("rerank", text), score=loss, failure=failure)
        best = made.best(3)
        assert [row["number"] for row in best] == [2, 1, 3]
        assert [row["reranked"] for row in best] == [0.1, 0.3, 9.0]  # what a failure is worth


def test_a_failure_that_is_infinitely_bad_comes_last_and_is_no_error(path: Path) -> None:
    with created(path, minimize("loss")) as made:
        for number, text in enumerate(("tanh(x)", "erf(x)"), 1):
            candidate(made, number, text, score=0.1 * number)
        with made.transaction():
            ran(made, wanted("rerank", "tanh(x)"), failure="diverged")
            ran(made, wanted("rerank", "erf(x)"), score=0.3)
        assert [(row["number"], row["reranked"]) for row in made.best(2)] == [
            (2, 0.3),
            (1, float("inf")),
        ]


def test_the_best_are_the_best_scored_and_no_two_are_equivalent(study: Study) -> None:
    best = study.best(5)
    assert [row["number"] for row in best] == [2, 4]
    assert [row["gain"] for row in best] == [15.0, -10.0]
    assert equivalent(parse("add(tanh(x), zero(x))"), parse("tanh(x)"))
    assert [row["number"] for row in study.best(1)] == [2]


def test_before_they_were_trained_again_the_best_are_in_the_order_of_the_search(
    path: Path,
) -> None:
    searched(path, candidates=300, population=10, sample=5, rerank=False, runs=0)
    with Study.open(path) as study:
        for count in (0, 1, 10, 40):
            first = top(study.trials(), max(count, 10))[:count]
            assert [row["number"] for row in study.best(count)] == [t.number for t in first]


def test_the_best_are_ranked_by_their_mean_once_they_were_trained_again(path: Path) -> None:
    searched(path, candidates=30, population=10, sample=3, runs=2, rounds="10,10")
    with Study.open(path) as study:
        again, test, best = study.scores("rerank"), study.scores("test"), study.best(10)
    assert len(again) == 10
    means = [row["reranked"] for row in best]
    assert means == sorted((statistics.fmean(pair) for pair in again.values()), reverse=True)
    assert [row["test"] is not None for row in best] == [True] * 3 + [False] * 7
    assert [row["test"] for row in best[:3]] == [test[row["function"]] for row in best[:3]]


def test_validation_scores_of_the_test_runs_order_the_tested_ones(path: Path) -> None:
    texts = ("tanh(x)", "erf(x)", "asinh(x)", "atan(x)")
    with created(path, runs=2) as made:
        for number, text in enumerate(texts, 1):
            candidate(made, number, text, score=50.0 - number)
            with made.transaction():
                for seed in (1, 2):
                    ran(made, wanted("rerank", text, seed=seed), score=80.0 - number)
        assert [row["number"] for row in made.best(4)] == [1, 2, 3, 4]
        # On test data the first is best, on validation data the third; the second failed once.
        for seed in (3, 4):
            given = zip(texts[:3], (70.0, 90.0, 80.0), (99.0, 9.0, 8.0), strict=True)
            for text, validation, score in given:
                result: dict[str, Any] = {"score": score, "values": {"validation": validation}}
                if (text, seed) == ("erf(x)", 4):
                    result = {"failure": "diverged"}
                with made.transaction():
                    ran(made, wanted("test", text, seed=seed), **result)
                done = (text, seed) == ("asinh(x)", 4)
                order = [3, 1, 2, 4] if done else [1, 2, 3, 4]
                assert [row["number"] for row in made.best(4)] == order
        assert [row["validation"] for row in made.best(4)] == [78.5, 74.5, 64.0, 76.0]
        assert [row["reranked"] for row in made.best(4)] == [77.0, 79.0, 78.0, 76.0]


def test_a_failed_run_has_no_score_and_the_baseline_is_the_mean_of_the_others(
    study: Study,
) -> None:
    assert study.scores("baseline") == {"relu(x)": [60.0, 70.0, None]}
    assert study.goal.mean(study.scores("baseline")["relu(x)"]) == pytest.approx(140 / 3)
    assert study.baseline_score == 65.0


def test_curves_that_come_as_text_are_kept_unread(path: Path) -> None:
    unread = Curves('{"loss": [2.0, 1.0]')  # nobody has looked: it does not end
    with created(path) as made:
        candidate(made, 1, "tanh(x)", score=50.0, curves=unread)
        with pytest.raises(PangaeaError, match="the curves of run 1"):
            made.curves(1)


def test_curves_come_back_as_they_were(study: Study) -> None:
    runs = [row["run"] for row in study.table()]
    assert study.curves(runs[0]) == {"loss": [2.0, 1.0]}
    assert study.curves(runs[1]) == {"parameters": {"alpha": [[1.0]]}}
    assert study.curves(runs[2]) == {}
    assert study.curves(999) == {}


def test_what_else_was_measured_comes_back_with_the_run(path: Path) -> None:
    with created(path) as made, made.transaction():
        ran(made, wanted("test"), score=80.0, values={"validation": 81.5, "step": 0.01})
        ran(made, wanted("test", seed=1), score=79.0)
    with Study.open(path) as study:
        assert [row["values"] for row in study.runs("test")] == [
            {"validation": 81.5, "step": 0.01},
            {},
        ]
        assert study.validations() == {"relu(x)": [81.5]}


def test_runs_are_of_one_stage_or_of_all_in_the_order_of_their_results(path: Path) -> None:
    with created(path) as made:
        with made.transaction():
            asked = [made.ask(wanted(stage, seed=9)) for stage in STAGES]
            for run in reversed(asked):
                made.record(run.number, {"seconds": 1.0, "finished": 1.0, "score": 1.0})
        assert [row["stage"] for row in made.runs()] == [*reversed(STAGES)]
        for run in asked:
            (row,) = made.runs(run.wanted.stage)
            assert {name: row[name] for name in run.wanted._fields} == run.wanted._asdict()
            assert row["run"] == run.number


def test_the_stages_are_one_table() -> None:
    assert {s.name: (s.budget, s.part) for s in STAGES.values()} == {
        "baseline": ("search", "validation"),
        "search": ("search", "validation"),
        "promotion": ("search", "validation"),
        "rerank": ("full", "validation"),
        "test": ("full", "test"),
        "general": ("full", "validation"),
        "evaluation": ("full", "test"),
        "paper": ("full", "test"),
    }
    assert PROPOSED == ("search", "promotion")
    assert all(stage.doing for stage in STAGES.values())


def test_a_study_reads_with_plain_sqlite(study: Study) -> None:
    connection = sqlite3.connect(study.path)
    rows = connection.execute(
        "select number, score from candidates join runs on candidate = number"
        " join results using (run) order by number"
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
        assert len(reader.trials()) == 100


def test_trials_are_read_again_when_there_are_more(path: Path) -> None:
    with created(path) as made, Study.open(path) as reader:
        assert reader.trials() == []
        candidate(made, 1, "tanh(x)", score=50.0)
        assert [trial.score for trial in reader.trials()] == [50.0]
        again(made, 1, 4, score=60.0)
        assert [trial.score for trial in reader.trials()] == [60.0]


def test_what_a_killed_driver_had_begun_is_pending(path: Path, drivers: Drivers) -> None:
    driver = drivers.start(path, "sleeping", candidates=3, workers=0)
    until(path.exists)
    until(lambda: Study.open(path).pending(PROPOSED))
    driver.send(signal.SIGKILL)
    until(lambda: not driver.alive)
    with Study.open(path) as study:
        assert [run.wanted.candidate for run in study.pending(PROPOSED)] == [1]
        assert study.trials() == []
        assert study.baseline_score is not None


def test_a_study_that_was_only_looked_at_closes_itself(path: Path) -> None:
    searched(path)
    study = open_study(path)
    connection = study._connection
    study.itself = study  # type: ignore[attr-defined]  # so that only the collector ends it
    del study
    gc.collect()
    with pytest.raises(sqlite3.ProgrammingError, match="closed"):
        connection.execute("select 1")

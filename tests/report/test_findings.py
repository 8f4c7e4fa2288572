"""The headline says what was found, and no more than the study holds."""

import json
import math
from pathlib import Path
from statistics import fmean, stdev

import pytest

from pangaea.report import findings
from pangaea.report.findings import (
    columns,
    command,
    cost,
    general,
    judged_table,
    progress,
    reproduce,
    rows,
    state,
)
from pangaea.report.formats import as_json
from pangaea.report.headline import headline
from pangaea.report.measures import probability, welch
from pangaea.report.records import Snapshot, opened
from pangaea.study.study import Study
from pangaea.tasks.goal import minimize
from tests.study.making import created, ran, wanted
from tests.study_maker import LOSS, Maker, generalize, make

RELU = "relu(x)"


def sentence(path: Path) -> str:
    with opened(path) as study:
        return str(headline(study)["sentence"])


def test_a_finished_study_is_judged_on_test_data_against_relu(study: Snapshot) -> None:
    about = headline(study)
    own, relu = study.best(1)[0]["test"], study.scores("test")[RELU]
    gain = fmean(own) - fmean(relu)
    p = welch(study.goal, own, relu)
    assert p is not None
    assert about["state"] == "finished"
    assert about["sentence"] == (
        f"{fmean(own):.2f} ± {stdev(own):.2f}% on test data, {gain:.2f} points better than ReLU's "
        f"{fmean(relu):.2f} ± {stdev(relu):.2f}% (n = 3 and 3, p = {probability(p)})."
    )
    assert {"compute", "wall clock", "training time", "failed"} <= set(about["facts"])


def test_the_function_of_the_headline_is_chosen_without_a_look_at_test_data(
    study: Snapshot,
) -> None:
    first = study.best(1)[0]
    means = {row["function"]: row["mean"] for row in findings.tested(study)}
    assert headline(study)["function"] == next(
        row["readable"] for row in findings.tested(study) if row["function"] == first["function"]
    )
    validated = {row["function"]: row["validation"] for row in study.best(3)}
    assert validated[first["function"]] == max(validated.values())
    assert len(means) == 4


def test_a_function_that_is_worse_is_said_to_be_worse(tmp_path: Path) -> None:
    with Maker(tmp_path / "low.study", candidates=30) as maker:
        maker.baseline()
        maker.search()
        best = maker.study.best(1)[0]["function"]
        with maker.study.transaction():
            for seed in range(3):
                maker.run("test", None, RELU, seed, 90.0)
                maker.run("test", None, best, seed, 50.0)
    assert "points worse than ReLU's" in sentence(tmp_path / "low.study")


def test_a_running_study_says_how_far_it_is_and_that_nothing_is_tested(
    paths: dict[str, Path],
) -> None:
    with opened(paths["running"]) as study:
        about = headline(study)
    assert about["state"] == "20 of 60 candidates"
    assert "on validation data in 1 run of the search, " in about["sentence"]
    assert about["sentence"].endswith("It has not been tested yet.")


def test_what_the_best_scored_when_they_were_trained_again_is_said_until_they_are_tested(
    tmp_path: Path,
) -> None:
    with Maker(tmp_path / "again.study", candidates=30) as maker:
        maker.baseline()
        maker.search()
        best = maker.study.best(1)[0]["function"]
        with maker.study.transaction():
            maker.run("rerank", None, best, 5, 73.0)
        score = maker.study.goal.shown(maker.study.best(1)[0]["reranked"])
    said = sentence(tmp_path / "again.study")
    assert f"ReLU, and {score} after 10 epochs, when the best were trained again. It has" in said


def test_an_empty_study_says_so(paths: dict[str, Path]) -> None:
    assert sentence(paths["empty"]) == "No candidate has its result yet."


def test_a_study_of_evaluated_functions_says_so(tmp_path: Path) -> None:
    with Maker(tmp_path / "e.study") as maker, maker.study.transaction():
        for text in ("relu(x)", "swish(x)"):
            for seed in range(2):
                maker.run("evaluation", None, text, seed, 70.0)
    assert sentence(tmp_path / "e.study").startswith("4 runs of 2 functions, evaluated without a")


def test_a_study_of_failures_says_why(paths: dict[str, Path]) -> None:
    with opened(paths["failed"]) as study:
        why = ", ".join(f"{count} × {reason}" for reason, count in study.failures.items())
    said = sentence(paths["failed"])
    assert said == f"None of the 5 candidates could be trained: {why}."


def test_functions_that_cannot_be_read_are_not_judged(paths: dict[str, Path]) -> None:
    assert "are not written as this version of pangaea writes them" in sentence(paths["hostile"])


def test_the_states_after_the_search_are_told(tmp_path: Path) -> None:
    with Maker(tmp_path / "on.study", candidates=30, runs=2) as maker:
        maker.baseline()
        maker.search()
        functions = [row["function"] for row in maker.study.best(10)]

        def state() -> str:
            with opened(tmp_path / "on.study") as study:
                return str(headline(study)["state"])

        assert state() == f"rerank: 0 of {2 * len(functions)} runs"
        with maker.study.transaction():
            for text in functions:
                for seed in range(2):
                    maker.run("rerank", None, text, seed, 70.0)
        assert state() == "test: 0 of 8 runs"
        with maker.study.transaction():
            for text in (RELU, *(row["function"] for row in maker.study.best(3))):
                for seed in range(2):
                    maker.run("test", None, text, seed, 70.0)
        assert state() == "finished"


def test_how_far_rounds_with_budgets_are_is_told(tmp_path: Path) -> None:
    rounds = {"rounds": "4@2,2@5,2@5,1", "runs": 0}
    with Maker(tmp_path / "on.study", candidates=30, **rounds) as maker:
        maker.baseline()
        maker.search()

        def state() -> str:
            with opened(tmp_path / "on.study") as study:
                return str(headline(study)["state"])

        states = [state()]
        order = [row["function"] for row in maker.study.best(4)]
        for text, budget, score in (
            *((text, 2, 60.0 - place) for place, text in enumerate(order)),
            *((order[place], 5, 50.0 + place) for place in (0, 1, 1, 0)),
            (order[1], None, 40.0),
        ):
            with maker.study.transaction():
                maker.run("rerank", None, text, len(states), score, budget)
            states.append(state())
        assert maker.study.best(1)[0]["function"] == order[1]
    assert states == [*(f"rerank: {done} of 9 runs" for done in range(9)), "finished"]


def test_runs_with_budgets_that_no_round_has_any_more_do_not_count(tmp_path: Path) -> None:
    path = tmp_path / "on.study"
    with Maker(path, candidates=30, rounds="4@5,2", runs=0) as maker:
        maker.baseline()
        maker.search()
        order = [row["function"] for row in maker.study.best(4)]
        with maker.study.transaction():  # as other rounds once asked for them
            for seed, text in enumerate(order):
                maker.run("rerank", None, text, seed, 60.0, 2)
            maker.run("rerank", None, order[0], 9, 60.0, 5)
        with opened(path) as study:
            assert state(study) == "rerank: 1 of 6 runs"


def test_the_command_has_every_setting_that_was_given(tmp_path: Path) -> None:
    given = {"task": "it's", "rerank": False, "timeout": 9.5, "seed": 3}
    with Maker(tmp_path / "a.study", **given):
        pass
    with opened(tmp_path / "a.study") as study:
        words = command(study)
    assert words.startswith("pangaea search --task 'it'\"'\"'s' ")
    for part in ("--strategy evolution", "--seed 3", "--timeout 9.5", "--no-rerank", "--runs 3"):
        assert f" {part}" in words
    assert "--scope" not in words


def test_versions_budgets_and_settings_are_there_to_reproduce_it(study: Snapshot) -> None:
    how = reproduce(study)
    assert how["versions"]["pangaea"] == study.versions["pangaea"]
    assert how["task"]["budgets"]["full"] == 10
    assert how["settings"]["population"] == 12
    assert how["goal"]["name"] == "accuracy"


def test_the_tested_functions_come_in_their_final_order_behind_the_baseline(
    paths: dict[str, Path],
) -> None:
    for kind in ("finished", "minimised", "several"):
        with opened(paths[kind]) as study:
            order = [study.baseline, *(row["function"] for row in study.best(3))]
            assert [row["function"] for row in findings.tested(study)] == order
            assert [row["function"] for row in rows(study)] == order


def test_of_a_minimised_goal_less_is_better(paths: dict[str, Path]) -> None:
    with opened(paths["minimised"]) as study:
        about, (gelu, best, *_) = headline(study), findings.tested(study)
        assert gelu["readable"] == "GELU"
        assert best["mean"] < gelu["mean"]
        assert best["p"] < 0.05
        gain = f"{gelu['mean'] - best['mean']:.3f}"
        assert f" nats on test data, {gain} nats better than GELU's " in about["sentence"]
        assert about["facts"]["goal"] == "validation loss, smaller is better"
        assert about["facts"]["training time"].endswith(" × GELU")
        assert all(row["gain"] is None or row["gain"] >= 0 for row in rows(study)[1:2])
        assert "accuracy" not in str(about)
        assert columns(study)["test"] == "test loss (nats) after 10 steps"


def test_a_failed_test_run_of_an_unbounded_goal_is_infinitely_bad(tmp_path: Path) -> None:
    with Maker(tmp_path / "a.study", candidates=20, goal=LOSS, runs=2) as maker:
        maker.baseline()
        maker.search()
        best = maker.study.best(1)[0]["function"]
        with maker.study.transaction():
            for seed in range(2):
                maker.run("test", None, RELU, seed, 68.0)
                maker.run("test", None, best, seed, None if seed else 70.0)
    with opened(tmp_path / "a.study") as study:
        assert headline(study)["sentence"].startswith("∞ nats on test data, worse than ReLU's ")
        _, row = findings.tested(study)
        assert (row["mean"], row["shown"], row["failures"], row["p"]) == (None, "∞", 1, None)
        assert [r["test_mean"] for r in rows(study, 1)][1] is None


def test_what_is_infinitely_bad_when_trained_again_is_none_in_plain_data(tmp_path: Path) -> None:
    with Maker(tmp_path / "a.study", candidates=20, goal=LOSS, runs=0) as maker:
        maker.baseline()
        maker.search()
        with maker.study.transaction():
            for row in maker.study.best(10):
                for seed in range(2):
                    maker.run("rerank", row["number"], row["function"], seed, None)
    with opened(tmp_path / "a.study") as study:
        assert study.best(1)[0]["believed"] == math.inf
        best = json.loads(as_json([study]))["studies"][0]["best"]
        for row in (*best, *rows(study)[1:]):
            assert (row["reranked"], row["believed"], row["validation"]) == (None, None, None)


def test_a_candidate_with_several_runs_counts_once_and_its_runs_are_told(
    paths: dict[str, Path],
) -> None:
    with opened(paths["several"]) as study:
        facts = headline(study)["facts"]
        assert facts["candidates"] == "45 in 60 runs"
        assert progress(study).startswith("mnist1d: 60 of 60 runs, finished")
        promoted = [row for row in study.table() if row["runs"] > 1]
        assert promoted
        for row in promoted:
            longest = [
                run["score"]
                for run in study.runs()
                if run["candidate"] == row["number"] and run["stage"] == "promotion"
            ]
            assert row["score"] == pytest.approx(fmean(longest))
        # Longer runs are not compared with the baseline's short ones.
        assert all((cost(study, row) or 0) < 8 for row in study.best(10))


def test_a_study_of_general_functions_says_what_it_is(paths: dict[str, Path]) -> None:
    with opened(paths["general"]) as study:
        assert state(study) == "finished"
        assert progress(study) == "general functions: 3 functions on 2 tasks, finished"
        assert headline(study)["sentence"].startswith("3 functions of other studies, judged on 2 ")
        assert {row["function"]: row["failures"] for row in general(study)} == {
            "swish(x)": 0,
            "elu(alpha*x)": 0,
            "tanh(x)": 2,
        }
        assert all(set(row["scores"]) == {"mnist1d", "other.py:task"} for row in rows(study))


def test_general_functions_are_judged_and_shown_by_each_task_s_own_goal(tmp_path: Path) -> None:
    with Study.resume(generalize(tmp_path / "g.study")) as made:
        made.know({"other.py:task": minimize("loss", failure=90.0, digits=1)})
    with opened(tmp_path / "g.study") as study:
        (failing,) = (row for row in general(study) if row["function"] == "tanh(x)")
        first, second = failing["scores"].values()  # a failure is worth 10 and 90 beside about 70
        assert (first, second) == pytest.approx((40, 80), abs=3)
        table = judged_table(study)
        assert table is not None
        assert ["tanh(x)", f"{first:.2f}", f"{second:.1f}", "4", "2"] in table["rows"]


def test_a_study_of_an_earlier_schema_is_told_like_any_other(paths: dict[str, Path]) -> None:
    with opened(paths["earlier"]) as study:
        assert headline(study)["state"] == "10 of 12 candidates"
        assert "points better than ReLU" in headline(study)["sentence"]


def test_a_search_that_was_left_off_is_told_by_its_task(tmp_path: Path) -> None:
    with opened(make(tmp_path / "a.study", 30, done=7)) as study:
        assert progress(study).startswith("mnist1d: 7 of 30 candidates")


# Functions that are tested beside the baseline.


def test_further_functions_stand_between_the_baseline_and_the_best(tmp_path: Path) -> None:
    with opened(make(tmp_path / "a.study", against="swish,prelu")) as study:
        shown = [(row["readable"], len(row["test"]), row["p"]) for row in rows(study)[:3]]
        judged = findings.tested(study)
        told = headline(study)["sentence"]
        swish = study.scores("test")["swish(x)"]
        best = study.best(1)[0]["test"]
        how_far = state(study)
    assert [name for name, _, _ in shown] == ["ReLU", "Swish", "PReLU"]
    assert [n for _, n, _ in shown] == [3, 3, 3]
    assert shown[0][2] is None
    assert shown[1][2] == welch(study.goal, swish, study.scores("test")[RELU])
    assert [row["readable"] for row in judged[:3]] == ["ReLU", "Swish", "PReLU"]
    assert len(judged) == 6
    gain = fmean(best) - fmean(swish)
    assert f"; {gain:.2f} points better than Swish's {fmean(swish):.2f}" in told
    assert how_far == "finished"


def test_a_function_that_was_also_found_stands_where_it_was_found(tmp_path: Path) -> None:
    path = make(tmp_path / "a.study")
    with opened(path) as study:
        first = study.best(1)[0]["function"]
    with opened(make(tmp_path / "b.study", against=first)) as study:
        shown = rows(study)
    assert [row["function"] for row in shown].count(first) == 1
    assert [row["number"] > 0 for row in shown] == [False, True, True, True]


def test_a_warm_start_is_said_and_that_its_function_was_not_found(tmp_path: Path) -> None:
    with opened(make(tmp_path / "a.study")) as study:
        first = study.best(1)[0]["function"]
        assert "warm start" not in progress(study)
    told = []
    for start in (f"tanh,negative(negative({first}))", "tanh"):
        with opened(make(tmp_path / f"{len(told)}.study", start=start)) as study:
            about = headline(study)
            assert progress(study).endswith("warm start") or "warm start ·" in progress(study)
            assert about["facts"]["warm start"].startswith("Tanh")
            told.append(about["sentence"])
    sentence = told[1].removeprefix("After a warm start: ")
    assert told == [f"Not found, for the search began with it: {sentence}", told[1]]
    assert sentence != told[1]


def test_tests_of_functions_that_are_no_longer_the_best_do_not_count(tmp_path: Path) -> None:
    with Maker(tmp_path / "a.study", candidates=20) as maker:
        maker.baseline()
        maker.search()
        with maker.study.transaction():
            for seed in range(100):
                maker.run("rerank", None, "tanh(x)", seed, 50.0)
                maker.run("test", None, "tanh(x)", seed, 50.0)
    with opened(tmp_path / "a.study") as study:
        assert state(study) == f"rerank: 0 of {2 * len(study.best(10))} runs"


@pytest.mark.parametrize(("workers", "times"), [("abcb", "1.50 × ReLU"), ("abcd", None)])
def test_training_time_is_compared_with_no_workers_first_run(
    path: Path, workers: str, times: str | None
) -> None:
    with created(path) as study, study.transaction():
        study.add(1, "swish(x)", None, "initial")
        for seed, worker in enumerate(workers):
            seconds = 9.0 if seed < 3 else 2.0
            ran(study, wanted("baseline", seed=seed), score=50.0, seconds=seconds, worker=worker)
        ran(study, wanted(candidate=1, function="swish(x)"), score=60.0, seconds=3.0, worker="a")
    with opened(path) as known:
        assert headline(known)["facts"].get("training time") == times

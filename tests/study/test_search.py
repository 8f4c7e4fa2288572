"""The search: which runs, in which order, exactly C results; bad functions never stop it."""

import contextlib
import gc
from collections.abc import Sequence
from functools import partial
from itertools import count
from pathlib import Path
from random import Random
from typing import Any

import pytest

from pangaea.errors import PangaeaError
from pangaea.evolution.strategies import Strategy, strategies
from pangaea.evolution.strategies.evolution import Settings
from pangaea.evolution.strategies.evolution import propose as evolved
from pangaea.evolution.trials import Again, Measured, Proposal, Trial
from pangaea.functions.cost import relative
from pangaea.functions.parser import parse
from pangaea.study import search as module
from pangaea.study.runner import Stop, Watch
from pangaea.study.stages import PROPOSED, STAGES
from pangaea.study.study import Run, Study
from pangaea.workers.engine import InProcess
from pangaea.workers.judge import Job, Result, stamped
from tests.study.engines import Several, Telling
from tests.study.judges import (
    diverging,
    failing,
    failing_candidates,
    failing_sometimes,
    failing_while,
    instant,
)
from tests.study.making import LOSS, created
from tests.study.searching import SMALL, run, stopping

BLIND = ("random-search", "random-sampling")  # have no population


def numbers(rows: Sequence[dict[str, Any]]) -> list[int]:
    return [row["number"] for row in rows if row["position"] is not None]


def proposing(monkeypatch: pytest.MonkeyPatch, propose: Any) -> None:
    strategy = Strategy("evolution", "For a test.", propose, Settings)
    monkeypatch.setattr(module, "strategy", lambda name: strategy)


def test_a_candidate_is_there_before_its_run_and_its_parent_before_it(path: Path) -> None:
    class Spying(Several):
        looks = 0

        def submit(self, jobs: Sequence[Job]) -> None:
            super().submit(jobs)
            with Study.open(path) as study:
                rows = {row["run"]: row for row in study.table()}
                pending = study.pending(PROPOSED)
                trials = {trial.number for trial in study.trials()}
            for one in jobs:
                if one.stage in PROPOSED:
                    Spying.looks += 1
                    row = rows[one.run]
                    assert (row["function"], row["seed"]) == (one.function, one.seed)
                    assert row["number"] not in trials
                    assert row["parent"] is None or row["parent"] in trials
                    assert len(pending) == self.running

    with created(path, **SMALL) as study:
        assert numbers(run(study, engine=Spying)) == list(range(1, 31))
    assert Spying.looks == 30


def test_children_come_of_the_population_at_their_time(path: Path) -> None:
    with created(path, **SMALL) as study:
        rows = run(study)
    parents = [row["parent"] for row in rows if row["parent"] is not None]
    assert len(parents) > 20
    for row in rows:
        if row["parent"] is not None:
            passed = [r for r in rows if r["number"] < row["number"] and r["score"] >= 20]
            assert row["parent"] in [r["number"] for r in passed[-5:]]


def test_of_a_minimised_goal_small_scores_breed(path: Path) -> None:
    with created(path, LOSS, **SMALL | {"sample": 50, "threshold": 60.0}) as study:
        rows = run(study)
    parents = [row for row in rows if row["parent"] is not None]
    assert len(parents) > 15
    for row in parents:
        passed = [r for r in rows if r["number"] < row["number"] and r["score"] <= 60]
        best = min(passed[-5:], key=lambda r: r["score"])
        assert row["parent"] == best["number"]  # of fifty draws, the best of five is among them


def test_the_same_seed_gives_the_same_search_and_another_seed_another(tmp_path: Path) -> None:
    tables = []
    for name, seed in (("a", 1), ("b", 1), ("c", 2)):
        with created(tmp_path / name, **SMALL, seed=seed) as study:
            tables.append([(row["function"], row["score"]) for row in run(study)])
    assert tables[0] == tables[1]
    assert {text for text, _ in tables[0]} != {text for text, _ in tables[2]}


@pytest.mark.parametrize("name", strategies())
def test_every_strategy_runs(path: Path, name: str) -> None:
    evolution = {"population": 5, "sample": 3} if name not in BLIND else {}
    given = {"candidates": 30, "rerank": False, "runs": 0}
    with created(path, **given, **evolution, strategy=name) as study:
        rows = run(study, engine=Several)
    assert numbers(rows) == list(range(1, 31))
    with_parents = sum(row["parent"] is not None for row in rows)
    assert (with_parents == 0) == (name == "random-sampling")


# Several runs of a candidate.


@pytest.mark.parametrize("engine", [InProcess, Several])
def test_a_strategy_may_ask_for_more_runs_of_what_it_knows(
    path: Path, promoting: str, engine: type[InProcess]
) -> None:
    with created(path, **SMALL | {"candidates": 60}, strategy=promoting) as study:
        rows = run(study, failing_sometimes, engine)
        runs, trials = [r for r in study.runs() if r["stage"] in PROPOSED], study.trials()
        assert study.proposed() == len(rows)
    again = [r for r in runs if r["stage"] == "promotion"]
    assert len(again) > 8
    assert len(rows) + len(again) == len(runs) == 60
    assert len({r["seed"] for r in runs}) == 60
    assert {r["budget"] for r in again} == {1, 20, 30}
    assert {r["budget"] for r in runs if r["stage"] == "search"} == {2, 5}
    assert [r["number"] for r in rows] == list(range(1, len(rows) + 1))
    texts = {r["number"]: r["function"] for r in rows}
    assert all(r["function"] == texts[r["candidate"]] for r in runs)
    assert sum(len(trial.runs) for trial in trials) == 60
    assert max(len(trial.runs) for trial in trials) > 2


def test_a_search_sees_the_trials_that_its_study_tells(
    path: Path, promoting: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In memory as in the file, so that what is resumed goes on in the same way."""
    with created(path, **SMALL | {"candidates": 40}, strategy=promoting) as study:
        propose, looks = strategies()[promoting].propose, 0

        def looking(trials: Sequence[Trial], rng: Random, settings: Any) -> Proposal | Again:
            nonlocal looks
            looks += 1
            assert [*trials] == study.trials()
            return propose(trials, rng, settings)

        proposing(monkeypatch, looking)
        run(study, failing_sometimes, Several)
    assert looks == 40


@pytest.mark.parametrize("most", [4, 11, 23, 38, 55])
def test_an_interrupted_search_of_several_budgets_ends_as_an_uninterrupted_one(
    tmp_path: Path, promoting: str, most: int
) -> None:
    given = SMALL | {"candidates": 40, "rerank": True, "runs": 2, "strategy": promoting}
    ends = []
    for name, interrupted in (("whole", False), ("parts", True)):
        path = tmp_path / name
        with created(path, **given) as study:
            if interrupted:
                with pytest.raises(KeyboardInterrupt):
                    run(study, stopping(failing_sometimes, most))
        with Study.resume(path) as study:
            run(study, failing_sometimes)
            same = ("run", "stage", "candidate", "function", "budget", "seed", "score", "failure")
            ends.append([[row[name] for name in same] for row in study.runs()])
    assert ends[0] == ends[1]


def test_the_score_of_a_candidate_is_of_its_largest_budget_and_breeds(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first is bad when trained shortly and good when trained long."""
    answers = {("tanh(x)", 2): 30.0, ("tanh(x)", 9): 90.0, ("erf(x)", 2): 50.0}
    seen: list[list[Trial]] = []

    def propose(trials: Sequence[Trial], rng: Random, settings: Settings) -> Proposal | Again:
        seen.append([*trials])
        if len(seen) <= 2:
            return Proposal(parse(("tanh(x)", "erf(x)")[len(seen) - 1]), None, "initial")
        return Again(1, budget=9) if len(seen) == 3 else evolved(trials, rng, settings)

    def judge(job: Job) -> Result:
        return stamped({"score": answers.get((job.function, job.budget), 60.0)}, 0.0, None)

    proposing(monkeypatch, propose)
    given = SMALL | {"candidates": 4, "population": 2, "sample": 40}
    with created(path, **given) as study:
        rows = run(study, judge)
        assert [row["number"] for row in study.best(1)] == [1]
    assert seen[3][0].runs == (Measured(2, 30.0), Measured(9, 90.0))
    assert [trial.score for trial in seen[3]] == [90.0, 50.0]
    assert [row["score"] for row in rows[:2]] == [90.0, 50.0]
    assert rows[2]["parent"] == 1


def test_functions_that_cost_too_much_are_not_tried(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Three of four proposals do: they cost more than twice as much as ReLU."""
    drawn: list[str] = []

    def propose(trials: Sequence[Trial], rng: Random, settings: Any) -> Proposal:
        drawn.append(("erf(x)", "tanh(x)", "mish(x)", "exp(x)")[len(drawn) % 4])
        return Proposal(parse(drawn[-1]), None, "initial")

    proposing(monkeypatch, propose)
    with created(path, **SMALL | {"candidates": 3, "cost": 2.0}) as study:
        rows = run(study)
    assert [row["function"] for row in rows] == ["exp(x)"] * 3
    assert len(drawn) == 12
    with created(path.with_name("b.study"), **SMALL | {"candidates": 1, "cost": 0.1}) as study:
        rows = run(study)  # none fits, so the cheapest of a hundred is tried
    assert [row["function"] for row in rows] == ["exp(x)"]


@pytest.mark.parametrize("strategy", ["evolution", "thrifty", "choosy"])
def test_no_strategy_proposes_what_costs_too_much(path: Path, strategy: str) -> None:
    given = SMALL | {"candidates": 20, "cost": 2.0, "strategy": strategy, "rerank": False}
    with created(path, **given) as study:
        rows = run(study)
    assert max(relative(row["function"], "relu(x)") for row in rows) <= 2


# A warm start.


def test_a_warm_start_is_tried_first_and_breeds(path: Path) -> None:
    given = SMALL | {"candidates": 12, "population": 3, "start": "swish, softplus,mish"}
    with created(path, **given) as study:
        rows = run(study, engine=Several)
    first = [(row["function"], row["parent"], row["mutation"]) for row in rows[:3]]
    assert first == [(f"{name}(x)", None, "given") for name in ("swish", "softplus", "mish")]
    assert {row["mutation"] for row in rows[3:]}.isdisjoint({"given"})
    assert all(row["parent"] for row in rows[6:])  # three of the first six are the population


def test_a_warm_start_that_was_interrupted_goes_on_where_it_was(path: Path) -> None:
    given = SMALL | {"candidates": 5, "start": "swish,softplus,mish"}
    with created(path, **given) as study, pytest.raises(KeyboardInterrupt):
        run(study, stopping(instant, 4))  # with the baseline's three
    with Study.resume(path) as study:
        rows = run(study)
    assert [row["mutation"] for row in rows] == ["given"] * 3 + ["initial"] * 2


# The test.


def test_further_functions_are_tested_as_often_as_the_best(path: Path) -> None:
    given = SMALL | {"runs": 4, "against": "swish, prelu,relu"}
    with created(path, **given) as study:
        run(study)
        tests = study.scores("test")
        best = {row["function"] for row in study.best(3)}
        numbers = {row["function"]: row["candidate"] for row in study.runs("test")}
    assert {*tests} == {"relu(x)", "swish(x)", "prelu"} | best
    assert {len(scores) for scores in tests.values()} == {4}
    assert {numbers[text] for text in ("relu(x)", "swish(x)", "prelu")} == {None}


# What goes wrong.


def test_functions_that_diverge_never_stop_a_search(path: Path) -> None:
    with created(path, **SMALL | {"runs": 2, "rerank": True}) as study:
        rows = run(study, diverging)
        assert study.failures() == {"diverged": 30}
        assert len(study.runs("baseline")) == 3
        assert (study.runs("rerank"), study.best(3)) == ([], [])
        assert {*study.scores("test")} == {"relu(x)"}
    assert {row["score"] for row in rows} == {None}


def test_functions_that_break_everything_do_not_either_as_long_as_the_baseline_works(
    path: Path,
) -> None:
    with created(path, **SMALL) as study:
        rows = run(study, partial(failing_candidates, "worker killed"), Several)
        assert study.failures() == {"worker killed": 30}
        assert 3 < len(study.runs("baseline")) <= 6  # it looks whether it is them or the machine
    assert numbers(rows) == list(range(1, 31))


@pytest.mark.parametrize(("failures", "looks"), [(9, 0), (10, 1)])
def test_ten_failures_in_a_row_make_it_look_at_the_baseline_and_nine_do_not(
    path: Path, failures: int, looks: int
) -> None:
    candidates = count(1)

    def judge(job: Job) -> Result:
        if job.stage == "search" and 1 < next(candidates) <= 1 + failures:
            return {"failure": "exception", "detail": "so it goes"}
        return instant(job)

    with created(path, **SMALL) as study:
        run(study, judge)
        assert len(study.runs("baseline")) == 3 + looks
        assert study.failures() == {"exception": failures}


@pytest.mark.parametrize("reason", ["exception", "diverged", "out of memory", "worker killed"])
def test_if_the_baseline_cannot_be_trained_nothing_is_tried(path: Path, reason: str) -> None:
    sentence = rf"the baseline relu\(x\) itself .* on mnist1d \({reason}: so it goes\).*resume"
    with created(path, **SMALL) as study:
        with pytest.raises(PangaeaError, match=sentence):
            run(study, partial(failing, reason))
        assert study.proposed() == 0


def test_a_study_whose_baseline_failed_goes_on_when_that_is_mended(path: Path) -> None:
    with created(path, **SMALL) as study:
        for _ in range(2):
            with pytest.raises(PangaeaError, match="the baseline"):
                run(study, partial(failing, "exception"))
        assert numbers(run(study)) == list(range(1, 31))
        assert study.baseline_score is not None


def test_if_nothing_works_any_more_it_stops_early_and_says_why(path: Path) -> None:
    broken = path.with_name("broken")
    judge = partial(failing_while, broken, "exception")

    class Breaking(Watch):
        def result(self, study: Study, run: Run, result: Result) -> None:
            if run.wanted.candidate == 12:
                broken.touch()

    with created(path, **SMALL | {"candidates": 200}) as study:
        with pytest.raises(PangaeaError, match=r"the baseline .*\(exception: so it goes\).*resume"):
            run(study, judge, Several, Breaking())
        assert len(study.trials()) <= 12 + 10 + 3
        assert study.pending([*STAGES]) == []
        broken.unlink()
        rows = run(study, judge, Several)
    assert numbers(rows) == list(range(1, 201))
    assert sum(row["failure"] is not None for row in rows) <= 13


def test_results_that_are_none_never_stop_a_search(path: Path) -> None:
    def judge(job: Job) -> Any:
        return None if job.stage in PROPOSED else instant(job)

    with created(path, **SMALL) as study:
        run(study, judge)
        assert study.failures() == {"no score": 30}


# How it ends.


@pytest.mark.parametrize("interrupted", [False, True])
def test_what_a_search_keeps_from_the_garbage_collector_is_let_go_in_the_end(
    path: Path, interrupted: bool
) -> None:
    during = []

    def judging(job: Job) -> Result:
        during.append(gc.get_freeze_count())
        if interrupted and len(during) == 9:
            raise KeyboardInterrupt
        return instant(job)

    before = gc.get_freeze_count()
    with created(path, **SMALL) as study, contextlib.suppress(KeyboardInterrupt):
        run(study, judging)
    assert min(during) > before
    assert gc.get_freeze_count() == before == 0


@pytest.mark.parametrize("stage", ["baseline", "search", "rerank", "test"])
def test_once_stopped_nothing_new_begins_and_what_runs_is_recorded(path: Path, stage: str) -> None:
    class Stopping(Telling):
        def result(self, study: Study, run: Run, result: Result) -> None:
            super().result(study, run, result)
            stop.asked = stop.asked or run.wanted.stage == stage

    with created(path, **SMALL | {"rerank": True, "runs": 4}) as study:
        stop, told = Stop(), Stopping()
        with pytest.raises(KeyboardInterrupt):
            run(study, engine=Several, watch=told, stop=stop)
        ended = [run for run in told.runs if run.wanted.stage == stage]
        assert 1 <= len(ended) <= 1 + 3  # the first to end, and the three that ran by then
        assert study.pending([*STAGES]) == []
        assert numbers(run(study, engine=Several)) == list(range(1, 31))
        assert len(study.runs("test")) == 16

"""What follows the search: the best trained again round by round, the test, and their seeds."""

from collections.abc import Iterable
from dataclasses import replace
from functools import partial
from pathlib import Path
from statistics import fmean
from typing import Any

import pytest

from pangaea.errors import PangaeaError
from pangaea.evolution.ranking import top
from pangaea.functions.equivalence import fingerprint
from pangaea.functions.parser import parse
from pangaea.study.search import Search
from pangaea.study.stages import STAGES
from pangaea.study.standing import contest
from pangaea.study.study import Study
from pangaea.study.timing import Unlimited
from pangaea.workers.judge import OUTSIDE, Job, Result
from tests.study.engines import Telling, runner
from tests.study.judges import (
    failing,
    failing_sometimes,
    instant,
)
from tests.study.making import created
from tests.study.searching import SMALL, run, stopping


def test_the_top_ten_are_trained_again_and_the_best_three_tested(path: Path) -> None:
    told = Telling()
    with created(path, **SMALL | {"rerank": True, "runs": 4, "candidates": 60}) as study:
        run(study, watch=told)
        again, test = study.scores("rerank"), study.scores("test")
        trials, best = study.trials(), study.best(3)
    assert {len(values) for values in again.values()} == {2}
    assert len({fingerprint(parse(text)) for text in again}) == len(again) == 10
    scores = {t.number: t.score for t in trials if t.score is not None}
    worst = min(max(scores[t.number] for t in trials if t.text == text) for text in again)
    left = {fingerprint(t.function) for t in trials if t.score is not None and t.score > worst}
    assert left <= {fingerprint(parse(text)) for text in again}
    assert [*test] == ["relu(x)", *(row["function"] for row in best)]
    assert {len(values) for values in test.values()} == {4}
    assert told.stages == [
        *(("baseline", 0, 3), ("search", 0, 60)),
        *(("rerank", 0, 20), ("test", 0, 16)),
    ]
    kinds = {(r.wanted.stage, r.wanted.budget, r.wanted.part) for r in told.runs}
    assert kinds == {
        *{("baseline", 2, "validation"), ("search", 2, "validation")},
        *{("rerank", 4, "validation"), ("test", 4, "test")},
    }


def breaking(stage: str, job: Job) -> Result:
    """What is wrong with the machine shows in one stage alone."""
    return failing("exception", job) if job.stage == stage else instant(job)


def validating(job: Job) -> Result:
    """Tests tell a validation score too."""
    result = instant(job)
    return (
        result | {"values": {"validation": result["score"] / 2}} if job.part == "test" else result
    )


def test_a_test_that_not_even_the_baseline_passes_stops_the_search_and_is_made_up_for(
    path: Path,
) -> None:
    with created(path, **SMALL | {"rerank": True, "rounds": "4", "runs": 4}) as study:
        with pytest.raises(PangaeaError, match=r"cannot be tested on mnist1d \(exception: so it"):
            run(study, partial(breaking, "test"))
        tested = study.scores("test")
        assert {score for scores in tested.values() for score in scores} == {None}
        assert sum(map(len, tested.values())) == 10  # of 16
        before = study.last
        run(study)
        tests = study.runs("test")
        assert study.last == before + 16  # no position is a second result's
    assert len(tests) == len({run["seed"] for run in tests}) == 16
    assert not any(run["failure"] for run in tests)


def breaking_after(most: int, job: Job, seen: list[Job]) -> Result:
    """The machine breaks in the middle of the test, for good."""
    seen += [job] * (job.stage == "test")
    return failing("exception", job) if len(seen) > most else instant(job)


@pytest.mark.parametrize(("most", "tested", "runs"), [(4, 3, 10), (8, 3, 10), (1, 19, 2)])
def test_a_machine_that_breaks_in_the_middle_of_the_test_stops_the_search(
    path: Path, most: int, tested: int, runs: int
) -> None:
    given = {"rerank": True, "rounds": "4", "runs": runs, "tested": tested, "candidates": 60}
    with created(path, **SMALL | given) as study:
        with pytest.raises(PangaeaError, match="cannot be trained on mnist1d"):
            run(study, partial(breaking_after, most, seen=[]))
        assert len(study.runs("test")) < 40
        run(study)
        tests = study.runs("test")
    assert len(tests) == 40
    assert not any(run["failure"] for run in tests)


class NoTime(Unlimited):
    """There is time for so many further runs."""

    def __init__(self, runs: int) -> None:
        self.runs = runs

    def fits(self, *_: Any) -> bool:
        self.runs -= 1
        return self.runs > 0


def test_that_there_is_no_time_to_try_again_is_no_fault_of_the_baseline(path: Path) -> None:
    with created(path, **SMALL | {"rerank": True, "rounds": "4", "runs": 4}) as study:
        with pytest.raises(PangaeaError, match="cannot be tested"):
            run(study, partial(breaking, "test"))
        Search(study, runner(study, instant), NoTime(0)).run()
        assert len(study.failed(["test"], OUTSIDE)) == 10
        study.change(replace(study.settings, runs=0, rounds="4,4"))  # no test is wanted any more
        run(study)
        assert len(study.runs("rerank")) == 8


def test_what_failed_is_tried_again_although_fewer_runs_are_wanted_now(path: Path) -> None:
    with created(path, **SMALL | {"rerank": True, "rounds": "4", "runs": 6}) as study:
        run(study, lambda job: breaking("test", job) if job.seed % 3 == 0 else instant(job))
        assert len(study.failed(["test"], OUTSIDE)) > 5
        study.change(replace(study.settings, runs=2))
        run(study)
        assert not study.failed(["test"], OUTSIDE)
        assert len(study.runs("test")) == 24


def test_what_failed_counts_until_it_has_been_tried_again(path: Path) -> None:
    """Time may be over before it is, and then it is as bad as it was."""
    with created(path, **SMALL | {"rerank": True, "rounds": "4", "runs": 6}) as study:
        run(study, lambda job: breaking("test", job) if job.seed % 3 == 0 else instant(job))
        before, failed = study.best(3), study.failed(["test"], OUTSIDE)
        assert 5 < len(failed) < 20
        for runs in (0, 5):
            Search(study, runner(study, instant), NoTime(runs)).run()
            tests = study.runs("test")
            assert len(tests) == 24
            tried = len(failed) - len(study.failed(["test"], OUTSIDE))
            assert bool(runs) <= tried <= runs
            assert study.settings.runs == 6
            if not runs:
                assert study.best(3) == before
        told = Telling()
        left = len(study.failed(["test"], OUTSIDE))
        run(study, watch=told)
        assert ("test", 24 - left, 24) in told.stages
        assert not study.failed(["test"], OUTSIDE)


def test_when_all_that_is_trained_again_fails_the_baseline_is_tried(path: Path) -> None:
    told = Telling()
    with created(path, **SMALL | {"rerank": True, "runs": 1}) as study:
        run(study, partial(breaking, "rerank"), watch=told)
        assert len(study.runs("baseline")) > 3
        again = study.scores("rerank")
    assert {score for scores in again.values() for score in scores} == {None}
    assert ("baseline", 3, 4) in told.stages


def test_a_diverged_run_is_a_result_that_stays(path: Path) -> None:
    with created(path, **SMALL | {"rerank": True, "rounds": "4", "runs": 2}) as study:
        run(study, lambda job: failing("diverged", job) if job.stage == "test" else instant(job))
        before = study.runs("test")
        run(study)
        assert study.runs("test") == before
        assert len(before) == 8


def test_testing_fewer_from_now_on_forgets_no_test(path: Path) -> None:
    displaced = 0
    for seed in range(4):
        given = SMALL | {"rerank": True, "rounds": "6,6", "runs": 3, "seed": seed}
        with created(path.with_name(f"{seed}.study"), **given) as study:
            run(study, validating)
            before = study.best(3)
            displaced += contest(study, top(study.trials(), 6))[0][0] != before[0]["function"]
            study.change(replace(study.settings, tested=1))
            run(study, validating)
            assert study.best(3) == before
    assert displaced


def test_as_many_of_the_best_are_tested_as_somebody_says(path: Path) -> None:
    told = Telling()
    given = {"rerank": True, "rounds": "4,4", "runs": 2, "tested": 1, "candidates": 60}
    with created(path, **SMALL | given) as study:
        run(study, watch=told)
        (first,) = study.best(1)
        assert [*study.scores("test")] == ["relu(x)", first["function"]]
        study.change(replace(study.settings, tested=5))
        run(study, watch=told)
        test, best = study.scores("test"), study.best(5)
    assert [*test] == ["relu(x)", *(row["function"] for row in best)]
    assert {len(values) for values in test.values()} == {2}
    tests = [stage for stage in told.stages if stage[0] == "test"]
    assert tests == [("test", 0, 4), ("test", 4, 12)]


def test_round_by_round_fewer_are_trained_again(path: Path) -> None:
    told = Telling()
    given = {"rerank": True, "rounds": "8,4,4,2,2", "candidates": 60, "runs": 1}
    with created(path, **SMALL | given) as study:
        run(study, watch=told)
        again, rows = study.scores("rerank"), study.best(8)
    assert sorted(map(len, again.values()), reverse=True) == [5, 5, 3, 3, 1, 1, 1, 1]
    lengths = [len(again[row["function"]]) for row in rows]
    assert {*lengths[:3]} == {5, 3}  # the tested ones
    assert lengths[3:] == sorted(lengths[3:], reverse=True)
    stages = [stage for stage in told.stages if stage[0] == "rerank"]
    assert stages == [("rerank", 0, 20), ("rerank", 8, 20), ("rerank", 16, 20)]
    for row in rows:
        scores = [score for score in again[row["function"]] if score is not None]
        assert row["reranked"] == pytest.approx(fmean(scores))
        assert row["believed"] == pytest.approx(fmean(scores[3:] or scores))


def test_rounds_may_have_budgets_and_the_largest_decides(path: Path) -> None:
    told = Telling()
    given = {"rerank": True, "rounds": "8@1,4@3,4@3,2,2", "candidates": 60, "runs": 1}
    with created(path, **SMALL | given) as study:
        full = study.task["budgets"]["full"]
        run(study, watch=told)
        runs, rows, validations = study.runs("rerank"), study.best(8), study.validations()
    assert [r["budget"] for r in runs] == [1] * 8 + [3] * 8 + [full] * 4
    assert len({r["seed"] for r in runs}) == 20
    stages = [stage for stage in told.stages if stage[0] == "rerank"]
    assert stages == [("rerank", 0, 20), ("rerank", 8, 20), ("rerank", 16, 20)]
    scores: dict[str, dict[int, list[float]]] = {}
    for r in runs:
        scores.setdefault(r["function"], {}).setdefault(r["budget"], []).append(r["score"])

    def best(functions: Iterable[str], budget: int, count: int) -> set[str]:
        means = {text: fmean(scores[text][budget]) for text in functions}
        return {*sorted(means, key=means.__getitem__, reverse=True)[:count]}

    four = best(scores, 1, 4)
    assert four == {text for text in scores if 3 in scores[text]}
    assert best(four, 3, 2) == {text for text in scores if full in scores[text]}
    for row in rows:
        text, last = row["function"], max(scores[row["function"]])
        assert row["reranked"] == row["believed"] == pytest.approx(fmean(scores[text][last]))
        assert validations.get(text) == scores[text].get(full)  # these tests tell no validation
        assert (row["validation"] is None) == (text not in validations)


@pytest.mark.parametrize("most", [4, 34, 36, 40, 46, 51, 54, 58])
@pytest.mark.parametrize("rounds", ["8,4,4,2,2", "8@1,4@3,4@3,2,2"])
def test_rounds_that_were_interrupted_end_as_uninterrupted_ones(
    tmp_path: Path, rounds: str, most: int
) -> None:
    given = {"rerank": True, "rounds": rounds, "runs": 2, "seeds": "common"}
    ends = []
    for name, interruptions in (("whole", 0), ("parts", 1)):
        with created(tmp_path / name, **SMALL | given) as study:
            if interruptions:
                with pytest.raises(KeyboardInterrupt):
                    run(study, stopping(failing_sometimes, most))
        with Study.resume(tmp_path / name) as study:
            run(study, failing_sometimes)
            same = ("stage", "candidate", "function", "budget", "seed", "score", "failure")
            ends.append([[row[name] for name in same] for row in study.runs()])
    assert ends[0] == ends[1]


def test_no_two_runs_share_a_seed_between_functions_or_stages(path: Path, promoting: str) -> None:
    given = SMALL | {"rerank": True, "runs": 4, "candidates": 60, "strategy": promoting}
    with created(path, **given) as study:
        run(study)
        runs = study.runs()
    assert {row["stage"] for row in runs} == {*STAGES} - {"general", "evaluation", "paper"}
    assert len(runs) == 3 + 60 + 20 + 16
    assert len({row["seed"] for row in runs}) == len(runs)
    assert all(0 <= row["seed"] < 2**31 for row in runs)  # what any generator takes


def test_common_seeds_are_shared_by_what_is_compared_and_by_no_test(
    path: Path, promoting: str
) -> None:
    given = SMALL | {"rerank": True, "runs": 4, "candidates": 60, "strategy": promoting}
    with created(path, **given, seeds="common") as study:
        run(study)
        runs = study.runs()
    seeds: dict[tuple[str, int, int], list[int]] = {}
    for row in runs:
        key = row["stage"], row["candidate"] or 0, row["budget"]
        seeds.setdefault(key, []).append(row["seed"])
    # A function has no seed twice, and its runs have the same seeds as another's.
    assert all(len({*some}) == len(some) for some in seeds.values())
    for proposed in (("search", "promotion"), ("rerank",)):
        compared = [(key[2], frozenset(some)) for key, some in seeds.items() if key[0] in proposed]
        assert len(compared) > 5
        for budget, some in compared:
            for other_budget, others in compared:
                if budget == other_budget:
                    assert some <= others or others <= some
                else:
                    assert some.isdisjoint(others)
    tests = [row["seed"] for row in runs if row["stage"] == "test"]
    assert len({*tests}) == len(tests) == 16
    assert {*tests}.isdisjoint(row["seed"] for row in runs if row["stage"] != "test")


def test_another_study_seed_gives_other_seeds_everywhere(tmp_path: Path) -> None:
    seeds: list[set[int]] = []
    for seed in (0, 1):
        with created(tmp_path / str(seed), **SMALL | {"rerank": True, "runs": 2}, seed=seed) as one:
            run(one)
            seeds.append({row["seed"] for row in one.runs()})
    assert seeds[0].isdisjoint(seeds[1])


@pytest.mark.parametrize("validated", [True, False])
def test_who_wins_the_rounds_is_first_unless_the_test_has_validation_scores(
    path: Path, validated: bool
) -> None:
    def judged(job: Job) -> Result:
        result = instant(job)
        if job.stage == "test" and validated:
            result["values"] = {"validation": result["score"]}
        return result

    displaced = 0
    for seed in range(6):
        given = {"candidates": 20, "population": 5, "sample": 3, "runs": 2, "rounds": "8,4,2,1"}
        with created(path.with_name(f"{seed}.study"), seed=seed, **given) as study:
            run(study, judged)
            winner = contest(study, top(study.trials(), 8))[0][0]
            displaced += study.best(1)[0]["function"] != winner
    assert (displaced > 0) is validated


def test_a_budget_that_is_set_is_of_the_search_alone(path: Path) -> None:
    with created(path, **SMALL | {"rerank": True, "runs": 1}, budget=3) as study:
        run(study)
        budgets = {(row["stage"], row["budget"]) for row in study.runs()}
    assert budgets == {("baseline", 3), ("search", 3), ("rerank", 4), ("test", 4)}


def test_a_finished_study_is_left_as_it_is(path: Path) -> None:
    with created(path, **SMALL | {"rerank": True, "runs": 2}) as study:
        run(study)
        before = study.table(), study.runs()
        told = Telling()
        run(study, partial(failing, "exception"), watch=told)
        assert (study.table(), study.runs()) == before
    assert (told.stages, told.runs) == ([], [])

"""A look at candidates early in their training: what is behind the others goes no further."""

from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import pytest

import pangaea as pg
from pangaea.errors import PangaeaError
from pangaea.study.stages import SEARCH
from pangaea.study.study import Study
from pangaea.training.how import How
from pangaea.workers.judge import Job, Result, failed
from tests.study.judges import instant
from tests.study.making import created
from tests.study.searching import SMALL, run, stopping


def watched(job: Job) -> Result:
    """What `instant` gives, having been looked at as a training is."""
    early = Random(job.function).uniform(0, 1)
    result = instant(job) | {"curves": {"validation": {job.how.look: early}}}
    if job.how.least is not None and early < job.how.least:
        return result | {"score": None} | failed("behind", f"{early} < {job.how.least}")
    return result


def test_those_behind_half_of_the_others_are_stopped_and_do_not_breed(path: Path) -> None:
    jobs: list[Job] = []

    def listening(job: Job) -> Result:
        jobs.append(job)
        return watched(job)

    given = SMALL | {"candidates": 120, "rerank": True, "rounds": "4", "runs": 1, "discard": 0.5}
    with created(path, **given) as study:
        run(study, listening)
        stopped = [row["number"] for row in study.table() if row["failure"] == "behind"]
        parents = {row["parent"] for row in study.table()}
    assert min(stopped) > 20  # the first ones are trained to their end, so that there are others
    assert 30 < len(stopped) < 70
    assert parents.isdisjoint(stopped)
    looked = [job for job in jobs if job.how.look]
    assert {job.stage for job in looked} == {SEARCH.name}
    assert len(looked) == 120
    early = [Random(job.function).uniform(0, 1) for job in looked]
    assert looked[19].how.least is None
    for n in (20, 60, 119):
        assert looked[n].how.least == sorted(early[:n])[n // 2]


@pytest.mark.parametrize("most", [4, 23, 31, 45])
def test_an_interrupted_search_stops_the_same_candidates(tmp_path: Path, most: int) -> None:
    ends = []
    for name, interrupted in (("whole", False), ("parts", True)):
        with created(tmp_path / name, **SMALL | {"candidates": 60, "discard": 0.7}) as study:
            if interrupted:
                with pytest.raises(KeyboardInterrupt):
                    run(study, stopping(watched, most))
        with Study.resume(tmp_path / name) as study:
            run(study, watched)
            ends.append([(r["function"], r["score"], r["failure"]) for r in study.runs()])
    assert ends[0] == ends[1]
    assert any(failure == "behind" for _, _, failure in ends[0])


def test_without_a_word_nobody_is_looked_at(path: Path) -> None:
    jobs: list[Job] = []
    with created(path, **SMALL) as study:
        run(study, lambda job: jobs.append(job) or instant(job))  # type: ignore[func-returns-value]
    assert {(job.how.look, job.how.least) for job in jobs} == {(0, None)}


def test_a_look_changes_nothing_in_a_training_that_goes_on() -> None:
    task = pg.task("mnist1d")
    how = How(device="cpu")
    (plain,) = task.train_seeds("swish", None, 4, [7], "validation", lambda share: None, how)
    looks = [replace(how, look=2, least=least) for least in (None, 0.0, 100.0)]
    first, second, third = (
        task.train_seeds("swish", None, 4, [7], "validation", lambda share: None, look)[0]
        for look in looks
    )
    assert first.score == second.score == plain.score
    assert set(first.validation) == {2, *plain.validation}
    assert (third.score, third.failure, len(third.loss)) == (None, "behind", 2)
    assert third.detail == f"{first.validation[2]:.2f} after 2 epochs, less than 100.00"


def test_a_task_that_says_nothing_before_its_end_is_refused(tmp_path: Path) -> None:
    def train(activation: Any, budget: int, seed: int, part: str) -> float:
        return 1.0

    own = pg.Task("own", train, goal=pg.maximize("score"), budgets={"search": 1, "full": 2})
    for task in (own, "tabular"):
        with pytest.raises(PangaeaError, match="says nothing of a run before its end"):
            pg.search(task, study=tmp_path / "a.study", discard=0.5, workers=0)
    with pytest.raises(PangaeaError, match="discard must be at most"):
        pg.search("mnist1d", study=tmp_path / "a.study", discard=1.0, workers=0)
    assert not [*tmp_path.iterdir()]


def test_a_strangers_curves_are_no_scores(path: Path) -> None:
    def odd(job: Job) -> Result:
        curve: Any = [{"1": "x"}, {"1": None}, 3, {"1": 0.5}][job.run % 4]
        return instant(job) | {"curves": {"validation": curve}}

    with created(path, **SMALL | {"candidates": 40, "discard": 0.5}) as study:
        run(study, odd)
        study.change(replace(study.settings, candidates=45))
    with Study.resume(path) as study:
        run(study, odd)
        assert len(study.trials()) == 45

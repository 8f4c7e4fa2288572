"""What the search loop relies on in an engine."""

import math
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from pangaea.study.settings import flat
from pangaea.study.study import Study, Wanted
from pangaea.tasks.finding import task
from pangaea.testing import judges
from pangaea.training.how import How
from pangaea.workers.engine import Engine
from pangaea.workers.judge import Job, Judge, Result
from pangaea.workers.judge import judge as real

Make = Callable[[Judge], Engine]
_PATIENCE_SECONDS = 60.0


def job(number: int = 1, seed: int = 7, limit: float | None = None) -> Job:
    return Job(
        run=number,
        stage="search",
        task="mnist1d",
        function="relu(x)",
        scope=None,
        budget=1,
        seed=seed,
        part="validation",
        limit=limit,
        how=How(),
        checkpoints="",
    )


def ended(engine: Engine, *jobs: Job) -> list[tuple[Job, Result]]:
    """Submit, and wait for all of them."""
    engine.submit(jobs)
    deadline = time.monotonic() + _PATIENCE_SECONDS
    pairs: list[tuple[Job, Result]] = []
    while engine.running:
        assert time.monotonic() < deadline, f"{engine.running} of {len(jobs)} jobs are not done"
        pairs += engine.wait(0.1)
    return pairs


def finished(engine: Engine, *jobs: Job) -> dict[int, Result]:
    """The results by the numbers of their runs."""
    return {one.run: result for one, result in ended(engine, *jobs)}


class EngineContract:
    """Subclass it with a fixture `make`, which gives an engine for a judge."""

    @pytest.fixture
    def make(self) -> Make:
        raise NotImplementedError("a fixture `make` gives the engine: return MyEngine")

    def test_a_job_gives_its_result(self, make: Make) -> None:
        result = finished(make(judges.instant), job(1, 3))[1]
        assert result["score"] == judges.instant(job(1, 3))["score"]
        assert {"seconds", "started", "finished", "worker"} <= result.keys()

    def test_every_job_comes_back_once(self, make: Make) -> None:
        engine = make(judges.instant)
        jobs = [job(number, seed=number) for number in range(20)]
        assert engine.slots() >= 1
        assert engine.running == 0
        pairs = ended(engine, *jobs)
        assert sorted((one for one, _ in pairs), key=lambda one: one.run) == jobs
        for one, result in pairs:
            assert result["score"] == judges.instant(one)["score"]

    def test_jobs_are_running_until_they_are_handed_back(self, make: Make) -> None:
        engine = make(judges.instant)
        engine.submit([job(1), job(2)])
        assert engine.running == 2
        engine.submit([job(3)])
        assert engine.running == 3
        assert len(ended(engine)) == 3

    def test_an_error_of_the_judge_is_a_result(self, make: Make) -> None:
        result = finished(make(judges.raising), job())[1]
        assert (result["failure"], result.get("score")) == ("exception", None)
        assert result["detail"] == "RuntimeError: this judge has a bad day"
        assert {"seconds", "started", "finished"} <= result.keys()

    @pytest.mark.parametrize("name", judges.NONSENSE)
    def test_nonsense_is_a_failure_with_its_reason(
        self, make: Make, name: str, tmp_path: Path
    ) -> None:
        result = finished(make(partial(judges.nonsense, name)), job())[1]
        assert result.get("score") is None
        assert isinstance(result["failure"], str)
        assert judges.NONSENSE[name][1] in f"{result['failure']}: {result.get('detail')}"
        about = task("mnist1d").about()
        wanted = Wanted("test", None, "relu(x)", "mnist1d", None, 1, 0, "test")
        with Study.create(tmp_path / "a.study", flat({}), about) as study, study.transaction():
            study.record(study.ask(wanted).number, result)  # it can be recorded

    def test_curves_may_hold_what_is_no_number(self, make: Make) -> None:
        """Parameters may overflow in the very step before a run diverges."""
        result = finished(make(judges.overflowing), job())[1]
        assert (result["failure"], result["detail"]) == ("diverged", "the loss was inf")
        assert math.isnan(result["curves"]["parameters"]["alpha"][1][0])
        assert result["values"] == {"validation": 3.0}

    def test_long_results_arrive_whole(self, make: Make) -> None:
        results = finished(make(judges.long_winded), job(1), job(2))
        assert [len(result["curves"]["loss"]) for result in results.values()] == [5000, 5000]

    def test_training_stops_by_itself_at_its_limit(self, make: Make) -> None:
        assert finished(make(real), job(limit=1e-6))[1]["failure"] == "time limit"

    def test_real_training_gives_score_curves_and_what_it_cost(self, make: Make) -> None:
        result = finished(make(real), job()._replace(part="test"))[1]
        assert result["failure"] is None
        assert 0 <= result["score"] <= 100
        assert result["values"].keys() == {"validation"}
        assert {len(result["curves"][name]) for name in ("loss", "training", "validation")} == {1}
        assert result["seconds"] > 0

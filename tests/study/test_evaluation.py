"""Functions judged side by side: on workers as in this process, kept, and never lost."""

from pathlib import Path
from typing import Any, NoReturn

import pytest

import pangaea as pg
from pangaea.errors import PangaeaError
from pangaea.paper import lines
from pangaea.study import evaluation
from pangaea.study.evaluation import Comparison
from pangaea.study.stages import EVALUATION
from pangaea.study.study import Study
from pangaea.tasks.evaluate import own_seeds
from pangaea.testing.judges import instant, raising
from pangaea.training.how import How
from pangaea.workers.judge import Job, Judge, Result
from pangaea.workers.place import Place

HERE = Place(workers=0)


def test_workers_find_what_this_process_finds() -> None:
    given: dict[str, Any] = {"runs": 2, "epochs": 2, "seed": 5}
    heard: list[float] = []
    here = pg.evaluate("alpha*swish(x)", "mnist1d", **given)
    there = pg.evaluate("alpha*swish(x)", "mnist1d", **given, workers=2, progress=heard.append)
    assert heard == [0.5, 1.0]
    for one, other in zip(here.results, there.results, strict=True):
        one.seconds = other.seconds = 0.0
        one.peak_memory = other.peak_memory = 0
        assert one == other
    assert there.scores == here.scores


def test_what_was_interrupted_goes_on_and_repeats_nothing(tmp_path: Path) -> None:
    jobs: list[Job] = []

    def dying(job: Job) -> Result:
        if len(jobs) == 5:
            raise KeyboardInterrupt
        jobs.append(job)
        return instant(job)

    asked = Comparison(["relu", "swish"], runs=4)
    with pytest.raises(KeyboardInterrupt):
        asked.run(HERE, How(), tmp_path, judge=dying)
    assert [len(e.results) for e in asked.evaluations] == [4, 1]
    again = Comparison(["relu", "swish"], runs=4)
    again.run(HERE, How(), tmp_path, judge=lambda job: jobs.append(job) or instant(job))  # type: ignore[func-returns-value]
    assert [len(e.results) for e in again.evaluations] == [4, 4]
    assert len({(job.function, job.seed) for job in jobs}) == len(jobs) == 8
    for one in again.evaluations:
        assert [r.seed for r in one.results] == own_seeds(0, one.function, 4)
    Comparison(["swish", "relu"], runs=4).run(HERE, How(), tmp_path, judge=raising)


@pytest.mark.parametrize(
    "other", [{"seed": 1}, {"scope": "layer"}, {"epochs": 3}, {"data": "validation"}]
)
def test_another_question_is_not_answered_by_old_runs(
    tmp_path: Path, other: dict[str, Any]
) -> None:
    Comparison(["relu"], runs=2).run(HERE, How(), tmp_path, judge=instant)
    asked = Comparison(["relu"], **{"runs": 2, **other})
    asked.run(HERE, How(), tmp_path, judge=instant)
    files = [*tmp_path.glob("*.study")]
    assert len(files) == 2
    for file in files:
        with Study.open(file) as study:
            assert len(study.runs(EVALUATION.name)) == 2


def test_every_run_says_which_command_makes_it_again(tmp_path: Path) -> None:
    for functions, runs in ((["relu"], 1), (["relu", "swish"], 2), (["relu", "swish"], 2)):
        Comparison(functions, runs=runs, epochs=3, scope="layer").run(
            HERE, How(precision="fp32"), tmp_path, judge=instant
        )
    (file,) = tmp_path.glob("*.study")
    known = lines.read(file)
    commands = [line["command"] for line in known]
    rest = "--budget 3 --data test --scope layer --precision fp32 --seed 0 --workers 0"
    first = f"pangaea evaluate 'relu(x)' --task mnist1d --runs 1 {rest}"
    both = f"pangaea evaluate 'relu(x)' 'swish(x)' --task mnist1d --runs 2 {rest}"
    assert commands == [first, both, both, both]
    assert all(line["versions"]["pangaea"] and line["recipe"]["epochs"] == 3 for line in known)
    with Study.open(file) as study:
        assert len(study.noted("sources")) == 2


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"data": "tset"}, "did you mean test"),
        ({"scope": "chanel"}, "did you mean channel"),
        ({"runs": 0}, "at least one run"),
        ({"recipe": "ful"}, "did you mean full"),
        ({"task": "mnist2d"}, "did you mean mnist1d"),
        ({"functions": ["rleu"]}, "did you mean"),
    ],
)
def test_a_mistake_is_said_before_anything_is_trained(given: dict[str, Any], sentence: str) -> None:
    with pytest.raises(PangaeaError, match=sentence):
        Comparison(**{"functions": ["relu"], **given})


@pytest.mark.parametrize(("runs", "workers"), [(1, None), (2, 2), (3, 3), (20, 8)])
def test_where_nobody_says_there_are_as_many_workers_as_cores_have_runs(
    runs: int, workers: int | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[int | None] = []

    def engine(judge: Judge, place: Place) -> NoReturn:
        asked.append(place.workers)
        raise KeyboardInterrupt

    monkeypatch.setattr(evaluation, "cores", lambda: 8)
    monkeypatch.setattr(evaluation, "engine", engine)
    comparison, how = Comparison(["relu"], runs=runs), How(device="cpu")
    assert comparison.belongs_here(Place(), how) == (workers is None)
    if workers is not None:
        with pytest.raises(KeyboardInterrupt):
            comparison.run(Place(), how, tmp_path, judge=instant)
        assert asked == [workers]


def test_workers_get_their_gpus_by_their_place(tmp_path: Path) -> None:
    with pytest.raises(PangaeaError, match="--gpus"):
        Comparison(["relu"]).run(Place(workers=2), How(device="cuda"), tmp_path, judge=raising)


def test_a_folder_that_takes_no_checkpoints_is_said_at_once(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("")
    for task in ("mnist1d", "wrn-10-4/cifar100"):
        with pytest.raises(PangaeaError, match=r"no checkpoints can be kept in .*/file/inside"):
            pg.train(task, "relu", checkpoints=file / "inside")
    with pytest.raises(PangaeaError, match="no checkpoints can be kept"):
        Comparison(["relu"]).run(HERE, How(), file / "inside", judge=raising)

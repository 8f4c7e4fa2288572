"""A dry run before a search on one's own task, and all that a search does with such a task."""

import os
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

import pangaea as pg
from pangaea.errors import PangaeaError
from pangaea.study.dry_run import duration
from pangaea.study.general import general
from pangaea.study.runner import Watch
from pangaea.study.study import Run, Study
from pangaea.tasks.own import OwnTask
from pangaea.workers.judge import Result
from tests.study.fixtures import ByHand
from tests.study.making import created

SMALL: dict[str, Any] = {"candidates": 3, "runs": 1, "population": 2, "sample": 1}
GOAL = pg.minimize("error")
X = torch.linspace(-2, 2, 32).unsqueeze(1)

FILE = """
import pangaea as pg
import torch

x = torch.linspace(-2, 2, 32)

def train(activation, budget, seed):
    y = activation(shape=1, channel_dim=1)(x.unsqueeze(1)).squeeze(1)
    return {SCORE}

task = pg.Task("mine", train, goal=pg.{GOAL}, budgets={"search": 2, "full": 3})
"""
ERROR = "(y - x.abs()).square().mean() + 1e-3 * seed / 2**31 + 1 / budget"


def written(folder: Path, score: str = ERROR, goal: str = "minimize('error')") -> str:
    file = folder / "their_task.py"
    file.write_text(FILE.replace("{SCORE}", score).replace("{GOAL}", goal))
    return f"{file}:task"


def error(activation: Any, budget: int, seed: int) -> float:
    """How far the function itself is from |x|: a task that takes no time."""
    far = nn.functional.mse_loss(activation(shape=1)(X), X.abs())
    return far.item() + 1e-3 * seed / 2**31 + 1 / budget


def task(train: Callable[..., Any] = error, **more: Any) -> OwnTask:
    return pg.Task("mine", train, **{"goal": GOAL, "budgets": {"search": 2, "full": 3}} | more)


def searched(on: OwnTask | str, path: Path, **changes: Any) -> Study:
    return pg.search(on, study=path, **SMALL | {"workers": 0} | changes)


class Notes(Watch):
    def __init__(self, stop_after: int | None = None) -> None:
        self.notes: list[str] = []
        self.results, self.stop_after = 0, stop_after

    def note(self, text: str) -> None:
        self.notes.append(text)

    def result(self, study: Study, run: Run, result: Result) -> None:
        self.results += 1
        if self.results == self.stop_after:
            raise KeyboardInterrupt


def refused(train: Callable[..., Any], path: Path, words: str, **changes: Any) -> str:
    """A search is refused before there is a study."""
    with pytest.raises(PangaeaError, match=words) as caught:
        searched(task(train), path, **changes)
    assert [*path.parent.iterdir()] == []
    return str(caught.value)


# What it finds.


def test_an_error_is_shown_with_their_lines_alone(path: Path) -> None:
    def train(activation: Any, budget: int, seed: int) -> float:
        return activation() / 0  # type: ignore[no-any-return]

    message = refused(train, path, "the task mine cannot be searched on")
    assert "train failed with relu(x)" in message
    assert "in train" in message
    assert "TypeError" in message
    assert f"{os.sep}pangaea{os.sep}" not in message


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (float("nan"), r"diverged: the error was nan"),
        ("0.5", "no score: train returned '0.5' as the error, which is not a number"),
        (None, "train returned nothing as the error"),
        ({"accuracy": 3.0}, "a dict without 'score'"),
    ],
)
def test_what_is_no_score_is_a_sentence(answer: Any, words: str, path: Path) -> None:
    refused(lambda activation, budget, seed: answer, path, words)


def test_a_function_that_is_not_used_is_noticed(path: Path) -> None:
    def train(activation: Any, budget: int, seed: int) -> float:
        return 0.25 + seed / budget

    refused(train, path, r"scores 0\.2500 with relu\(x\) and with zero\(x\), alike to the last")


def test_scores_that_are_alike_by_chance_after_a_unit_are_not(path: Path) -> None:
    def coarse(activation: Any, budget: int, seed: int) -> float:
        return 0.5 if budget == 1 else round(error(activation, budget, seed), 3)

    searched(task(coarse), path).close()


def test_an_error_with_the_other_function_alone_is_found_but_divergence_is_not_one(
    path: Path,
) -> None:
    def needing_no_parameters(activation: Any, budget: int, seed: int) -> float:
        if len(list(activation(shape=1).parameters())) > 0:
            raise ValueError("who made these?")
        return error(activation, budget, seed)

    def diverging(activation: Any, budget: int, seed: int) -> float:
        return error(activation, budget, seed) if "relu" in activation.function else float("inf")

    refused(needing_no_parameters, path, r"(?s)dry run with tanh.*who made these\?")
    searched(task(diverging), path).close()


def test_without_it_the_study_is_begun(path: Path) -> None:
    with pytest.raises(PangaeaError, match="the baseline relu"):
        searched(task(lambda activation, budget, seed: None), path, dry_run=False)
    assert path.exists()


def test_a_study_that_exists_is_said_before_anything_is_trained(path: Path) -> None:
    created(path).close()
    with pytest.raises(PangaeaError, match="exists: go on with"):
        searched(task(lambda activation, budget, seed: 1 / 0), path)


def test_a_built_in_task_needs_none(path: Path) -> None:
    watch = Notes()
    pg.search(
        "mnist1d",
        study=path,
        budget=1,
        watch=watch,
        rerank=False,
        workers=0,
        **SMALL | {"candidates": 1, "runs": 0},
    ).close()
    assert watch.notes == []


# What it tells.


def test_how_long_it_will_take_follows_from_the_runs(path: Path) -> None:
    clock = iter([9.0, 9.0, 0.2, 0.3])

    class Timed(OwnTask):
        def train(self, *given: Any, **more: Any) -> Any:
            result = super().train(*given, **more)
            result.seconds = next(clock, 0.0)
            return result

    watch = Notes()
    on = Timed("mine", error, goal=GOAL, budgets={"search": 2, "full": 4})
    searched(on, path, watch=watch, candidates=7, runs=5, against="swish, prelu").close()
    # 7 candidates and 3 baselines; 20 and 30 runs of twice the budget: 110 times 0.3 s.
    assert watch.notes == [
        "the dry run found nothing wrong with mine; the search will take about 33 seconds on "
        "1 worker"
    ]


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0.1, "about 1 second"),
        (80, "about 80 seconds"),
        (90, "about 2 minutes"),
        (700, "about 12 minutes"),
        (3600 * 5 - 1, "about 5 hours"),
        (3600 * 24 * 3, "about 3 days"),
    ],
)
def test_durations_are_told_as_people_do(seconds: float, text: str) -> None:
    assert duration(seconds) == text


def test_python_is_told_too(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    searched(task(), path).close()
    assert "the search will take about" in capsys.readouterr().err


# The search itself.


def test_a_file_is_searched_on_interrupted_and_resumed(tmp_path: Path) -> None:
    place, path = written(tmp_path), tmp_path / "a.study"
    with pytest.raises(KeyboardInterrupt):
        searched(place, path, watch=Notes(stop_after=4))
    with pg.resume(path, workers=0) as study:
        assert len(study.table()) == 3
        assert study.settings.task == place
        assert {run["function"] for run in study.runs("test")} >= {"relu(x)"}
        means = [row["reranked"] for row in study.best(3)]
        assert means == sorted(means)


def test_a_file_that_was_moved_is_named_once_more(tmp_path: Path) -> None:
    before, after = tmp_path / "before", tmp_path / "after"
    before.mkdir()
    place, path = written(before), tmp_path / "a.study"
    with pytest.raises(KeyboardInterrupt):
        searched(place, path, watch=Notes(stop_after=8))
    before.rename(after)
    with pytest.raises(PangaeaError, match=r"no such file.*if it was moved.*--task FILE:NAME"):
        pg.resume(path, workers=0)
    moved = f"{after}/their_task.py:task"
    with pg.resume(path, task=moved, workers=0) as study:
        assert study.settings.task == moved
        assert {run["task"] for run in study.runs()} == {moved}
        reranked = [run["seed"] for run in study.runs("rerank")]
        assert len(reranked) == 2 * len(study.best(10))  # none again
    pg.resume(path, workers=0).close()  # which finds it from now on


def test_an_object_may_have_got_a_file(tmp_path: Path) -> None:
    place, path = written(tmp_path), tmp_path / "a.study"
    with pytest.raises(KeyboardInterrupt):
        searched(task(), path, watch=Notes(stop_after=4))
    pg.resume(path, task=place, workers=0).close()
    with pg.resume(path, workers=0) as study:
        assert study.settings.task == place


def test_workers_are_given_files_and_objects(tmp_path: Path) -> None:
    more = {"candidates": 2, "workers": 2, "rerank": False, "runs": 0}
    with searched(written(tmp_path), tmp_path / "a.study", **more) as study:
        by_file = {run["function"]: run["score"] for run in study.runs("baseline")}
    assert all(score is not None for score in by_file.values())
    loader = DataLoader(TensorDataset(X), batch_size=32, num_workers=1)

    def train(activation: Any, budget: int, seed: int) -> dict[str, float]:
        ((x,),) = loader  # which a process of its own brings
        far = nn.functional.mse_loss(activation(shape=1)(x), x.abs())
        return {"score": far.item(), "process": os.getpid()}

    with searched(task(train), tmp_path / "b.study", **more) as study:
        processes = {run["values"]["process"] for run in study.runs()}
    assert os.getpid() not in processes


def test_an_object_is_wanted_again_on_resume(path: Path) -> None:
    with pytest.raises(KeyboardInterrupt):
        searched(task(), path, watch=Notes(stop_after=4))
    with pytest.raises(PangaeaError, match="the task mine, which stands in no file"):
        pg.resume(path, workers=0)
    with pg.resume(path, task=task(), workers=0) as study:
        assert [run["failure"] for run in study.runs()] == [None] * len(study.runs())


def test_a_task_that_has_changed_since_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.study"
    with pytest.raises(KeyboardInterrupt):
        searched(task(), path, watch=Notes(stop_after=4))
    with pytest.raises(PangaeaError, match="begun to minimise error, but mine is now to maximise"):
        pg.resume(path, task=task(goal=pg.maximize("error")), workers=0)
    with pytest.raises(PangaeaError, match="searches on 'mine', not on 'yours'"):
        pg.resume(path, task=pg.Task("yours", error, goal=GOAL, budgets={"search": 1, "full": 1}))


def test_a_cluster_takes_no_object(path: Path) -> None:
    refused(
        error,
        path,
        r"workers on a cluster.*my_task\.py:task",
        workers=1,
        cluster="tcp://127.0.0.1:1",
    )


def test_an_object_that_cannot_travel_is_said_to(path: Path) -> None:
    lock = threading.Lock()

    def train(activation: Any, budget: int, seed: int) -> float:
        with lock:
            return error(activation, budget, seed)

    refused(train, path, "cannot be sent to worker processes", workers=1)


def test_the_name_of_a_built_in_task_is_taken(path: Path) -> None:
    on = pg.Task("mnist1d", error, goal=GOAL, budgets={"search": 1, "full": 1})
    with pytest.raises(PangaeaError, match="mnist1d is the name of a task that is built in"):
        searched(on, path)


def test_an_object_that_was_found_by_its_place_goes_by_it(tmp_path: Path) -> None:
    place = written(tmp_path)
    with searched(pg.task(place), tmp_path / "a.study") as study:  # type: ignore[arg-type]
        assert study.settings.task == place


def test_defaults_of_a_task_that_are_no_settings_are_said(path: Path) -> None:
    with pytest.raises(PangaeaError, match=r"default of the task mine.*'candidate'"):
        searched(task(defaults={"candidate": 3}), path)


def test_workers_started_by_hand_load_the_file(by_hand: ByHand, tmp_path: Path) -> None:
    watch = Notes()
    with searched(
        written(tmp_path), tmp_path / "a.study", workers=None, cluster=by_hand.address, watch=watch
    ) as study:
        assert len(study.trials()) == 3
    assert any("on 2 workers" in note for note in watch.notes)


def test_a_file_that_workers_do_not_see_is_found_by_the_dry_run(
    by_hand: ByHand, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "here"
    folder.mkdir()
    (folder / "only_here.py").write_text(
        FILE.replace("{SCORE}", ERROR).replace("{GOAL}", "minimize('error')")
    )
    monkeypatch.syspath_prepend(folder)
    with pytest.raises(PangaeaError, match="there is no module only_here, here or installed"):
        searched("only_here:task", tmp_path / "a.study", workers=None, cluster=by_hand.address)
    assert not (tmp_path / "a.study").exists()


# Several goals.


def test_general_functions_of_a_minimised_and_a_maximised_goal(tmp_path: Path) -> None:
    def closeness(activation: Any, budget: int, seed: int) -> float:
        return 1000 - 1000 * error(activation, budget, seed)

    near = pg.Task(
        "near", closeness, goal=pg.maximize("closeness"), budgets={"search": 2, "full": 3}
    )
    searched(task(), tmp_path / "a.study", runs=0).close()
    searched(near, tmp_path / "b.study", runs=0, seed=1).close()
    studies = [tmp_path / "a.study", tmp_path / "b.study"]
    with pytest.raises(PangaeaError, match=r"a\.study .* the task mine, which stands in no file"):
        general(studies, out=tmp_path / "g.study", workers=0)
    rows = general(studies, [task(), near], out=tmp_path / "g.study", workers=0, runs=1)
    assert len(rows) > 2
    best = min(rows, key=lambda row: row["scores"]["mine"])
    assert best["scores"]["near"] == pytest.approx(1000 - 1000 * best["scores"]["mine"], abs=2)
    dominated = [row for row in rows if row["discarded"] == "dominated"]
    assert best not in dominated
    assert len(dominated) >= len(rows) - 2
    errors = [row["scores"]["mine"] for row in rows if row["discarded"] == "dominated"]
    assert errors == pytest.approx(sorted(errors), abs=2e-3)


def test_two_functions_are_evaluated_on_a_minimised_goal(tmp_path: Path) -> None:
    place = written(tmp_path)
    good, bad = (pg.evaluate(f, place, runs=2, data="validation") for f in ("abs(x)", "neg(x)"))
    assert good.mean is not None
    assert bad.mean is not None
    assert good.goal.gain(good.mean, bad.mean) > 0

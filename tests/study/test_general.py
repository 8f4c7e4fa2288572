"""General functions: the pool of several studies, scored on several tasks."""

import time
from pathlib import Path
from typing import Any

import pytest

from pangaea.errors import PangaeaError
from pangaea.evolution.strategies import Proposal
from pangaea.functions.parser import parse
from pangaea.study.general import general
from pangaea.study.settings import settings
from pangaea.study.study import Study
from pangaea.workers.judge import Job

# Fitness in the study; then accuracy on the two tasks.
WANTED = {
    "tanh(swish(x))": (80, 70, 61),  # chosen, and dominated by
    "elu(sinh(x))": (79, 71, 62),  # chosen, and dominated by
    "atan(square(x))": (78, 72, 63),  # chosen
    "swish(x)": (77, 90, 10),  # a baseline
    "erf(softplus(x))": (76, 60, 70),  # general
    "asinh(softplus(x))": (75, 50, 50),  # dominated
    "asinh(cosh(x))": (74, 30, 90),  # general
}
TASKS = ("mnist1d", "wrn-10-4/cifar100")


def recorded(path: Path, functions: dict[str, tuple[int, int, int]]) -> Path:
    with Study.create(path, settings({}), {}, 10) as study, study.transaction():
        for number, (text, (fitness, *_)) in enumerate(functions.items(), 1):
            function = parse(text)
            study.add(number, Proposal(function, None, "initial"), number)
            result = {"function": str(function), "seed": number, "accuracy": float(fitness)}
            study.record("search", number, result | {"seconds": 1.0, "finished": time.time()})
    return path


def judge(job: Job) -> list[dict[str, Any]]:
    wanted = {str(parse(text)): figures for text, figures in WANTED.items()}
    accuracy = float(wanted[job.function][1 + TASKS.index(job.task)])
    assert (job.recipe, job.data) == ("full", "validation")
    return [
        {"function": job.function, "seed": seed, "accuracy": accuracy, "seconds": 1.0}
        | {"finished": time.time()}
        for seed in job.seeds
    ]


def test_the_paper_s_three_reasons_discard(tmp_path: Path) -> None:
    study = recorded(tmp_path / "a.study", WANTED)
    rows = general([study], TASKS, out=tmp_path / "g.study", workers=0, judge=judge)
    found = {row["function"]: row["discarded"] for row in rows}
    assert found == {
        "tanh(swish(x))": "dominated",
        "elu(sinh(x))": "dominated",
        "atan(square(x))": "already chosen",
        "swish(x)": "a baseline",
        "erf(softplus(x))": None,
        "asinh(softplus(x))": "dominated",
        "asinh(cosh(x))": None,
    }
    assert [row["general"] for row in rows] == [True, True, *[False] * 5]


def test_a_failed_run_counts_as_the_task_s_chance(tmp_path: Path) -> None:
    def fails(job: Job) -> list[dict[str, Any]]:
        return [result | {"accuracy": None, "failure": "diverged"} for result in judge(job)]

    study = recorded(tmp_path / "a.study", WANTED)
    rows = general([study], TASKS, out=tmp_path / "g.study", workers=0, judge=fails)
    assert rows[0]["scores"] == {"mnist1d": 10.0, "wrn-10-4/cifar100": 1.0}


def test_the_same_call_goes_on_with_what_is_there(tmp_path: Path) -> None:
    study, out = recorded(tmp_path / "a.study", WANTED), tmp_path / "g.study"
    trained: list[tuple[str, str, int]] = []

    def stops(job: Job) -> list[dict[str, Any]]:
        if len(trained) == 5:
            raise KeyboardInterrupt
        return notes(job)

    def notes(job: Job) -> list[dict[str, Any]]:
        trained.extend((job.task, job.function, seed) for seed in job.seeds)
        return judge(job)

    with pytest.raises(KeyboardInterrupt):
        general([study], TASKS, out=out, runs=1, workers=0, judge=stops)
    rows = general([study], TASKS, out=out, runs=1, workers=0, judge=notes)
    assert len(rows) == len(WANTED)
    assert len(trained) == len(set(trained)) == 2 * len(WANTED)


def test_the_study_of_a_search_is_not_written_to(tmp_path: Path) -> None:
    study = recorded(tmp_path / "a.study", WANTED)
    with pytest.raises(PangaeaError, match="choose another file"):
        general([study], out=study, workers=0, judge=judge)


def test_studies_without_functions_are_a_sentence(tmp_path: Path) -> None:
    study = recorded(tmp_path / "a.study", {})
    with pytest.raises(PangaeaError, match="no function"):
        general([study], out=tmp_path / "g.study", workers=0, judge=judge)

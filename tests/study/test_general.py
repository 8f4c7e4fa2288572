"""General functions: the pool of several studies, scored on several tasks."""

from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import pytest

import pangaea as pg
from pangaea.errors import PangaeaError
from pangaea.functions.parser import parse
from pangaea.report import findings
from pangaea.report.records import opened
from pangaea.study.general import general
from pangaea.study.study import Study
from pangaea.tasks.classification import Classification
from pangaea.workers.engine import Engine, engine
from pangaea.workers.judge import Job, Judge, Result
from pangaea.workers.place import Place
from tests.study.making import candidate, created

# The score in the study; then those on the two tasks.
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


@pytest.fixture(autouse=True)
def prepared(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The tasks whose data was asked for; none is brought here."""
    names: list[str] = []
    monkeypatch.setattr(Classification, "prepare", lambda task: names.append(task.name))
    return names


def recorded(path: Path, functions: dict[str, tuple[int, int, int]], **given: Any) -> Path:
    with created(path, **given) as study:
        for number, (text, (score, *_)) in enumerate(functions.items(), 1):
            candidate(study, number, text, score=float(score))
    return path


def judge(job: Job) -> Result:
    wanted = {str(parse(text)): figures for text, figures in WANTED.items()}
    assert (job.stage, job.part) == ("general", "validation")
    assert job.budget == pg.task(job.task).budgets["full"]
    return {"score": float(wanted[job.function][1 + TASKS.index(job.task)])}


def test_the_paper_s_three_reasons_discard(tmp_path: Path, prepared: list[str]) -> None:
    study = recorded(tmp_path / "a.study", WANTED)
    rows = general([study], TASKS, out=tmp_path / "g.study", workers=0, tests=0, judge=judge)
    assert prepared == [*TASKS]
    reasons = {row["function"]: row["discarded"] for row in rows}
    assert reasons == {
        "tanh(swish(x))": "dominated",
        "elu(sinh(x))": "dominated",
        "atan(square(x))": "already chosen",
        "swish(x)": "a baseline",
        "erf(softplus(x))": None,
        "asinh(softplus(x))": "dominated",
        "asinh(cosh(x))": None,
    }
    assert [row["general"] for row in rows] == [True, True, *[False] * 5]
    # Of one goal, so they are averaged as they are: the best first, as well in what is discarded.
    assert [row["function"] for row in rows][:5] == [
        *("erf(softplus(x))", "asinh(cosh(x))"),
        *("atan(square(x))", "elu(sinh(x))", "tanh(swish(x))"),
    ]


def test_a_failed_run_counts_as_the_task_s_chance(tmp_path: Path) -> None:
    def fails(job: Job) -> Result:
        return {"failure": "diverged"}

    study = recorded(tmp_path / "a.study", WANTED)
    rows = general([study], TASKS, out=tmp_path / "g.study", workers=0, tests=0, judge=fails)
    assert rows[0]["scores"] == {"mnist1d": 10.0, "wrn-10-4/cifar100": 1.0}


def test_the_same_call_goes_on_with_what_is_there(tmp_path: Path) -> None:
    study, out = recorded(tmp_path / "a.study", WANTED), tmp_path / "g.study"
    trained: list[tuple[str, str, int]] = []

    def stops(job: Job) -> Result:
        if len(trained) == 5:
            raise KeyboardInterrupt
        return notes(job)

    def notes(job: Job) -> Result:
        trained.append((job.task, job.function, job.seed))
        return judge(job)

    with pytest.raises(KeyboardInterrupt):
        general([study], TASKS, out=out, runs=1, workers=0, tests=0, judge=stops)
    rows = general([study], TASKS, out=out, runs=1, workers=0, tests=0, judge=notes)
    assert len(rows) == len(WANTED)
    assert len(trained) == len(set(trained)) == 2 * len(WANTED)


def test_the_study_of_a_search_is_not_written_to(tmp_path: Path) -> None:
    study = recorded(tmp_path / "a.study", WANTED)
    with pytest.raises(PangaeaError, match="choose another file"):
        general([study], out=study, workers=0, tests=0, judge=judge)


def test_studies_without_functions_are_a_sentence(tmp_path: Path) -> None:
    study = recorded(tmp_path / "a.study", {})
    with pytest.raises(PangaeaError, match="no function"):
        general([study], out=tmp_path / "g.study", workers=0, tests=0, judge=judge)


@pytest.mark.parametrize("tasks", [TASKS, TASKS[::-1]])
def test_it_takes_the_gpus_that_a_search_on_one_of_the_tasks_would_take(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tasks: tuple[str, ...]
) -> None:
    places: list[Place] = []

    def noted(judge: Judge, place: Place) -> AbstractContextManager[Engine]:
        places.append(place)
        return engine(judge, Place(workers=0))

    monkeypatch.setattr("pangaea.study.general.engine", noted)
    monkeypatch.setattr("torch.cuda.is_available", lambda: True)
    study = recorded(tmp_path / "a.study", WANTED)
    general([study], tasks, out=tmp_path / "g.study", tests=0, judge=judge)
    assert places == [Place(gpus="all")]


def test_every_run_has_its_own_seed_and_leaves_no_checkpoints(tmp_path: Path) -> None:
    study, out = recorded(tmp_path / "a.study", WANTED, scope="layer"), tmp_path / "g.study"

    def keeps(job: Job) -> Result:
        Path(job.checkpoints).mkdir(parents=True)
        assert job.scope == "layer"
        return judge(job)

    general([study], TASKS, out=out, runs=3, workers=0, tests=0, judge=keeps)
    with Study.open(out) as kept:
        seeds = [row["seed"] for row in kept.runs("general")]
    assert len(seeds) == len({*seeds}) == 2 * 3 * len(WANTED)
    assert sorted(one.name for one in tmp_path.iterdir()) == ["a.study", "g.study"]


def test_in_the_end_the_general_ones_are_tested_beside_each_task_s_baseline(
    tmp_path: Path,
) -> None:
    study, out = recorded(tmp_path / "a.study", WANTED, scope="layer"), tmp_path / "g.study"
    tests: list[Job] = []

    def tested(job: Job) -> Result:
        if job.stage == "general":
            return judge(job)
        assert job.part == "test"
        assert job.budget == pg.task(job.task).budgets["full"]
        assert job.scope == (None if job.function == "relu(x)" else "layer")
        tests.append(job)
        return {"score": float(len(tests))}

    rows = general([study], TASKS, out=out, tests=3, workers=0, judge=tested)
    assert {(job.function, job.task) for job in tests} == {
        (function, task)
        for function in ("relu(x)", "erf(softplus(x))", "asinh(cosh(x))")
        for task in TASKS
    }
    assert len(tests) == len({job.seed for job in tests}) == 3 * 3 * 2
    for row in rows:
        assert (row["test"] is not None) == row["general"]
        if row["general"]:
            assert {task: len(scores) for task, scores in row["test"].items()} == dict.fromkeys(
                TASKS, 3
            )
            assert row["reference"].keys() == {*TASKS}
    again = general([study], TASKS, out=out, tests=3, workers=0, judge=_never)
    assert again == rows


def test_a_function_that_was_found_with_two_scopes_is_judged_and_tested_with_both(
    tmp_path: Path,
) -> None:
    first = {"tanh(swish(x))": (80, 0, 0), "erf(alpha*softplus(x))": (70, 0, 0)}
    fillers = {"sinh(x)": (79, 0, 0), "erf(x)": (78, 0, 0), "atan(x)": (77, 0, 0)}
    studies = [
        recorded(tmp_path / "a.study", first | fillers),
        recorded(tmp_path / "b.study", fillers | {"erf(softplus(x)*alpha)": (9, 0, 0)}),
        recorded(tmp_path / "c.study", first | fillers, scope="channel"),
        recorded(tmp_path / "d.study", first | fillers, scope="layer"),
    ]
    jobs: list[Job] = []

    def by_scope(job: Job) -> Result:
        jobs.append(job)
        best = job.function == "erf(alpha*softplus(x))"
        return {"score": (60.0 if job.scope else 50.0) + (best and (job.task == "mnist1d"))}

    out = tmp_path / "g.study"
    rows = general(studies, TASKS, out=out, workers=0, runs=1, tests=2, judge=by_scope)
    judged = {(job.function, job.scope) for job in jobs if job.stage == "general"}
    assert judged == {(str(parse(f)), scope) for f in first | fillers for scope in (None, "layer")}
    (best,) = (row for row in rows if row["general"])
    assert (best["function"], best["scope"]) == ("erf(alpha*softplus(x))", "layer")
    assert best["test"]["mnist1d"] == [61.0, 61.0]
    other = next(r for r in rows if r["function"] == best["function"] and r["scope"] is None)
    assert (other["scores"]["mnist1d"], other["discarded"]) == (51.0, "dominated")
    assert [*findings.general(opened(out))[0].values()][:3] == [
        *("erf(alpha*softplus(x))", "layer", "erf(α·softplus(x)) per layer")
    ]


def test_a_file_of_general_is_gone_on_with_by_general_and_compares_what_it_is_given(
    tmp_path: Path,
) -> None:
    few = [*WANTED.items()]
    one = recorded(tmp_path / "a.study", dict(few[:4]))
    other = recorded(tmp_path / "b.study", dict(few[4:]))
    out = tmp_path / "g.study"
    for study, functions in ((one, few[:4]), (other, few[4:])):
        rows = general([study], TASKS, out=out, workers=0, tests=0, judge=judge)
        assert {row["function"] for row in rows} == {str(parse(text)) for text, _ in functions}
    with pytest.raises(PangaeaError, match="goes on with the `pangaea general` that began it"):
        pg.resume(out, workers=0, judge=_never)


def _never(job: Job) -> Result:
    raise AssertionError("nothing is left to do")


OWN = """
import pangaea as pg
smallest = pg.Task("smallest", lambda activation, budget, seed: 1.0, goal=pg.minimize("loss"),
                   baseline="tanh", budgets={"search": 1, "full": 2})
"""


def test_tasks_of_different_goals_go_together(tmp_path: Path) -> None:
    """What dominates is better on each task in that task's own terms."""
    (tmp_path / "own.py").write_text(OWN)
    own = f"{tmp_path}/own.py:smallest"
    scores = {
        "erf(softplus(x))": {"mnist1d": 70.0, own: 0.5},
        "asinh(cosh(x))": {"mnist1d": 60.0, own: 0.2},
        "elu(sinh(x))": {"mnist1d": 60.0},  # dominated, for it fails on the second
        "tanh(x)": {"mnist1d": 80.0, own: 0.6},  # the baseline of the second
        "atan(square(x))": {"mnist1d": 50.0, own: 0.1},
    }
    study = recorded(tmp_path / "a.study", {text: (9 - k, 0, 0) for k, text in enumerate(scores)})

    def by_task(job: Job) -> Result:
        score = scores[job.function].get(job.task)
        return {"failure": "diverged"} if score is None else {"score": score}

    rows = general([study], ["mnist1d", own], out=tmp_path / "g", workers=0, tests=0, judge=by_task)
    assert {row["function"]: row["discarded"] for row in rows} == {
        "erf(softplus(x))": "already chosen",
        "asinh(cosh(x))": "already chosen",
        "elu(sinh(x))": "dominated",
        "tanh(x)": "a baseline",
        "atan(square(x))": None,
    }
    failed = next(row for row in rows if row["function"] == "elu(sinh(x))")
    assert failed["scores"] == {"mnist1d": 60.0, own: float("inf")}
    goals = {"mnist1d": pg.task("mnist1d").goal, own: pg.minimize("loss")}
    with Study.open(tmp_path / "g") as kept:
        assert kept.goals == goals
    general(
        [study],
        ["pinn", own],
        out=tmp_path / "g",
        workers=0,
        tests=0,
        judge=lambda job: {"score": 1.0},
    )
    with Study.open(tmp_path / "g") as kept:
        assert kept.goals == goals | {"pinn": pg.task("pinn").goal}
        assert kept.goal == goals["mnist1d"]

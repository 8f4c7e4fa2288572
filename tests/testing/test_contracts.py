"""The contracts find what breaks them: each test of them is shown something that it refuses."""

import random
from collections.abc import Callable, Sequence
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest
import torch

import pangaea as pg
from pangaea.evolution.creation import initial, parameterized
from pangaea.evolution.strategies import Settings, Strategy
from pangaea.evolution.trials import Again, Proposal, Trial
from pangaea.functions.parser import parse
from pangaea.tasks.task import Task
from pangaea.testing import EngineContract, StrategyContract, TaskContract, judges
from pangaea.workers.engine import InProcess
from pangaea.workers.judge import Job, Result


class Tasks(TaskContract):
    pass


class Strategies(StrategyContract):
    pass


class Engines(EngineContract):
    pass


# Tasks.


def scored(activation: Any, **_: object) -> float:
    """Differs by function and by seed, and repeats itself."""
    return float(activation()(torch.randn(1, 3)).detach().sum())


def task(train: Callable[..., Any] = scored, **changes: Any) -> Task:
    made = pg.Task("mine", train, goal=pg.minimize("e"), budgets={"search": 1, "full": 1})
    for name, value in changes.items():
        setattr(made, name, value)
    return made


def unseeded(**_: object) -> float:
    return np.random.default_rng().random()


def stubborn(tell: Any, **_: object) -> float:
    for share in (0.0, 0.5, 0.9):
        try:
            tell(share)
        except Exception:
            continue
    return 1.0


def backwards(tell: Any, **_: object) -> float:
    tell(0.9)
    tell(0.1)
    return 1.0


class Careless(Task):
    """Leaves the generators as they come."""

    name, goal, baseline, budgets = "careless", pg.minimize("e"), "relu(x)", {"search": 1}

    def train(self, *arguments: Any, **more: Any) -> Any:
        torch.rand(3)
        return None


@pytest.mark.parametrize(
    ("broken", "test"),
    [
        (task(name=" "), "it_says_what_it_is"),
        (task(budgets={"search": 9, "full": 3}), "it_says_what_it_is"),
        (task(about=lambda: {"name": object()}), "what_a_study_keeps_of_it_is_plain_data"),
        (task(lambda **_: {"failure": "bad"}), "the_baseline_has_a_score"),
        (task(unseeded), "the_same_seed_gives_the_same_run_whatever_was_drawn_before"),
        (task(lambda **_: 1.0), "another_seed_gives_another_run"),
        (task(lambda **_: torch.rand(())), "the_function_makes_a_difference"),
        (Careless(), "a_run_leaves_every_generator_as_it_was"),
        (task(lambda part, **_: None if part == "test" else 1), "the_test_part_changes_the_"),
        (task(stubborn), "a_run_ends_when_it_is_told_to"),
        (task(backwards), "a_run_ends_when_it_is_told_to"),
        (task(lambda scope, **_: 1 if scope is None else None), "every_scope_can_be_trained"),
        (task(unseeded), "a_worker_gives_the_same_result_as_plain_data"),
    ],
)
def test_a_broken_task_is_refused(broken: Task, test: str) -> None:
    (name,) = (name for name in dir(Tasks) if name.startswith(f"test_{test}"))
    Tasks._results.clear()
    with pytest.raises((AssertionError, TypeError)):
        getattr(Tasks(), name)(broken)
    Tasks._results.clear()
    getattr(Tasks(), name)(task(telling))


def telling(tell: Any, **given: Any) -> float:
    for share in (0.0, 0.5, 0.9):
        tell(share)
    return scored(**given)


# Strategies.


def fresh(trials: Sequence[Trial], rng: Random, settings: Settings) -> Proposal:
    return Proposal(
        parameterized(initial(rng, settings.space), rng, settings.space), None, "initial"
    )


def strategy(propose: Any, about: str = "Something new.") -> Strategy:
    return Strategy("mine", about, propose, Settings)


def forgetful(trials: Any, rng: Any, settings: Any) -> Proposal:
    return fresh(trials, random.Random(random.random()), settings)


def greedy(trials: Any, rng: Random, settings: Settings) -> Proposal:
    trials.clear()
    return fresh(trials, rng, settings)


@pytest.mark.parametrize(
    ("propose", "test", "more"),
    [
        (lambda *_: Again(3, 0), "it_has_an_answer_whatever_came_of_the_search", ("many",)),
        (lambda *_: Again(999, 1), "it_has_an_answer_whatever_came_of_the_search", ("many",)),
        (
            lambda t, r, s: fresh(t, r, s)._replace(parent=999),
            "it_has_an_answer_whatever_came_of_the_search",
            ("many",),
        ),
        (forgetful, "it_answers_the_same_to_the_same_past_and_leaves_it_alone", ("one",)),
        (greedy, "it_answers_the_same_to_the_same_past_and_leaves_it_alone", ("many",)),
        (forgetful, "it_draws_from_the_generator_that_it_is_given_and_no_other", ()),
        (
            lambda t, r, s: Proposal(parse("tanh(x)"), None, ""),
            "another_seed_is_another_search",
            (),
        ),
        (
            lambda t, r, s: Proposal(parse("erf(x)"), None, ""),
            "it_stays_in_the_space_that_it_is_told",
            ("cheap",),
        ),
        (lambda t, r, s: Proposal(parse("tanh(x)"), None, ""), "a_search_comes_to_new_", ()),
    ],
)
def test_a_broken_strategy_is_refused(propose: Any, test: str, more: tuple[str, ...]) -> None:
    (name,) = (name for name in dir(Strategies) if name.startswith(f"test_{test}"))
    with pytest.raises(AssertionError):
        getattr(Strategies(), name)(strategy(propose), *more)
    getattr(Strategies(), name)(strategy(fresh), *more)


def test_a_strategy_without_a_word_about_it_is_refused() -> None:
    with pytest.raises(AssertionError):
        Strategies().test_it_says_what_it_does_and_what_it_can_be_told(strategy(fresh, " "))


# Engines.


class Losing(InProcess):
    """Says nothing of every second job."""

    def wait(self, seconds: float) -> list[tuple[Job, Result]]:
        ended = super().wait(seconds)
        return [pair for pair in ended if pair[0].run % 2]


class Twice(InProcess):
    def wait(self, seconds: float) -> list[tuple[Job, Result]]:
        return super().wait(seconds) * 2


class Bare(InProcess):
    """Hands on whatever the judge does."""

    def wait(self, seconds: float) -> list[tuple[Job, Result]]:
        job = self._waiting.popleft()
        return [(job, self._judge(job))]


class Shortened(InProcess):
    def wait(self, seconds: float) -> list[tuple[Job, Result]]:
        return [(job, result | {"curves": {"loss": [1.0]}}) for job, result in super().wait(0)]


class Idle(InProcess):
    @property
    def running(self) -> int:
        return 0


@pytest.mark.parametrize(
    ("engine", "test"),
    [
        (Losing, "every_job_comes_back_once"),
        (Twice, "every_job_comes_back_once"),
        (Idle, "jobs_are_running_until_they_are_handed_back"),
        (Bare, "an_error_of_the_judge_is_a_result"),
        (Shortened, "long_results_arrive_whole"),
    ],
)
def test_a_broken_engine_is_refused(engine: type[InProcess], test: str) -> None:
    with pytest.raises((AssertionError, RuntimeError)):
        getattr(Engines(), f"test_{test}")(engine)
    getattr(Engines(), f"test_{test}")(InProcess)


@pytest.mark.parametrize("name", judges.NONSENSE)
def test_an_engine_that_hands_nonsense_on_is_refused(name: str, tmp_path: Path) -> None:
    with pytest.raises((AssertionError, KeyError, AttributeError, TypeError)):
        Engines().test_nonsense_is_a_failure_with_its_reason(Bare, name, tmp_path)


def test_nothing_else_is_in_the_folder() -> None:
    from pangaea import testing

    with pytest.raises(AttributeError, match="no attribute 'FigureContract'"):
        _ = testing.FigureContract

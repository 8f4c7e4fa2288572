"""The time that a search has: it asks here whether there is some left, and tells what ended."""

import time
from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from itertools import groupby
from typing import Any

from pangaea.study.planning import FEWEST, Ending, Rounds, Schedule
from pangaea.study.runner import Runner
from pangaea.study.saving import resume_command
from pangaea.study.schema import HUGE, NONSENSE, brief, damaged
from pangaea.study.stages import BASELINE, PROPOSED, RERANK, TEST, Stage
from pangaea.study.standing import rounds_of
from pangaea.study.study import Run, Study
from pangaea.wording import counted
from pangaea.workers.judge import Result

_ENTRY = "time"  # of a study: seconds that its search ran, and settings as they were asked for
_LESS = {"candidates", "rerank", "rounds", "tested", "runs"}  # what there may be no time for


class Unlimited:
    """All the time that it takes."""

    def begin(self) -> None:
        """The baseline has been trained."""

    def ended(self, run: Run, result: Result) -> None:
        """A run has its result; inside a transaction."""

    def more(self, tried: int) -> bool:
        """Is there time for another candidate, so many having been tried?"""
        return True

    def expected(self, tried: int, most: int) -> int:
        """How many candidates there will be in the end."""
        return most

    def searched(self, tried: int) -> None:
        """Nothing more is proposed."""

    def tested(self, most: int) -> int:
        """How many of the best there is time to test."""
        return most

    def fits(self, stage: Stage, functions: int, budget: int, running: int, left: int) -> bool:
        """Is there time for the first of so many runs that are left of a stage after the search?"""
        return True

    def judged(self, stage: Stage, functions: Collection[str], wanted: int, budget: int) -> None:
        """No more runs of these are begun now; so many of each were wanted with a budget."""

    def done(self) -> None:
        """All of it has ended."""


class Limited(Unlimited):
    """So many minutes for all of it. What is left out for that, the study's settings say then."""

    def __init__(
        self,
        study: Study,
        runner: Runner,
        began: float,
        clock: Callable[[], float] = time.monotonic,
        effort: Callable[[int], float] = float,
        sharing: int = 1,
    ) -> None:
        """`began` is when somebody asked for the search; `effort` says how long budgets take.

        So many workers are `sharing` a GPU.
        """
        self._study, self._runner, settings = study, runner, study.settings
        assert settings.minutes is not None
        self._effort, budgets = effort, study.task["budgets"]
        rounds = [
            Rounds(each.functions, len([*equal]), effort(each.budget))
            for each, equal in groupby(rounds_of(study))
            if settings.rerank
        ]
        ending = Ending(
            rounds=rounds,
            budget=effort(budgets["full"]),
            tested=settings.tested,
            beside=1 + len(settings.further),
            runs=settings.runs,
        )
        self._budget = settings.budget or budgets["search"]
        self._left_out = {k: v for k, v in left_out(study).items() if v != settings.get(k)}
        starting = clock() - began
        before = spent(study) + starting
        self._schedule = Schedule(
            settings.minutes, ending, effort(self._budget), before, starting, clock, sharing
        )
        for run in study.runs():
            self._learn(run["stage"], run["budget"], run, busy=sharing == 1)

    def _learn(self, stage: str, budget: int, result: Mapping[str, Any], *, busy: bool) -> None:
        """From a run; one beside few others on a GPU says nothing of a `busy` machine."""
        if not busy and stage not in (BASELINE.name, *PROPOSED):
            return
        self._schedule.ended(
            self._effort(budget),
            result["seconds"],
            failed=result.get("failure") is not None,
            first=stage == BASELINE.name,
            proposed=stage in PROPOSED,
        )

    @property
    def _workers(self) -> int:
        return self._runner.engine.slots()

    def begin(self) -> None:
        minutes, left = self._schedule.total / 60, max(0.0, self._schedule.left) / 60
        settings = self._study.settings
        if not left:
            self._runner.watch.note(
                f"the {counted(minutes, 'minute')} of this search are over: "
                f"`{resume_command(self._study.path)} --minutes {2 * minutes:g}` goes on with it"
            )
            return
        plan = self._schedule.plan(self._workers)
        tried = self._study.asked(PROPOSED)
        more = max(0, self.expected(tried, settings.candidates) - tried)
        parts = [f"about {counted(more, 'candidate')}"] * (more > 0)
        rounds = settings.rounds
        if plan.contenders < settings.contenders:
            rounds = settings.smaller_rounds(plan.contenders)
        parts += [f"the best again ({rounds})"] * (plan.contenders > 0)
        parts += [_tests(plan.runs, alone=plan.tested < settings.tested)] * (plan.runs > 0)
        self._runner.watch.note(
            f"{left:.1f} of {minutes:g} minutes are left, enough for {', '.join(parts) or 'no run'}"
        )
        population = settings.get("population", 0)
        if tried + more < min(population, settings.candidates):
            self._runner.watch.note(
                f"nothing breeds before there are {population} functions, the population: in so "
                f"little time a new search with a smaller --population, or --budget "
                f"({self._budget} now), is one"
            )

    def expected(self, tried: int, most: int) -> int:
        return min(most, tried + self._schedule.plan(self._workers).candidates)

    def ended(self, run: Run, result: Result) -> None:
        busy = self._schedule.sharing == 1 or self._runner.running + 1 >= self._workers
        self._learn(run.wanted.stage, run.wanted.budget, result, busy=busy)
        self._keep()

    def _keep(self) -> None:
        spent = round(self._schedule.spent, 1)
        self._study.note(_ENTRY, {"spent": spent, "left out": self._left_out})

    def more(self, tried: int) -> bool:
        plan = self._schedule.plan(self._workers)
        self._runner.watch.planned(self.expected(tried, self._study.settings.candidates))
        schedule, workers = self._schedule, self._workers
        return schedule.fits(max(1, workers), schedule.budget, workers, plan.seconds)

    def searched(self, tried: int) -> None:
        """What is left out now is left out when the study is resumed, too."""
        settings, plan = self._study.settings, self._schedule.plan(self._workers)
        less: dict[str, Any] = {"candidates": max(1, min(tried, settings.candidates))}
        if settings.rerank and self._study.asked([RERANK.name]) == 0:
            less["rerank"] = plan.contenders > 0
            if 0 < plan.contenders < settings.contenders:
                less["rounds"] = settings.smaller_rounds(plan.contenders)
        self._leave_out(**less)

    def tested(self, most: int) -> int:
        """The first one alone, before each has a single run."""
        if self._study.asked([TEST.name]) == 0:
            self._leave_out(tested=min(most, self._schedule.testing(self._workers)[0]))
        return self._study.settings.tested

    def fits(self, stage: Stage, functions: int, budget: int, running: int, left: int) -> bool:
        """A run of each function is begun, if all of them fit beside those that are running."""
        tests = min(FEWEST, self._study.settings.runs) if stage is RERANK else 0
        reserve = self._schedule.tests(1, tests, self._workers)
        runs = running + (left - 1) % functions + 1
        return self._schedule.fits(runs, self._effort(budget), self._workers, reserve)

    def judged(self, stage: Stage, functions: Collection[str], wanted: int, budget: int) -> None:
        scores, others = self._study.scores(stage.name, budget), self._study.settings.further
        numbers = [len(scores.get(text, ())) for text in functions if text not in others]
        runs = min(numbers, default=0)
        if stage is TEST:
            self._leave_out(runs=min(runs, self._study.settings.runs))
        elif runs < wanted:
            self._leave_out(rerank=False)

    def _leave_out(self, **less: Any) -> None:
        settings = self._study.settings
        before = {name: settings.get(name) for name in less if settings.get(name) != less[name]}
        if before:
            self._left_out = before | self._left_out
            with self._study.transaction():
                self._keep()
            self._study.change(replace(settings, **less))

    def done(self) -> None:
        """Say what was done, and what there was no time for."""
        settings, schedule = self._study.settings, self._schedule
        parts = [counted(self._study.asked(PROPOSED), "candidate")]
        again = self._study.asked([RERANK.name]) > 0
        parts += ["the best trained again"] * again
        if settings.runs and self._study.asked([TEST.name]):
            parts.append(_tests(settings.runs, alone="tested" in self._left_out))
        missing = {
            "rerank": "all its rounds" if again else "training the best again",
            **dict.fromkeys(("tested", "runs"), "all test runs"),
        }
        short = dict.fromkeys(what for name, what in missing.items() if name in self._left_out)
        self._runner.watch.note(
            f"{', '.join(parts)} in {schedule.spent / 60:.1f} of {settings.minutes:g} minutes"
            + (f"; no time for {' and '.join(short)}" if short else "")
            + f"; its rounds were made smaller ({settings.rounds}), to keep to their part"
            * ("rounds" in self._left_out)
        )


def _tests(runs: int, *, alone: bool) -> str:
    return f"{counted(runs, 'test run')} {'of the first' if alone else 'each'}"


def _entry(study: Study) -> dict[str, Any]:
    """What a study keeps of its time; the file may be a stranger's."""
    entry = study.noted(_ENTRY, {"spent": 0.0, "left out": {}})
    try:
        known = float(entry["spent"]), {**entry["left out"]}
    except NONSENSE as error:
        raise damaged(study.path, f"its {_ENTRY}: {brief(error)}") from None
    if not 0 <= known[0] < HUGE or not known[1].keys() <= _LESS:
        raise damaged(study.path, f"its {_ENTRY} is not what a search writes there")
    return {"spent": known[0], "left out": known[1]}


def ask_again(study: Study, names: Collection[str]) -> None:
    """Somebody says now what these are to be: what they were once asked to be is forgotten."""
    entry = _entry(study)
    less = {name: value for name, value in entry["left out"].items() if name not in names}
    if less != entry["left out"]:
        with study.transaction():
            study.note(_ENTRY, entry | {"left out": less})


def left_out(study: Study) -> dict[str, Any]:
    """The settings that had to be less than was asked for, as they were asked for."""
    return dict(_entry(study)["left out"])


def spent(study: Study) -> float:
    """Seconds that the search of a study with a limit ran."""
    return float(_entry(study)["spent"])

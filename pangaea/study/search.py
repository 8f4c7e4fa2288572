"""The search: which runs, in which order, from the baseline to the test."""

import gc
import hashlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from itertools import groupby
from random import Random
from typing import Any, NoReturn

from pangaea.errors import PangaeaError
from pangaea.evolution.ranking import runs_of, top
from pangaea.evolution.strategies import strategy
from pangaea.evolution.trials import Again, Measured, Proposal, Trial, generator
from pangaea.functions.cost import cost
from pangaea.study.runner import Runner
from pangaea.study.saving import resume_command
from pangaea.study.stages import (
    BASELINE,
    PROMOTION,
    PROPOSED,
    RERANK,
    SEARCH,
    TEST,
    Stage,
)
from pangaea.study.standing import contest, rounds_of, standing
from pangaea.study.study import Run, Study, Wanted
from pangaea.study.timing import Unlimited
from pangaea.wording import counted
from pangaea.workers.judge import OUTSIDE, Result

BASELINE_RUNS = 3
# So many failures in a row that need not be the functions' fault: the baseline is tried again.
_SUSPICIOUS = 10
_DRAWS = 100  # after which the cheapest of them is tried, whatever it costs


@contextmanager
def _frozen() -> Iterator[None]:
    """What was read is not looked through for garbage; what others have frozen stays so.

    To look through 20,000 candidates takes half as long as to record a result.
    """
    others = gc.get_freeze_count() > 0
    gc.freeze()
    try:
        yield
    finally:
        if not others:
            gc.unfreeze()


class Search:
    """Takes a study from where it stands to its end."""

    def __init__(self, study: Study, runner: Runner, time: Unlimited | None = None) -> None:
        self.study, self.runner, self.time = study, runner, time or Unlimited()
        self.settings, self.goal = study.settings, study.goal
        self.trials: list[Trial] = study.trials()
        self._places = {trial.number: i for i, trial in enumerate(self.trials)}
        self._propose = strategy(self.settings.strategy).propose
        full = int(study.task["budgets"]["full"])
        self._tuning = replace(self.settings.oriented(self.goal), longest=full)
        if self.settings.cost is not None:
            dearest = self.settings.cost * cost(study.baseline)
            self._tuning = replace(self._tuning, dearest=dearest)
        self._given = self.settings.given
        self._numbered = study.proposed()  # candidates
        self._asked = study.asked(PROPOSED)  # runs that the strategy proposed
        self._ended = sum(len(trial.runs) for trial in self.trials)
        self._parents = study.parents_pending()  # of the candidates that wait for a first result
        self._bad = 0  # failures in a row that need not be the functions' fault
        self._common = self.settings.seeds == "common"
        for run in study.pending([PROMOTION.name]):
            assert run.wanted.candidate is not None
            self._wait_for(run.wanted.candidate)

    def run(self) -> None:
        """All that is left of it."""
        self._try_again()
        with _frozen():
            runs = self.study.runs(BASELINE.name)
            failed = bool(runs) and runs[-1]["failure"] is not None  # which may have been mended
            self._need_baseline(max(BASELINE_RUNS, len(runs) + failed))
            self.time.begin()
            self._evolve()
            self._finish()
            self.time.done()
            self.runner.clear()

    def _try_again(self) -> None:
        """What failed after the search, and need not be the functions' fault."""
        later = {RERANK.name: self.settings.rerank, TEST.name: self.settings.runs}
        failed = self.study.failed([name for name, wanted in later.items() if wanted], OUTSIDE)
        if failed:
            self.runner.failed = failed
            self.runner.watch.note(
                f"{counted(len(failed), 'run')} that failed after the search will be tried again, "
                "as far as there is time"
            )

    def _finish(self) -> None:
        """Train the best again and test them, as far as there is time."""
        self.time.searched(self._ended)
        self.settings = self.study.settings
        best = top(self.trials, max(self.settings.tested, self.settings.contenders))
        if self.settings.rerank:
            self._train_again(best)
        if self.settings.runs and self.trials:
            rows = standing(self.study, best)[: self.time.tested(self.settings.tested)]
            tested = [self.trials[self._places[row["number"]]] for row in rows]
            references = (self.study.baseline, *self.settings.further)
            self._judge(TEST, tested, self.settings.runs, references)

    def _train_again(self, best: Sequence[Trial]) -> None:
        """Round by round, as many of the best as are still in it."""
        rounds, before = rounds_of(self.study), 0
        runs = [min(count, len(best)) for count, _ in rounds]
        for (count, budget), equal in groupby(rounds):  # equal ones are one: nobody leaves between
            order, complete = contest(self.study, best)
            if complete < before:  # time is over
                return
            before += len([*equal])
            still = [trial for trial in best if trial.text in order[:count]]
            each, later = runs_of(rounds[:before], budget), sum(runs[before:])
            self._judge(RERANK, still, each, budget=budget, total=sum(runs), later=later)

    def _evolve(self) -> None:
        """Keep every worker busy until C proposed runs have their result, or the time is over."""
        total = self.settings.candidates
        if self._ended >= total:
            return
        waiting = self.study.pending(PROPOSED)
        expected = self.time.expected(self._asked, total)
        self.runner.watch.stage(self.study, SEARCH.name, self._ended, expected)

        def more(free: int) -> list[Run]:
            runs: list[Run] = []
            while len(runs) < free and not self._suspicious() and (waiting or another()):
                runs.append(waiting.pop(0) if waiting else self._next())
            return runs

        def another() -> bool:
            return self._asked < total and self.time.more(self._asked)

        self.runner.loop(more, self._note)
        while self._ended < total and self._suspicious():  # is it them, or the machine?
            self._bad = 0
            self._need_baseline(len(self.study.runs(BASELINE.name)) + 1)
            self.runner.loop(more, self._note)

    def _next(self) -> Run:
        """Ask for what the strategy proposes."""
        number = self._asked + 1
        proposal = self._proposed(generator(self.settings.seed, number))
        self._asked = number
        if isinstance(proposal, Again):
            stage, candidate = PROMOTION, proposal.number
            text = self._wait_for(candidate).text
        else:
            self._numbered += 1
            stage, candidate, text = SEARCH, self._numbered, str(proposal.function)
            self.study.add(candidate, text, proposal.parent, proposal.mutation)
            self._parents[candidate] = proposal.parent
        budget = self._budget(stage) if proposal.budget is None else proposal.budget
        what = str(number)
        if self._common:
            what = f"{budget}/{self.study.repeats(candidate, budget)}"
        seed = self._seed(SEARCH, what)
        wanted = self._wanted(stage, candidate, text, seed)
        return self.study.ask(wanted._replace(budget=budget))

    def _wait_for(self, candidate: int) -> Trial:
        """A candidate of which a further run is asked for; strategies see that."""
        place = self._places[candidate]
        trial = self.trials[place] = self.trials[place]._replace(
            waiting=self.trials[place].waiting + 1
        )
        return trial

    def _proposed(self, rng: Random) -> Proposal | Again:
        """A function of the warm start, or what the strategy proposes that is not too dear."""
        if self._numbered < len(self._given):
            return Proposal(self._given[self._numbered], None, "given")
        draws: list[Proposal] = []
        for _ in range(_DRAWS):
            proposal = self._propose(self.trials, rng, self._tuning)
            if isinstance(proposal, Again) or self._tuning.affordable(proposal.function):
                return proposal
            draws.append(proposal)
        return min(draws, key=lambda draw: cost(str(draw.function)))

    def _note(self, run: Run, result: Result) -> None:
        """Let the strategy see a result."""
        self.time.ended(run, result)
        wanted, score, failure = run.wanted, result.get("score"), result.get("failure")
        assert wanted.candidate is not None
        measured = Measured(wanted.budget, None if score is None else self.goal.oriented(score))
        place = self._places.get(wanted.candidate)
        if place is None:
            self._places[wanted.candidate] = len(self.trials)
            parent = self._parents.pop(wanted.candidate)
            self.trials.append(
                Trial(
                    wanted.candidate,
                    wanted.function,
                    parent,
                    (measured,),
                    measured.score,
                    result["seconds"],
                    failure,
                )
            )
        else:
            trial = self.trials[place]
            self.trials[place] = trial.after(measured, result["seconds"], failure)
        self._ended += 1
        self._bad = self._bad + 1 if failure in OUTSIDE else 0

    def _suspicious(self) -> bool:
        return self._bad >= max(_SUSPICIOUS, 2 * self.runner.engine.slots())

    def _judge(
        self,
        stage: Stage,
        trials: Sequence[Trial],
        runs: int,
        references: Sequence[str] = (),
        budget: int | None = None,
        **shown: int,
    ) -> None:
        """Train each function so many times; tests have seeds that no other function has."""
        full = self._budget(stage)
        budget = full if budget is None else budget
        # A run with another budget has a fresh seed.
        prefix = "" if budget == full else f"{budget}/"
        functions: dict[str, int | None] = dict.fromkeys(references)
        for trial in trials:
            functions.setdefault(trial.text, trial.number)
        common = self._common and stage is not TEST
        wanted = [
            self._wanted(
                stage,
                number,
                text,
                self._seed(stage, prefix + (str(k) if common else f"{text}/{k}")),
            )._replace(budget=budget)
            for k in range(runs)
            for text, number in functions.items()
        ]

        def fits(budget: int, running: int, left: int) -> bool:
            fit = self.time.fits(stage, len(functions), budget, running, left)
            return fit and not self._suspicious()

        def complete() -> None:
            self._bad = 0
            self.runner.complete(wanted, self._judged, fits, **shown)

        complete()
        while self._suspicious():  # is it them, or the machine?
            self._check_tests(stage)
            self._need_baseline(len(self.study.runs(BASELINE.name)) + 1)
            complete()
        self._check_tests(stage)
        self.time.judged(stage, functions, runs, budget)

    def _judged(self, run: Run, result: Result) -> None:
        self.time.ended(run, result)
        self._bad = self._bad + 1 if result.get("failure") in OUTSIDE else 0

    def _check_tests(self, stage: Stage) -> None:
        """If not even the baseline could be tested, no test says anything."""
        text, before = self.study.baseline, self.runner.failed
        tests = [run for run in self.study.runs(TEST.name) if run["function"] == text]
        tried = [run for run in tests if run["run"] not in before]
        if stage is TEST and tried and all(run["failure"] in OUTSIDE for run in tried):
            self._give_up(tried[-1], "tested")

    def _need_baseline(self, runs: int) -> None:
        """If not even the baseline can be trained, no candidate can."""
        text = self.study.baseline
        self.runner.complete(
            [self._wanted(BASELINE, None, text, self._seed(BASELINE, str(k))) for k in range(runs)],
            self.time.ended,
        )
        last = self.study.runs(BASELINE.name)[-1]
        if last["failure"] is not None:
            self._give_up(last, "trained")

    def _give_up(self, run: Mapping[str, Any], what: str) -> NoReturn:
        raise PangaeaError(
            f"the baseline {run['function']} itself cannot be {what} on {self.settings.task} "
            f"({run['failure']}: {run['detail']}), so the search has stopped; mend that, "
            f"then `{resume_command(self.study.path)}`"
        )

    def _budget(self, stage: Stage) -> int:
        if stage.budget == "search" and self.settings.budget is not None:
            return self.settings.budget
        return int(self.study.task["budgets"][stage.budget])

    def _wanted(self, stage: Stage, candidate: int | None, function: str, seed: int) -> Wanted:
        return Wanted(
            stage=stage.name,
            candidate=candidate,
            function=function,
            task=self.settings.task,
            scope=self.settings.scope,
            budget=self._budget(stage),
            seed=seed,
            part=stage.part,
        )

    def _seed(self, stage: Stage, what: str) -> int:
        """What was searched with one is tested with another."""
        text = f"{self.settings.seed}/{stage.name}/{what}"
        return int.from_bytes(hashlib.sha256(text.encode()).digest()[:4]) >> 1

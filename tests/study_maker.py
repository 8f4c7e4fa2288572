"""Studies as a search leaves them, made in a moment: nothing is trained, everything is seeded."""

import math
import time
from collections.abc import Sequence
from pathlib import Path
from random import Random
from typing import Any

from pangaea.evolution.strategies import strategy
from pangaea.evolution.trials import Again, Measured, Proposal, Trial, generator
from pangaea.functions.expression import Function
from pangaea.study.settings import flat
from pangaea.study.stages import BEST, TESTED
from pangaea.study.study import Study, Wanted
from pangaea.tasks.goal import Goal, maximize, minimize

ACCURACY = maximize("accuracy", unit="%", failure=10.0, threshold=20.0, digits=2)
LOSS = minimize("validation loss", unit="nats", digits=3)  # a failure is infinitely bad

_GRID = (-4.0, -2.0, -1.0, -0.3, 0.0, 0.3, 1.0, 2.0, 4.0)
_WANTED = [x - 1.2 * math.log(1 / (1 + math.exp(-x))) for x in _GRID]
_NOISE = 1.5  # points between two runs of one function
_BASELINE = 68.0
_LAYERS = 4


class Maker:
    """Fills a study as its driver would, at a made-up pace.

    How good a function is, is counted in percent; a goal that is minimised has scores that fall as
    that rises.
    """

    def __init__(
        self,
        path: Path | str,
        *,
        budget: int = 5,
        workers: int = 3,
        goal: Goal = ACCURACY,
        baseline: str = "relu(x)",
        unit: str = "epochs",
        again: int = 0,
        **given: Any,
    ) -> None:
        """With `again`, every so many candidates the best one runs again, twice as long."""
        settings: dict[str, Any] = {"task": "mnist1d", "candidates": 40, "runs": 3}
        if given.get("strategy", "evolution") in ("evolution", "thrifty"):
            settings |= {"population": 12, "sample": 4}
        budgets = {"search": budget, "full": 2 * budget}
        about = {
            "name": settings["task"],
            "goal": goal.as_dict(),
            "baseline": baseline,
            "budgets": budgets,
            "unit": unit,
        }
        self.study = Study.create(path, flat(settings | given), about)
        self.goal, self.budgets, self.again = goal, budgets, again
        self.trials: list[Trial] = []
        self._free = [time.time()] * workers  # when each worker has done its last job

    def __enter__(self) -> "Maker":
        return self

    def __exit__(self, *_: object) -> None:
        self.study.close()

    def score(self, percent: float) -> float:
        """What the goal calls so good a function."""
        return percent if self.goal.maximised else 4.0 * (1 - percent / 100)

    def baseline(self, runs: int = 3) -> None:
        with self.study.transaction():
            for seed in range(runs):
                self.run("baseline", None, self.study.baseline, seed, _BASELINE)

    def search(self, count: int | None = None) -> None:
        """So many runs more, in one transaction; all that are left if not said."""
        settings = self.study.settings
        done = sum(len(trial.runs) for trial in self.trials)
        propose = strategy(settings.strategy).propose
        with self.study.transaction():
            for number in range(done + 1, done + 1 + (count or settings.candidates - done)):
                if self.again and number % self.again == 0:
                    self._promote(number)
                    continue
                rng = generator(settings.seed, number)
                proposal = propose(self.trials, rng, settings.oriented(self.goal))
                assert not isinstance(proposal, Again)
                self.add(len(self.trials) + 1, proposal)

    def add(self, number: int, proposal: Proposal) -> None:
        """A candidate and its result, inside a transaction of the caller."""
        self.study.add(number, str(proposal.function), proposal.parent, proposal.mutation)
        text = str(proposal.function)
        score = self.run("search", number, text, number, quality(proposal.function))
        measured = Measured(self.budgets["search"], self._oriented(score))
        self.trials.append(Trial(number, text, proposal.parent, (measured,), measured.score))

    def _promote(self, seed: int) -> None:
        place, trial = max(enumerate(self.trials), key=lambda t: t[1].score or -math.inf)
        budget = self.budgets["full"]
        percent = quality(trial.function)
        score = self.run("promotion", trial.number, trial.text, seed, percent, budget)
        self.trials[place] = trial.after(Measured(budget, self._oriented(score)), 1.0, None)

    def _oriented(self, score: float | None) -> float | None:
        return None if score is None else self.goal.oriented(score)

    def judge(self) -> None:
        """Rerank and test, as far as the settings say."""
        with self.study.transaction():
            for row in self.study.best(BEST):
                for seed in range(2):
                    self.run("rerank", row["number"], row["function"], seed, 74.0)
        with self.study.transaction():
            rows = self.study.best(TESTED)
            references = [self.study.baseline, *self.study.settings.further]
            functions = dict.fromkeys(references) | {r["function"]: r["number"] for r in rows}
            for text, number in functions.items():
                good = _BASELINE if text in references else 76.0
                for seed in range(self.study.settings.runs):
                    self.run("test", number, text, seed, good)

    def run(
        self,
        stage: str,
        candidate: int | None,
        text: str,
        seed: int,
        good: float | None,
        budget: int | None = None,
        task: str = "mnist1d",
    ) -> float | None:
        """What a training run gave, on the worker that falls free first; returns the score."""
        rng = Random(f"{stage}/{text}/{seed}")
        full = stage in ("rerank", "test", "general")
        budget = budget or self.budgets["full" if full else "search"]
        part = "test" if stage == "test" else "validation"
        asked = self.study.ask(
            Wanted(stage, candidate, text, task, None, budget, seed, part)  # on the paper's scope
        )
        started = min(self._free)
        seconds = rng.uniform(0.9, 1.3) * (2 + text.count("("))
        result: dict[str, Any] = {"device": "cpu"}
        score = None
        if good is None:
            seconds *= 0.1
            reason = rng.choice(["diverged", "diverged", "exploded", "out of memory"])
            result |= {"failure": reason, "detail": "the loss was nan after 3 steps"}
        else:
            score = self.score(min(max(rng.gauss(good, _NOISE), 5.0), 99.0))
            result |= {"score": score, "curves": self._curves(text, score, budget, rng)}
            if stage == "test":
                result["values"] = {"validation": score}
        worker = self._free.index(started)
        self._free[worker] = started + seconds
        when = {"started": started, "finished": started + seconds, "worker": f"host/{100 + worker}"}
        self.study.record(asked.number, result | when | {"seconds": seconds})
        return score

    def _curves(self, text: str, score: float, epochs: int, rng: Random) -> dict[str, Any]:
        part = [1 - math.exp(-3 * (e + 1) / epochs) for e in range(epochs)]
        names = [n for n in ("alpha", "beta", "gamma") if n in text]
        ends = {n: [rng.uniform(-0.3, 1.8) for _ in range(_LAYERS)] for n in names}
        start = self.score(10.0)
        return {
            "loss": [2.3 * (1 - 0.9 * p) for p in part],
            "training": [start + (score - start) * 1.05 * p for p in part],
            "validation": {
                e + 1: start + (score - start) * part[e] / part[-1] for e in range(epochs)
            },
            "parameters": {
                n: [[1 + (end - 1) * p for end in ends[n]] for p in [0.0, *part]] for n in names
            },
        }


def quality(f: Function) -> float | None:
    """The better, the nearer to a good function; None for one that cannot be trained."""
    values = [f(x) for x in _GRID]
    if not all(math.isfinite(v) for v in values) or max(map(abs, values)) > 60:
        return None
    away = math.dist(values, _WANTED) / len(_GRID)
    return 12 + 66 * math.exp(-0.7 * away)


def make(path: Path | str, candidates: int = 40, *, done: int | None = None, **given: Any) -> Path:
    """A finished study; with `done`, one that was left off after so many candidates."""
    with Maker(path, candidates=candidates, **given) as maker:
        maker.baseline()
        maker.search(done)
        if done is None:
            maker.judge()
    return Path(path)


def forge(path: Path, texts: Sequence[str]) -> Path:
    """A study whose functions are texts that no search writes."""
    with Maker(path, candidates=len(texts)) as maker:
        maker.baseline()
        with maker.study.transaction():
            for number, text in enumerate(texts, 1):
                maker.study.add(number, text, None, text)
                maker.run("search", number, text, number, 60.0 + number)
    return path


def generalize(path: Path) -> Path:
    """What `pangaea general` keeps: runs of functions on several tasks, and no candidate."""
    with Maker(path) as maker, maker.study.transaction():
        for text in ("swish(x)", "elu(alpha*x)", "tanh(x)"):
            for task in ("mnist1d", "other.py:task"):
                for seed in range(2):
                    good = None if text == "tanh(x)" and seed else 70.0
                    maker.run("general", None, text, seed, good, task=task)
    return path

"""Studies as a search leaves them, made in a moment: nothing is trained, everything is seeded."""

import math
import time
from collections.abc import Sequence
from pathlib import Path
from random import Random
from typing import Any

from pangaea.evolution.strategies import STRATEGIES, Evaluated, Proposal, generator
from pangaea.functions.expression import Function
from pangaea.study.settings import Settings
from pangaea.study.study import RELU, RERANKED, TESTED, Study

_GRID = (-4.0, -2.0, -1.0, -0.3, 0.0, 0.3, 1.0, 2.0, 4.0)
_WANTED = [x - 1.2 * math.log(1 / (1 + math.exp(-x))) for x in _GRID]
_NOISE = 1.5  # points between two runs of one function
_RELU = 68.0
_LAYERS = 4


class Maker:
    """Fills a study as its driver would, at a made-up pace."""

    def __init__(
        self, path: Path | str, *, epochs: int = 5, workers: int = 3, **given: Any
    ) -> None:
        said = {"candidates": 40, "population": 12, "sample": 4, "runs": 3} | given
        recipes = {"search": {"epochs": epochs}, "full": {"epochs": 2 * epochs}}
        self.study = Study.create(path, Settings(**said), recipes, classes=10)
        self.epochs = epochs
        self.history: list[Evaluated] = []
        self._free = [time.time()] * workers  # when each worker has done its last job

    def __enter__(self) -> "Maker":
        return self

    def __exit__(self, *_: object) -> None:
        self.study.close()

    def baseline(self, runs: int = 3) -> None:
        with self.study.transaction():
            for seed in range(runs):
                self.run("baseline", None, RELU, seed, _RELU)

    def search(self, count: int | None = None) -> None:
        """So many candidates more, in one transaction; all that are left if not said."""
        settings = self.study.settings
        done = len(self.history)
        with self.study.transaction():
            for number in range(done + 1, done + 1 + (count or settings.candidates - done)):
                rng = generator(settings.seed, number)
                propose = STRATEGIES[settings.strategy]
                self.add(number, propose(self.history, rng, settings.evolution))

    def add(self, number: int, proposal: Proposal) -> None:
        """A candidate and its result, inside a transaction of the caller."""
        made = self.study.add(number, proposal, seed=number)
        fitness = self.run("search", number, made.function, number, quality(proposal.function))
        self.history.append(Evaluated(number, made.function, fitness))

    def judge(self) -> None:
        """Rerank and test, as far as the settings say."""
        with self.study.transaction():
            for row in self.study.best(RERANKED):
                for seed in range(2):
                    self.run("rerank", None, row["function"], seed, row["fitness"] + 2)
        with self.study.transaction():
            for text in [RELU, *(row["function"] for row in self.study.best(TESTED))]:
                good = _RELU if text == RELU else 76.0
                for seed in range(self.study.settings.runs):
                    self.run("test", None, text, seed, good)

    def run(
        self, stage: str, candidate: int | None, text: str, seed: int, good: float | None
    ) -> float:
        """What a training run gave, on the worker that falls free first; returns the accuracy."""
        rng = Random(f"{stage}/{text}/{seed}")
        started = min(self._free)
        seconds = rng.uniform(0.9, 1.3) * (2 + text.count("("))
        result: dict[str, Any] = {"function": text, "seed": seed, "device": "cpu"}
        if good is None:
            seconds *= 0.1
            reason = rng.choice(["diverged", "diverged", "exploded", "out of memory"])
            result |= {"failure": reason, "detail": "the loss was nan after 3 steps (epoch 1)"}
        else:
            good = min(max(rng.gauss(good, _NOISE), 5.0), 99.0)
            full = stage in ("rerank", "test")
            result |= {"accuracy": good} | self._curves(text, good, 1 + full, rng)
        worker = self._free.index(started)
        self._free[worker] = started + seconds
        when = {"started": started, "finished": started + seconds, "worker": f"host/{100 + worker}"}
        self.study.record(stage, candidate, result | when | {"seconds": seconds})
        return good or 0.0

    def _curves(self, text: str, good: float, times: int, rng: Random) -> dict[str, Any]:
        epochs = self.epochs * times
        part = [1 - math.exp(-3 * (e + 1) / epochs) for e in range(epochs)]
        names = [n for n in ("alpha", "beta", "gamma") if n in text]
        ends = {n: [rng.uniform(-0.3, 1.8) for _ in range(_LAYERS)] for n in names}
        return {
            "loss": [2.3 * (1 - 0.9 * p) for p in part],
            "training": [10 + min(89.0, good + 9) * p for p in part],
            "validation": {e + 1: good * part[e] / part[-1] for e in range(epochs)},
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
                maker.study.add(number, Proposal(text, None, text), seed=number)  # type: ignore[arg-type]
                maker.run("search", number, text, number, 60.0 + number)
    return path

"""The search loop: propose, record, submit, wait; the same for every engine.

A candidate is on the disk before it is submitted, and its result before anything follows from it,
so a driver killed at any instant goes on by submitting again what has no result.
"""

import hashlib
import math
import signal
import threading
import time
from collections.abc import Callable, Sequence
from types import FrameType
from typing import Any

from pangaea.errors import PangaeaError
from pangaea.evolution.ranking import top
from pangaea.evolution.strategies import STRATEGIES, Evaluated, generator
from pangaea.study.study import RELU, RERANK_RUNS, RERANKED, TESTED, Candidate, Study
from pangaea.workers.engine import Engine
from pangaea.workers.judge import Job, Result

BASELINE_RUNS = 3
# Failures that need not be the function's fault. So many in a row, and ReLU is tried again.
_OUTSIDE = ("exception", "worker killed", "CUDA error", "out of memory", "time limit")
_SUSPICIOUS = 10
_AT_ONCE = 8  # seeds of a job: a GPU trains several at a time
_SHARES = 8  # jobs for each worker at least, so that none waits long for another's last
_TICK_SECONDS = 1.0
_LONELY_SECONDS = 20.0


class Watch:
    """What a search tells while it runs; a display overrides what it shows."""

    def stage(self, study: Study, name: str, done: int, total: int) -> None:
        """A stage begins: baseline, search, rerank or test."""

    def result(self, study: Study, job: Job, results: Sequence[Result]) -> None:
        """Results were recorded."""

    def waiting(self) -> None:
        """There is no worker yet."""

    def stopping(self, running: int) -> None:
        """Nothing new is begun; so many jobs still run."""


class Stop:
    """Ctrl-C or SIGTERM once: begin nothing new. Twice: stop at once."""

    def __init__(self) -> None:
        self.asked = False

    def __enter__(self) -> "Stop":
        self._before: dict[int, Any] = {}
        if threading.current_thread() is threading.main_thread():
            for number in (signal.SIGINT, signal.SIGTERM):
                self._before[number] = signal.signal(number, self._handle)
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def _handle(self, number: int, frame: FrameType | None) -> None:
        if self.asked:
            raise KeyboardInterrupt
        self.asked = True


class Search:
    """Takes a study from where it stands to its end."""

    def __init__(self, study: Study, engine: Engine, watch: Watch, stop: Stop) -> None:
        self.study, self.engine, self.watch, self.stop = study, engine, watch, stop
        self.settings = study.settings
        self.history: list[Evaluated] = study.history()
        self._proposed = study.proposed()
        self._bad = 0  # failures in a row that need not be the functions' fault

    def run(self) -> None:
        runs = self.study.runs("baseline")
        failed = bool(runs) and runs[-1]["failure"] is not None  # which may have been mended
        self._need_relu(max(BASELINE_RUNS, len(runs) + failed))
        self._evolve()
        if self.settings.rerank:
            self.judge("rerank", [e.text for e in top(self.history, RERANKED)], RERANK_RUNS)
        if self.settings.runs and self.history:
            best = [row["function"] for row in self.study.best(TESTED)]
            self.judge("test", list(dict.fromkeys([RELU, *best])), self.settings.runs)

    def _evolve(self) -> None:
        """Keep every worker busy with candidates until C of them have their result."""
        total = self.settings.candidates
        if len(self.history) >= total:
            return
        again = self.study.pending()
        self.watch.stage(self.study, "search", len(self.history), total)

        def more(free: int) -> list[Job]:
            jobs: list[Job] = []
            while len(jobs) < free and not self._suspicious() and (again or self._proposed < total):
                made = again.pop(0) if again else self._propose()
                jobs.append(self._job("search", made.function, (made.seed,), made.number))
            return jobs

        self._loop(more)
        while len(self.history) < total:  # too many failed in a row: is it them, or the machine?
            self._bad = 0
            self._need_relu(len(self.study.runs("baseline")) + 1)
            self._loop(more)

    def _propose(self) -> Candidate:
        number = self._proposed + 1
        rng = generator(self.settings.seed, number)
        propose = STRATEGIES[self.settings.strategy]
        proposal = propose(self.history, rng, self.settings.evolution)
        self._proposed = number
        return self.study.add(number, proposal, self._seed("search", number))

    def judge(
        self, stage: str, functions: Sequence[str], runs: int, task: str | None = None
    ) -> None:
        """Train each function with the stage's first seeds, as far as that is not done yet."""
        done = {(run["function"], run["seed"]) for run in self.study.runs(stage)}
        seeds = [self._seed(stage, k) for k in range(runs)]
        left = {f: [s for s in seeds if (f, s) not in done] for f in functions}
        count, total = sum(map(len, left.values())), len(functions) * runs
        if not count:
            return
        self.watch.stage(self.study, stage, total - count, total)
        size = min(_AT_ONCE, math.ceil(count / (_SHARES * max(1, self.engine.slots()))))
        jobs = [
            self._job(stage, function, tuple(some[first : first + size]), task=task)
            for function, some in left.items()
            for first in range(0, len(some), size)
        ]

        def more(free: int) -> list[Job]:
            return [jobs.pop(0) for _ in range(min(free, len(jobs)))]

        self._loop(more)

    def _loop(self, more: Callable[[int], list[Job]]) -> None:
        """Record and propose in one transaction, then submit and wait, until there is no more."""
        ended: list[tuple[Job, list[Result]]] = []
        said = time.monotonic()
        while True:
            jobs = self._turn(ended, more)
            if jobs:
                self.engine.submit(jobs)
            for job, results in ended:
                self.watch.result(self.study, job, results)
            if self.engine.running == 0:
                if self.stop.asked:
                    raise KeyboardInterrupt
                if self.engine.slots() > 0:
                    return
            elif self.stop.asked:
                self.watch.stopping(self.engine.running)
            if self.engine.slots() == 0 and time.monotonic() - said > _LONELY_SECONDS:
                self.watch.waiting()
                said = time.monotonic()
            ended = self.engine.wait(_TICK_SECONDS)

    def _turn(
        self, ended: Sequence[tuple[Job, list[Result]]], more: Callable[[int], list[Job]]
    ) -> list[Job]:
        free = 0 if self.stop.asked else self.engine.slots() - self.engine.running
        if not ended and free <= 0:
            return []
        with self.study.transaction():
            for job, results in ended:
                for result in results:
                    self._record(job, result)
            return more(free) if free > 0 else []

    def _record(self, job: Job, result: Result) -> None:
        self.study.record(job.stage, job.candidate, result)
        if job.candidate is not None:
            fitness = result.get("accuracy") or 0.0
            self.history.append(Evaluated(job.candidate, job.function, fitness))
            self._bad = self._bad + 1 if result.get("failure") in _OUTSIDE else 0

    def _suspicious(self) -> bool:
        return self._bad >= max(_SUSPICIOUS, 2 * self.engine.slots())

    def _need_relu(self, runs: int) -> None:
        """If not even ReLU can be trained, no candidate can."""
        self.judge("baseline", [RELU], runs)
        last = self.study.runs("baseline")[-1]
        if last["failure"] is not None:
            raise PangaeaError(
                f"ReLU itself cannot be trained on {self.settings.task} ({last['failure']}: "
                f"{last['detail']}), so the search has stopped; mend that, then "
                f"`pangaea resume {self.study.path}`"
            )

    def _job(
        self,
        stage: str,
        function: str,
        seeds: tuple[int, ...],
        candidate: int | None = None,
        task: str | None = None,
    ) -> Job:
        chosen, short = self.settings, stage in ("baseline", "search")
        limit = chosen.timeout
        if limit is not None:
            epochs = [self.study.recipes[name]["epochs"] for name in ("search", "full")]
            limit *= len(seeds) * (1 if short else epochs[1] / epochs[0])
        return Job(
            stage=stage,
            candidate=candidate,
            function=function,
            seeds=seeds,
            task=task or chosen.task,
            recipe="search" if short else "full",
            epochs=chosen.epochs if short else None,
            scope=chosen.scope,
            data="test" if stage == "test" else "validation",
            limit=limit,
        )

    def _seed(self, stage: str, number: int) -> int:
        """Every run has its own seed; what was searched with one is tested with another."""
        text = f"{self.settings.seed}/{stage}/{number}"
        return int.from_bytes(hashlib.sha256(text.encode()).digest()[:4]) >> 1

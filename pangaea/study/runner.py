"""The runner: record, submit, wait; the same for every stage and every engine.

A run is on the disk before it is submitted, and its result before anything follows from it, so a
driver killed at any instant goes on by submitting again what has no result.
"""

import os
import signal
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from types import FrameType
from typing import Any

from pangaea.study.stages import KEEPING
from pangaea.study.study import Run, Study, Wanted
from pangaea.training.how import How
from pangaea.workers.engine import Engine
from pangaea.workers.judge import Job, Result

_TICK_SECONDS = 1.0
_LONELY_SECONDS = 20.0


class Watch:
    """What a search tells while it runs; a display overrides what it shows."""

    asked_at: float | None = None  # when somebody asked for it, by `time.monotonic`; None for now

    def note(self, text: str) -> None:
        """Something to know before it begins."""
        print(text, file=sys.stderr, flush=True)

    def stage(self, study: Study, name: str, done: int, total: int) -> None:
        """A stage begins, of which so many runs are done."""

    def planned(self, total: int) -> None:
        """So many runs the stage will have, as far as its time shows now."""

    def result(self, study: Study, run: Run, result: Result) -> None:
        """A result was recorded."""

    def waiting(self) -> None:
        """There is no worker yet."""

    def stopping(self, running: int) -> None:
        """Nothing new is begun; so many runs are still going on."""


class Stop:
    """Ctrl-C, SIGTERM or a terminal that closes once: begin nothing new. Twice: stop at once."""

    def __init__(self) -> None:
        self.asked = False

    def __enter__(self) -> "Stop":
        self._before: dict[int, Any] = {}
        if threading.current_thread() is threading.main_thread():
            numbers = [signal.SIGINT, signal.SIGTERM]
            if signal.getsignal(signal.SIGHUP) != signal.SIG_IGN:  # as nohup has it
                numbers.append(signal.SIGHUP)
            for number in numbers:
                self._before[number] = signal.signal(number, self._handle)
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def _handle(self, number: int, frame: FrameType | None) -> None:
        if number == signal.SIGHUP:
            _leave_terminal()
        if self.asked:
            raise KeyboardInterrupt
        self.asked = True


def _leave_terminal() -> None:
    """Nothing can be written to one that is closed."""
    nowhere = os.open(os.devnull, os.O_RDWR)
    for place in range(3):
        if os.isatty(place):
            os.dup2(nowhere, place)
    os.close(nowhere)


class Runner:
    """Takes runs to their results, as many at once as there is room for."""

    def __init__(
        self,
        study: Study,
        engine: Engine,
        watch: Watch,
        stop: Stop,
        *,
        how: How | None = None,
        seconds: float | None = None,
    ) -> None:
        """`seconds` are the time limit for each unit of budget."""
        self.study, self.engine, self.watch, self.stop = study, engine, watch, stop
        self._seconds = seconds
        self._how = {keep: replace(how or How(), keep_model=keep) for keep in (True, False)}
        self._folder = study.path.absolute().with_name(study.path.name + ".checkpoints")
        self._running: dict[int, Run] = {}
        self.failed: set[int] = set()  # runs with a result that counts until they have another

    @property
    def running(self) -> int:
        """Runs without a result, as far as they were submitted."""
        return len(self._running)

    def complete(
        self,
        wanted: Sequence[Wanted],
        ended: Callable[[Run, Result], None] | None = None,
        fits: Callable[[int, int, int], bool] | None = None,
        total: int | None = None,
        later: int = 0,
    ) -> None:
        """Do all of these, as far as that is not done yet, and those again that `failed`.

        Runs that differ in their seed alone stand for each other: what counts is their number.
        `ended` is told each result; one whose budget no longer `fits`, beside those that are
        running and those that are left, is left out, with the rest.
        A person reads that they are a part of a `total`, of which so many runs come `later`.
        """
        if not wanted:
            return
        stages = [*dict.fromkeys(want.stage for want in wanted)]
        rows = [row for stage in stages for row in self.study.runs(stage)]
        done = Counter(_kind(row) for row in rows if row["run"] not in self.failed)
        failed = [_run(row) for row in rows if row["run"] in self.failed]
        waiting: dict[Wanted, list[Run]] = {}
        for run in (*self.study.pending(stages), *failed):
            waiting.setdefault(_kind(run.wanted._asdict()), []).append(run)
        left: list[Wanted | Run] = []
        kinds = [_kind(want._asdict()) for want in wanted]
        for kind, want in zip(kinds, wanted, strict=True):
            if done[kind] > 0:
                done[kind] -= 1
            else:
                left.append(waiting[kind].pop(0) if waiting.get(kind) else want)
        # Those that nobody wants any more count all the same, as long as they failed.
        for kind in dict.fromkeys(kinds):
            left += [run for run in waiting.get(kind, ()) if run.number in self.failed]
        if not left or (fits and not fits(_budget(left[0]), self.running, len(left))):
            return
        total = len(wanted) if total is None else total
        self.watch.stage(self.study, stages[0], total - later - len(left), total)

        def more(free: int) -> list[Run]:
            now: list[Run] = []
            while left and len(now) < free:
                running = self.running + len(now)
                if fits is not None and not fits(_budget(left[0]), running, len(left)):
                    break
                one = left.pop(0)
                now.append(one if isinstance(one, Run) else self.study.ask(one))
            return now

        self.loop(more, ended)

    def loop(
        self,
        more: Callable[[int], Sequence[Run]],
        ended: Callable[[Run, Result], None] | None = None,
    ) -> None:
        """Record and ask in one transaction, then submit and wait, until there is no more.

        `more` gives runs for so many free places, and `ended` is told each result before it.
        """
        results: list[tuple[Job, Result]] = []
        told = time.monotonic()
        while True:
            self.study.check_content()
            try:
                runs, done = self._turn(results, more, ended)
            finally:
                self.study.check_place()
            if runs:
                self._running.update((run.number, run) for run in runs)
                self.engine.submit([self._job(run) for run in runs])
            for run, result in done:
                self.watch.result(self.study, run, result)
            if self.engine.running == 0:
                if self.stop.asked:
                    raise KeyboardInterrupt
                if self.engine.slots() > 0:
                    return
            elif self.stop.asked:
                self.watch.stopping(self.engine.running)
            if self.engine.slots() == 0 and time.monotonic() - told > _LONELY_SECONDS:
                self.watch.waiting()
                told = time.monotonic()
            results = self.engine.wait(_TICK_SECONDS)

    def _turn(
        self,
        results: Sequence[tuple[Job, Result]],
        more: Callable[[int], Sequence[Run]],
        ended: Callable[[Run, Result], None] | None,
    ) -> tuple[Sequence[Run], list[tuple[Run, Result]]]:
        free = 0 if self.stop.asked else self.engine.slots() - self.engine.running
        if not results and free <= 0:
            return [], []
        done = []
        with self.study.transaction():
            for job, result in results:
                run = self._running.pop(job.run)
                self.study.record(run.number, result, instead=run.number in self.failed)
                self.failed.discard(run.number)
                if ended is not None:
                    ended(run, result)
                done.append((run, result))
            return (more(free) if free > 0 else []), done

    def _job(self, run: Run) -> Job:
        wanted = run.wanted
        return Job(
            run=run.number,
            stage=wanted.stage,
            task=wanted.task,
            function=wanted.function,
            scope=wanted.scope,
            budget=wanted.budget,
            seed=wanted.seed,
            part=wanted.part,
            limit=None if self._seconds is None else self._seconds * wanted.budget,
            how=self._how[wanted.stage in KEEPING],
            # A killed worker's long run goes on from there, wherever the folder can be reached.
            checkpoints=f"{self._folder}/run-{run.number}",
        )

    def clear(self) -> None:
        """Leave no checkpoints behind: every run has its result. What is not ours stays."""
        for kept in self._folder.glob("run-*/seed-*.checkpoint*"):
            with suppress(OSError):
                kept.unlink()
        for folder in (*self._folder.glob("run-*"), self._folder):
            with suppress(OSError):
                folder.rmdir()


def _budget(one: Wanted | Run) -> int:
    return one.wanted.budget if isinstance(one, Run) else one.budget


def _run(row: Mapping[str, Any]) -> Run:
    return Run(row["run"], Wanted(*(row[name] for name in Wanted._fields)))


def _kind(row: Mapping[str, Any]) -> Wanted:
    """What runs have in common that differ in their seed alone."""
    fields = {name: row[name] for name in Wanted._fields}
    return Wanted(**fields | {"candidate": None, "seed": 0})

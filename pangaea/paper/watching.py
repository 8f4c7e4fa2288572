"""What an experiment tells while it runs, and when its time is up."""

import json
import os
import signal
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from pangaea.errors import PangaeaError
from pangaea.paper import lines
from pangaea.study.runner import Watch
from pangaea.study.stages import PAPER
from pangaea.study.study import Run, Study
from pangaea.workers.judge import OUTSIDE, Result

_SUSPICIOUS = 8  # two on each of four workers


class TimeUpError(KeyboardInterrupt):
    """The minutes are over: as if somebody had stopped it."""


class Deadline:
    """Stops whatever goes on after so many minutes, as Ctrl-C would."""

    def __init__(self, minutes: float | None) -> None:
        self._minutes, self._over = minutes, threading.Event()

    @property
    def over(self) -> bool:
        return self._over.is_set()

    @contextmanager
    def kept(self) -> Iterator[None]:
        if self._minutes is None:
            yield
            return
        if threading.current_thread() is not threading.main_thread():
            raise PangaeaError("minutes can be given in the main thread alone: leave them out")
        timer = threading.Timer(60 * self._minutes, self._end)
        timer.daemon = True
        timer.start()
        try:
            yield
        except KeyboardInterrupt:
            if self.over:
                raise TimeUpError from None
            raise
        finally:
            timer.cancel()

    def _end(self) -> None:
        self._over.set()
        os.kill(os.getpid(), signal.SIGINT)


class Plain(Watch):
    """A line for each result."""

    def __init__(self) -> None:
        self._started = time.monotonic()

    def stage(self, study: Study, name: str, done: int, total: int) -> None:
        print(f"{name}: {done} of {total} runs are there", file=sys.stderr, flush=True)

    def result(self, study: Study, run: Run, result: Result) -> None:
        minute = (time.monotonic() - self._started) / 60
        score = result.get("score")
        outcome = result.get("failure") if score is None else f"{score:.2f}"
        asked = run.wanted
        scope = f" per {asked.scope}" if asked.scope else ""
        took = f"{result['seconds']:.0f} s"
        told = f"{minute:6.1f} min  {asked.task} {asked.function}{scope}: {outcome} ({took})"
        print(told, file=sys.stderr, flush=True)


class Watching(Watch):
    """Tells another, keeps lines, and ends at once what was asked to stop for its time."""

    def __init__(
        self,
        told: Watch,
        log: Path | str | None,
        source: Mapping[str, Any],
        deadline: Deadline,
    ) -> None:
        self._told, self._log, self._source, self._deadline = told, log, source, deadline
        if log is not None:
            try:
                Path(log).open("a").close()
            except OSError as error:
                raise PangaeaError(f"{log} cannot be written: {error.strerror}") from None
        self._void = 0  # results in a row that need not be the functions' fault

    def note(self, text: str) -> None:
        self._told.note(text)

    def stage(self, study: Study, name: str, done: int, total: int) -> None:
        self._told.stage(study, name, done, total)

    def result(self, study: Study, run: Run, result: Result) -> None:
        self._told.result(study, run, result)
        self._void = self._void + 1 if result.get("failure") in OUTSIDE else 0
        if self._void >= _SUSPICIOUS and run.wanted.stage == PAPER.name:
            raise PangaeaError(
                f"{self._void} runs in a row came to nothing, which may be the machine's fault "
                f"({result['failure']}: {result.get('detail')}); mend that, and run it again"
            )
        if self._void == 0 and self._log is not None and run.wanted.stage == PAPER.name:
            row = lines.line(run.wanted._asdict() | result, self._source)
            with Path(self._log).open("a", encoding="utf-8") as file:
                file.write(json.dumps(row, ensure_ascii=False) + "\n")

    def waiting(self) -> None:
        self._told.waiting()

    def stopping(self, running: int) -> None:
        if self._deadline.over:
            raise TimeUpError
        self._told.stopping(running)

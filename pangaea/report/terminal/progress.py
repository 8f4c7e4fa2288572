"""A progress bar on a terminal, plain lines elsewhere."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TextIO

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from pangaea.report import texts
from pangaea.report.measures import duration
from pangaea.study.runner import Watch
from pangaea.study.stages import STAGES
from pangaea.study.study import Run, Study
from pangaea.wording import counted
from pangaea.workers.judge import Result

_LINE_SECONDS = 30.0


@contextmanager
def bar(stream: TextIO, total: float) -> Iterator[Callable[..., None]]:
    """Gives `advance(done, what=None)`; shows how far, on what, and how long it will take."""
    if not stream.isatty():
        yield _lines(stream, total)
        return
    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        TextColumn("{task.percentage:3.0f}%"),
        TimeElapsedColumn(),
        TextColumn("ETA"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(file=stream, emoji=False), transient=True) as progress:
        shown = progress.add_task("", total=total)

        def advance(done: float, what: str | None = None) -> None:
            progress.update(shown, completed=done, description=what)

        yield advance


def _lines(stream: TextIO, total: float) -> Callable[..., None]:
    started = last = time.monotonic()
    current = ""

    def advance(done: float, what: str | None = None) -> None:
        nonlocal last, current
        current = what or current
        now = time.monotonic()
        if now - last >= _LINE_SECONDS and done > 0:
            last = now
            left = (now - started) * (total - done) / done
            stream.write(f"{100 * done / total:.0f}% {current} (about {duration(left)} left)\n")
            stream.flush()

    return advance


class Counted(Watch):
    """Moves a bar by one for each run that has ended."""

    def __init__(self, advance: Callable[..., None]) -> None:
        self._advance, self._done = advance, 0

    def stage(self, study: Study, name: str, done: int, total: int) -> None:
        self._done = done
        self._advance(done, STAGES[name].doing)

    def result(self, study: Study, run: Run, result: Result) -> None:
        self._done += 1
        self._advance(self._done, texts.short(run.wanted.function))

    def stopping(self, running: int) -> None:
        self._advance(self._done, f"stopping after {counted(running, 'run')}; once more: at once")

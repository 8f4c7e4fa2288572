"""What a person sees of a search: a live table on a terminal, plain lines elsewhere."""

import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TextIO

from rich.console import Console, Group
from rich.live import Live
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn
from rich.table import Table
from rich.text import Text

from pangaea.functions.equivalence import fingerprint
from pangaea.functions.parser import parse
from pangaea.study.loop import Watch
from pangaea.study.study import Study
from pangaea.workers.judge import Job, Result

_SHOWN = 8  # best functions in the live table
_LINE_EVERY = 10  # candidates, where there is no terminal
_STAGES = {
    "baseline": "ReLU first",
    "search": "searching",
    "rerank": "training the best again",
    "test": "testing the best",
}


@dataclass(frozen=True)
class _Best:
    fitness: float
    number: int
    function: str
    mark: str  # equivalent functions share it
    seconds: float


class Board(Watch):
    """Keeps count of a running search, at a cost that does not grow with it."""

    def __init__(self) -> None:
        self.name, self.done, self.total, self.began = "", 0, 0, 0
        self.best: list[_Best] = []
        self.failures: Counter[str] = Counter()
        self.relu: float | None = None
        self.relu_seconds: float | None = None
        self.started = time.monotonic()
        self.said_stopping = False

    def stage(self, study: Study, name: str, done: int, total: int) -> None:
        self.name, self.done, self.began, self.total = name, done, done, total
        self.started = time.monotonic()
        if name == "search":
            self.failures = Counter(study.failures())
            self.relu = study.relu
            baseline = study.runs("baseline")
            # The first runs of a worker also load the data.
            self.relu_seconds = min((run["seconds"] for run in baseline), default=None)
            for row in study.best(_SHOWN):
                self._place(row["fitness"], row["number"], row["function"], row["seconds"])

    def result(self, study: Study, job: Job, results: Sequence[Result]) -> None:
        self.done += len(results)
        for result in results:
            if job.candidate is None:
                continue
            if result.get("failure") is not None:
                self.failures[result["failure"]] += 1
            else:
                self._place(result["accuracy"], job.candidate, job.function, result["seconds"])

    def _place(self, fitness: float, number: int, function: str, seconds: float) -> None:
        if len(self.best) == _SHOWN and fitness <= self.best[-1].fitness:
            return
        mark = fingerprint(parse(function))
        same = next((b for b in self.best if b.mark == mark), None)
        if same is not None:
            if same.fitness >= fitness:
                return
            self.best.remove(same)
        self.best.append(_Best(fitness, number, function, mark, seconds))
        self.best.sort(key=lambda b: (-b.fitness, b.number))
        del self.best[_SHOWN:]

    def left(self) -> float | None:
        """Seconds that the stage will still take, if it goes on as it did."""
        news = self.done - self.began
        if not news:
            return None
        return (time.monotonic() - self.started) * (self.total - self.done) / news

    def failed(self) -> str:
        return ", ".join(f"{count} {reason}" for reason, count in self.failures.most_common())


class Lines(Board):
    """One line for a few candidates, no control codes."""

    def __init__(self, stream: TextIO) -> None:
        super().__init__()
        self._stream = stream

    def say(self, text: str) -> None:
        self._stream.write(text + "\n")
        self._stream.flush()

    def stage(self, study: Study, name: str, done: int, total: int) -> None:
        super().stage(study, name, done, total)
        if name == "search" and self.relu is not None:
            self.say(f"ReLU: {self.relu:.2f}% validation accuracy")
        of = f", {done} of {total} done before" if done else f", {total} runs"
        self.say(f"{_STAGES.get(name, name)}{of}")

    def result(self, study: Study, job: Job, results: Sequence[Result]) -> None:
        super().result(study, job, results)
        if job.stage == "search" and (self.done % _LINE_EVERY == 0 or self.done == self.total):
            self.say(self._line())

    def _line(self) -> str:
        parts = [f"{self.done}/{self.total}"]
        if self.best:
            best = self.best[0]
            gain = "" if self.relu is None else f" ({best.fitness - self.relu:+.2f})"
            parts.append(f"best {best.fitness:.2f}%{gain} {parse(best.function).readable()}")
        if self.failures:
            parts.append(f"failed: {self.failed()}")
        if (left := self.left()) is not None:
            parts.append(f"about {_duration(left)} left")
        return " · ".join(parts)

    def waiting(self) -> None:
        self.say("waiting for a worker")

    def stopping(self, running: int) -> None:
        if not self.said_stopping:
            self.said_stopping = True
            self.say(_stopping(running))


class Screen(Board):
    """A progress bar, the best functions so far and what failed, redrawn in place."""

    def __init__(self, console: Console) -> None:
        super().__init__()
        self.console = console
        self._note = ""

    def __rich__(self) -> Group:
        parts: list[Any] = [self._bar()]
        if self.best:
            parts.append(self._table())
        if self.failures:
            parts.append(Text(f"failed: {self.failed()}", style="dim"))
        if self._note:
            parts.append(Text(self._note, style="bold"))
        return Group(*parts)

    def _bar(self) -> Progress:
        left = self.left()
        shown = Progress(
            TextColumn(_STAGES.get(self.name, self.name or "starting the workers")),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("" if left is None else f"about {_duration(left)} left"),
            console=self.console,
        )
        shown.add_task("", completed=self.done, total=self.total or None)
        return shown

    def _table(self) -> Table:
        table = Table("", "function", "fitness", "gain", "cost", box=None, pad_edge=False)
        table.columns[1].overflow = "fold"
        for column in table.columns[2:]:
            column.justify, column.no_wrap = "right", True
        for best in self.best:
            table.add_row(
                Text(f"#{best.number}", style="dim"),
                Text(parse(best.function).readable()),
                f"{best.fitness:.2f}%",
                "" if self.relu is None else f"{best.fitness - self.relu:+.2f}",
                _cost(best.seconds, self.relu_seconds),
            )
        return table

    def stage(self, study: Study, name: str, done: int, total: int) -> None:
        super().stage(study, name, done, total)
        if name == "search" and self.relu is not None:
            self.console.print(f"ReLU: {self.relu:.2f}% validation accuracy", highlight=False)

    def result(self, study: Study, job: Job, results: Sequence[Result]) -> None:
        super().result(study, job, results)
        if not self.said_stopping:
            self._note = ""

    def waiting(self) -> None:
        self._note = "waiting for a worker"

    def stopping(self, running: int) -> None:
        self.said_stopping = True
        self._note = _stopping(running)


@contextmanager
def display(console: Console) -> Iterator[Board]:
    """The display that suits where the output goes."""
    if not console.is_terminal:
        yield Lines(console.file)  # type: ignore[arg-type]
        return
    screen = Screen(console)
    with Live(screen, console=console, refresh_per_second=4, transient=True):
        yield screen


def _stopping(running: int) -> str:
    jobs = "1 job is" if running == 1 else f"{running} jobs are"
    return f"stopping: {jobs} still running; once more to stop at once (they run again on resume)"


def _cost(seconds: float, relu: float | None) -> str:
    return f"{seconds:.1f} s" if not relu else f"{seconds / relu:.1f}× ReLU"


def _duration(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return f"{hours} h {minutes} min"
    return f"{minutes} min" if minutes > 2 else f"{60 * minutes + rest} s"

"""What a person sees of a search: a live table on a terminal, plain lines elsewhere."""

import io
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, TextIO

from rich.console import Console, Group
from rich.live import Live
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn
from rich.text import Text

from pangaea.evolution.ranking import top
from pangaea.evolution.trials import Measured, Trial
from pangaea.functions.equivalence import fingerprint
from pangaea.report import texts
from pangaea.report.measures import duration
from pangaea.report.terminal.columns import Functions, Line
from pangaea.study.runner import Watch
from pangaea.study.stages import BASELINE, PAPER, PROPOSED, SEARCH, STAGES
from pangaea.study.study import Run, Study
from pangaea.tasks.goal import Goal
from pangaea.wording import counted
from pangaea.workers.judge import Result

_SHOWN = 8  # best functions in the live table
_LINE_EVERY = 10  # runs, where there is no terminal


class Board(Watch):
    """Keeps count of a running search, at a cost that does not grow with it."""

    def __init__(self) -> None:
        self.name, self.done, self.total, self.began = "", 0, 0, 0
        self.goal = Goal(name="score")
        self.best: list[Trial] = []  # scores so that larger is better
        self.failures: Counter[str] = Counter()
        self.baseline = ""  # as people call it
        self.baseline_score: float | None = None
        self.baseline_seconds: float | None = None
        self.started = time.monotonic()
        self.said_stopping = False
        self._trials: dict[int, Trial] = {}

    @property
    def doing(self) -> str:
        """What is going on, in words."""
        if self.name == BASELINE.name:
            return f"{BASELINE.doing}: {self.baseline}"
        return STAGES[self.name].doing if self.name in STAGES else self.name

    def stage(self, study: Study, name: str, done: int, total: int) -> None:
        self.name, self.done, self.began, self.total = name, done, done, total
        self.started = time.monotonic()
        self.goal, self.baseline = study.goal, texts.name(study.baseline)
        if name == SEARCH.name:
            self.failures = Counter(texts.harmless(study.failures()))
            self.baseline_score = study.baseline_score
            runs = [run for run in study.runs(BASELINE.name) if run["score"] is not None]
            # The first runs of a worker also load the data.
            self.baseline_seconds = min((run["seconds"] for run in runs), default=None)
            self._trials = {trial.number: trial for trial in study.trials()}
            self.best = top(self._trials.values(), _SHOWN)

    def planned(self, total: int) -> None:
        self.total = total

    def result(self, study: Study, run: Run, result: Result) -> None:
        self.done += 1
        wanted = run.wanted
        if wanted.stage not in PROPOSED or wanted.candidate is None:
            return
        score, failure = result.get("score"), result.get("failure")
        if failure is not None:
            self.failures[texts.inert(failure)] += 1
        measured = Measured(wanted.budget, None if score is None else self.goal.oriented(score))
        before = self._trials.get(wanted.candidate)
        if before is None:
            trial = Trial(
                wanted.candidate,
                wanted.function,
                None,
                (measured,),
                measured.score,
                result["seconds"],
            )
            self._trials[wanted.candidate] = trial
            self._place(trial)
        else:  # which may have made it worse
            self._trials[wanted.candidate] = before.after(measured, result["seconds"], failure)
            self.best = top(self._trials.values(), _SHOWN)

    def _place(self, trial: Trial) -> None:
        """A new candidate among the best, of which no two are equivalent."""
        if trial.score is None:
            return
        if len(self.best) == _SHOWN and trial.score <= _score(self.best[-1]):
            return
        mark = fingerprint(trial.function)
        same = next((b for b in self.best if fingerprint(b.function) == mark), None)
        if same is not None:
            if _score(same) >= trial.score:
                return
            self.best.remove(same)
        self.best.append(trial)
        self.best.sort(key=lambda b: (-_score(b), b.number))
        del self.best[_SHOWN:]

    def left(self) -> float | None:
        """Seconds that the stage will still take, if it goes on as it did."""
        news = self.done - self.began
        if not news:
            return None
        return (time.monotonic() - self.started) * (self.total - self.done) / news

    def failed(self) -> str:
        return ", ".join(f"{count} {reason}" for reason, count in self.failures.most_common())

    def level(self) -> str | None:
        """What there is to beat."""
        if self.baseline_score is None:
            return None
        score = self.goal.shown(self.baseline_score)
        return f"{self.baseline}: {score} {self.goal.called('validation')}"

    def score(self, trial: Trial) -> str:
        return self.goal.shown(self.goal.oriented(_score(trial)))

    def gain(self, trial: Trial) -> str:
        """By how much it is better than the baseline."""
        if self.baseline_score is None:
            return ""
        return self.goal.shown_gain(self.goal.oriented(_score(trial)), self.baseline_score)


class Lines(Board):
    """One line for a few runs, no control codes."""

    def __init__(self, stream: TextIO) -> None:
        super().__init__()
        self._stream = stream

    def say(self, text: str) -> None:
        try:
            self._stream.write(text + "\n")
            self._stream.flush()
        except BrokenPipeError:  # nobody reads it any more; the search goes on
            self._stream = io.StringIO()

    def stage(self, study: Study, name: str, done: int, total: int) -> None:
        goes_on = (name, done) == (self.name, self.done)  # with its next round
        super().stage(study, name, done, total)
        if goes_on and done:
            return
        if name == SEARCH.name and (level := self.level()) is not None:
            self.say(level)
        of = f", {done} of {total} done before" if done else f", {counted(total, 'run')}"
        self.say(self.doing + of)

    def result(self, study: Study, run: Run, result: Result) -> None:
        super().result(study, run, result)
        proposed = run.wanted.stage in PROPOSED
        if proposed and (self.done % _LINE_EVERY == 0 or self.done == self.total):
            self.say(self._line())
        elif run.wanted.stage == PAPER.name:
            self.say(self._result(study, run, result))

    def _result(self, study: Study, run: Run, result: Result) -> str:
        asked, score = run.wanted, result.get("score")
        goal = study.goals.get(asked.task, self.goal)
        outcome = texts.inert(result["failure"]) if score is None else goal.shown(score)
        scope = f" per {asked.scope}" if asked.scope else ""
        return (
            f"{self.done}/{self.total} · {texts.inert(asked.task)} · {texts.short(asked.function)}"
            f"{scope} · {outcome} · {duration(result['seconds'])}"
        )

    def _line(self) -> str:
        parts = [f"{self.done}/{self.total}"]
        if self.best:
            best = self.best[0]
            gain = f" ({gain})" if (gain := self.gain(best)) else ""
            parts.append(f"best {self.score(best)}{gain} {texts.short(best.text)}")
        if self.failures:
            parts.append(f"failed: {self.failed()}")
        if (left := self.left()) is not None:
            parts.append(f"about {duration(left)} left")
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
        columns = [
            TextColumn(self.doing or "starting the workers", markup=False),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("" if left is None else f"about {duration(left)} left"),
        ]
        if self.console.width < 60:  # what there is to read comes before the bar
            del columns[1]
        shown = Progress(*columns, console=self.console)
        shown.add_task("", completed=self.done, total=self.total or None)
        return shown

    def _table(self) -> Functions:
        lines = [
            Line(
                texts.short(best.text),
                [self.score(best), self.gain(best), self._cost(best)],
                f"#{best.number}",
            )
            for best in self.best
        ]
        return Functions(["score", "gain", "cost"], lines)

    def _cost(self, trial: Trial) -> str:
        """Of a run, on average."""
        seconds = trial.cost / len(trial.runs)
        if not self.baseline_seconds:
            return f"{seconds:.1f} s"
        return f"{seconds / self.baseline_seconds:.1f}× {self.baseline}"

    def stage(self, study: Study, name: str, done: int, total: int) -> None:
        super().stage(study, name, done, total)
        if name == SEARCH.name and (level := self.level()) is not None:
            self.console.print(level, highlight=False, markup=False)

    def result(self, study: Study, run: Run, result: Result) -> None:
        super().result(study, run, result)
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


def _score(trial: Trial) -> float:
    return float("-inf") if trial.score is None else trial.score


def _stopping(running: int) -> str:
    jobs = "1 job is" if running == 1 else f"{running} jobs are"
    return f"stopping: {jobs} still running; once more to stop at once (they run again on resume)"

"""Engines and watches for tests of what drives them."""

from pathlib import Path

from pangaea.study.runner import Runner, Stop, Watch
from pangaea.study.study import Run, Study
from pangaea.workers.engine import InProcess
from pangaea.workers.judge import Job, Judge, Result
from tests.study.judges import instant


class Several(InProcess):
    """Three jobs at once, of which the last ends first."""

    def slots(self) -> int:
        return 3

    def wait(self, seconds: float) -> list[tuple[Job, Result]]:
        self._waiting.reverse()
        return super().wait(seconds)


class Telling(Watch):
    """Notes all that it is told."""

    def __init__(self) -> None:
        self.stages: list[tuple[str, int, int]] = []
        self.runs: list[Run] = []
        self.waited = 0

    def stage(self, study: Study, name: str, done: int, total: int) -> None:
        self.stages.append((name, done, total))

    def result(self, study: Study, run: Run, result: Result) -> None:
        self.runs.append(run)

    def waiting(self) -> None:
        self.waited += 1


class Noting:
    """A judge that notes its jobs, and may be interrupted after so many."""

    def __init__(self, judge: Judge = instant, most: int | None = None) -> None:
        self.judge, self.most = judge, most
        self.jobs: list[Job] = []

    def __call__(self, job: Job) -> Result:
        if len(self.jobs) == self.most:
            raise KeyboardInterrupt
        self.jobs.append(job)
        return self.judge(job)


def runner(
    study: Study,
    judge: Judge = instant,
    engine: type[InProcess] = InProcess,
    watch: Watch | None = None,
    stop: Stop | None = None,
) -> Runner:
    return Runner(study, engine(judge), watch or Watch(), stop or Stop())


def folder(study: Study) -> Path:
    """Where its runs keep their checkpoints."""
    return study.path.with_name(study.path.name + ".checkpoints")

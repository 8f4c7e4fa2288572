"""Does a search find better functions than those that everybody uses? Several searches on a task.

    python benchmarks/embedded.py charlm --workers 16 --minutes 9

Whole searches, as `pangaea search --task TASK --seed N` makes them, go on side by side. Eight
common functions are trained with the full budget, and validation data chooses the best of them.
That one, the baseline and the function that each search puts first are then trained with seeds
that nothing else has, and judged on test data.

When the minutes are over nothing new begins. Every run is kept in --folder, and the same command
goes on with them. Torch, NumPy, Dask and pangaea's source are all that is needed.
"""

import argparse
import json
import math
import os
import shlex
import signal
import sys
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from statistics import fmean
from typing import Any

from embedded_statistics import Scores, compared, described

from pangaea.files import replacing
from pangaea.functions.catalog import resolve
from pangaea.locating import settled
from pangaea.report import findings, records
from pangaea.study import driver
from pangaea.study.runner import Stop, Watch
from pangaea.study.settings import settings
from pangaea.study.stages import GENERAL, STAGES, TEST, Stage
from pangaea.study.study import Study, Wanted
from pangaea.system import cpu
from pangaea.tasks.evaluate import own_seeds
from pangaea.tasks.finding import task as find_task
from pangaea.tasks.goal import Goal
from pangaea.tasks.task import Task
from pangaea.workers.cluster import cores
from pangaea.workers.engine import engine
from pangaea.workers.judge import judge
from pangaea.workers.place import Place
from pangaea.workers.worker import die_with_parent

COMMON = ("relu", "prelu", "elu", "gelu", "swish", "mish", "softplus", "tanh")
CHOICE = GENERAL  # the full budget on validation data


@dataclass(frozen=True)
class Campaign:
    """What is done for one task, with how many workers and until when, and where it is kept."""

    where: str  # the task's name, or the place of one's own
    folder: Path
    searches: int
    runs: int
    workers: int
    until: float
    candidates: int | None

    @property
    def task(self) -> Task:
        return find_task(self.where)

    def study(self, seed: int) -> Path:
        return self.folder / f"{self.task.name}-{seed}.study"

    @property
    def tests(self) -> Path:
        return self.folder / f"{self.task.name}-tests.study"

    @property
    def common(self) -> dict[str, str]:
        """The name of each common function by its text."""
        return {str(resolve(name)): name for name in COMMON}

    def prepare(self) -> None:
        """The file of the tests says on which machine all of it was begun."""
        self.folder.mkdir(parents=True, exist_ok=True)
        self.task.prepare()
        if not self.tests.exists():
            about = self.task.about() | {"hardware": hardware(self.workers)}
            Study.create(self.tests, settings({"task": self.where}, self.task), about).close()

    # The searches.

    def finished(self, seed: int) -> bool:
        if not self.study(seed).exists():
            return False
        with records.opened(self.study(seed)) as study:
            return findings.state(study) == "finished"

    def search(self) -> bool:
        """Go on with every search, as many at once as there are workers; are all of them done?"""
        left = [seed for seed in range(self.searches) if not self.finished(seed)]
        if not left:
            return True
        at_once = max(1, min(len(left), self.workers))
        shares = [self.workers // at_once + (n < self.workers % at_once) for n in range(at_once)]
        with ProcessPoolExecutor(at_once, get_context("spawn"), die_with_parent) as pool:
            futures = [
                pool.submit(search_once, self, seed, shares[n % at_once])
                for n, seed in enumerate(left)
            ]
            try:
                for future in futures:
                    future.result()
            except KeyboardInterrupt:
                pool.shutdown(cancel_futures=True)
                raise
        return all(map(self.finished, left))

    def firsts(self) -> list[str]:
        """The function that each search puts first; test data has no say in that."""
        functions = []
        for seed in range(self.searches):
            with Study.open(self.study(seed)) as study:
                functions.append(str(study.best(1)[0]["function"]))
        return functions

    # The tests.

    def test(self) -> None:
        with (
            Stop() as stop,
            interrupted_at(self.until),
            engine(judge, Place(workers=self.workers)) as workers,
            Study.resume(self.tests) as study,
        ):
            runner = driver.runner(study, workers, Progress(), stop)
            tested = [study.baseline, *self.firsts()]
            runner.complete([*self._wanted(CHOICE, self.common), *self._wanted(TEST, tested)])
            runner.complete(self._wanted(TEST, [self.chosen(study)]))
            runner.clear()

    def _wanted(self, stage: Stage, functions: Iterable[str]) -> list[Wanted]:
        return [
            Wanted(
                stage=stage.name,
                candidate=None,
                function=function,
                task=self.where,
                scope=None,
                budget=self.task.budgets[stage.budget],
                seed=seed,
                part=stage.part,
            )
            for function in dict.fromkeys(functions)
            for seed in own_seeds(0, f"embedded/{stage.name}/{function}", self.runs)
        ]

    def chosen(self, study: Study) -> str:
        """The best of the common functions on validation data."""
        goal, scores = study.goal, study.scores(CHOICE.name)
        return max(self.common, key=lambda text: goal.oriented(fmean(goal.worths(scores[text]))))

    # What came of it.

    def report(self) -> dict[str, Any]:
        searches = [self._searched(seed) for seed in range(self.searches)]
        with Study.open(self.tests) as study:
            goal, about = study.goal, study.task
            choice, tests = study.scores(CHOICE.name), study.scores(TEST.name)
            best = self.chosen(study) if self._whole(choice, self.common) else None
            versions, baseline = study.versions, study.baseline
        done = best is not None and all(row["state"] == "finished" for row in searches)
        firsts = self.firsts() if done else []
        done = done and self._whole(tests, (str(best), baseline, *firsts))
        return {
            "command": "python benchmarks/embedded.py " + shlex.join(sys.argv[1:]),
            "hardware": about.pop("hardware"),
            "versions": versions,
            "task": about,
            "complete": done,
            "searches": searches,
            "on validation data": self._described(goal, choice),
            "best common function": best and self.common[best],
            "on test data": self._described(goal, tests),
            "comparisons": compared(goal, firsts, str(best), tests) if done else [],
        }

    def _whole(self, scores: Mapping[str, Scores], functions: Iterable[str]) -> bool:
        return all(len(scores.get(function, ())) >= self.runs for function in functions)

    def _described(self, goal: Goal, scores: Mapping[str, Scores]) -> dict[str, Any]:
        return {self.common.get(text, text): described(goal, some) for text, some in scores.items()}

    def _searched(self, seed: int) -> dict[str, Any]:
        path = self.study(seed)
        if not path.exists():
            return {"seed": seed, "state": "not begun"}
        with records.opened(path) as study:
            runs, first = study.runs(), study.best(1)
            row = {
                "seed": seed,
                "state": findings.state(study),
                "settings": study.settings.as_dict(),
                "runs": len(runs),
                "failures": study.failures,
                "seconds": round(max((r["finished"] for r in runs), default=0) - study.created),
                "seconds of one core": round(sum(run["seconds"] for run in runs)),
            }
            return row | {name: first[0][name] for name in ("function",) if first}


def search_once(campaign: Campaign, seed: int, workers: int) -> None:
    """One search, begun or gone on with, to its end or until time is up."""
    if time.time() >= campaign.until:
        return
    path = campaign.study(seed)
    given: dict[str, Any] = {"watch": Progress(), "workers": workers}
    small: dict[str, Any] = {"candidates": campaign.candidates, "runs": campaign.runs}
    with suppress(KeyboardInterrupt), interrupted_at(campaign.until):
        if path.exists():
            driver.resume(path, **given).close()
        else:
            where = campaign.where
            driver.search(where, study=path, seed=seed, dry_run=False, **small, **given).close()


class Progress(Watch):
    """A line for each stage of a study."""

    def stage(self, study: Study, name: str, done: int, total: int) -> None:
        moment, doing = time.strftime("%H:%M:%S"), STAGES[name].doing
        print(f"{moment} {study.path.name}: {doing}, {done} of {total} done", flush=True)


@contextmanager
def interrupted_at(moment: float) -> Iterator[None]:
    """Ctrl-C at that time: what runs may end, and nothing new begins."""
    if math.isfinite(moment):
        signal.signal(signal.SIGALRM, lambda *_: signal.raise_signal(signal.SIGINT))
        signal.setitimer(signal.ITIMER_REAL, max(0.001, moment - time.time()))
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)


def hardware(workers: int) -> str:
    """`AMD EPYC 9654, 16 cores, 16 workers`."""
    return f"{cpu()}, {cores()} cores, {workers} workers"


def parsed(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("task", help="charlm, pinn, tabular, … or my_task.py:task")
    parser.add_argument("--searches", type=int, default=3)
    parser.add_argument("--runs", type=int, default=10, help="of each function in every test")
    parser.add_argument("--candidates", type=int, help="of a search; default: the task's")
    parser.add_argument("--workers", type=int, default=cores())
    parser.add_argument("--minutes", type=float, default=math.inf, help="no run begins later")
    parser.add_argument("--folder", type=Path, default=Path("embedded"), help="for the studies")
    parser.add_argument("--out", type=Path, help="default: results/embedded-TASK.json")
    return parser.parse_args(arguments)


def main() -> None:
    options = parsed()
    campaign = Campaign(
        where=settled(options.task),
        folder=options.folder,
        searches=options.searches,
        runs=options.runs,
        workers=options.workers,
        until=time.time() + 60 * options.minutes,
        candidates=options.candidates,
    )
    campaign.prepare()
    with suppress(KeyboardInterrupt):
        if campaign.search():
            campaign.test()
    report = campaign.report()
    out = options.out or Path(f"results/embedded-{campaign.task.name}.json")
    with replacing(out) as file:
        file.write((json.dumps(report, indent=1, allow_nan=False) + "\n").encode())
    for row in report["comparisons"]:
        print(row)
    if not report["complete"]:
        states = ", ".join(row["state"] for row in report["searches"])
        print(f"not done yet (searches: {states}); the same command goes on", flush=True)
        sys.exit(os.EX_TEMPFAIL)


if __name__ == "__main__":
    main()

"""Do short or cheap trainings rank functions as long ones do? Real CIFAR-100, validation alone.

    python benchmarks/rank_audit.py RUNS.jsonl --minutes 20
    python benchmarks/rank_audit.py RUNS.jsonl --report results/rank-audit.json

24 functions: six common ones, six of the paper's, and twelve children of these, as a search would
compare them. Every run has a seed of its own. A finished run is a line of the file, and is not run
again. The settings are worked off one after another, in each the first runs of all functions before
the second ones, so what is missing when time is up is at the end.
"""

import argparse
import collections
import contextlib
import hashlib
import json
import multiprocessing
import os
import platform
import random
import time
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from itertools import chain
from multiprocessing import connection
from pathlib import Path
from statistics import fmean
from typing import Any

import torch

import pangaea as pg
from pangaea.evolution.creation import parameterized
from pangaea.evolution.mutations import mutate
from pangaea.evolution.strategies.thrifty import may_learn
from pangaea.functions.learnable import LEARNABLE
from pangaea.functions.paper import FIGURES
from pangaea.tasks.classification import Classification
from pangaea.training.recipes import Recipe
from pangaea.workers.mps import mps
from pangaea.workers.worker import die_with_parent

COMMON = ("relu", "swish", "gelu", "elu", "tanh", "softplus")
PAPER = ("wrn-1", "wrn-2", "wrn-3", "general-1", "general-2", "general-3")
CHILDREN = 12
REPEATS = 2
TASK = "wrn-10-4/cifar100"
CHANCE = 1.0  # percent, what a failed run counts
PUBLISHED = Path(__file__).parents[1] / "results/paper.jsonl"
HALF = "wrn-10-4/cifar100-half"  # images of 16 x 16 pixels
# Most telling first: the epochs of 48 runs are 720, 2400, 288, 720, 720 and 4800.
SETTINGS = (
    "wrn-10-4/cifar100:15,wrn-10-4/cifar100:50,wrn-10-4/cifar100:6,"
    f"wrn-10-2/cifar100:15,{HALF}:15,wrn-10-4/cifar100:100"
)
ATTEMPTS = 2  # a neighbour's fault on the GPU may end a run that has none
SPAWN = multiprocessing.get_context("spawn")


@dataclass(frozen=True)
class Candidate:
    name: str
    text: str
    parent: str | None = None


@dataclass(frozen=True)
class Job:
    """One run that was asked for."""

    name: str
    function: str
    task: str
    epochs: int
    repeat: int

    @property
    def key(self) -> tuple[str, str, int, int]:
        return self.function, self.task, self.epochs, self.repeat

    @property
    def seed(self) -> int:
        """The run's own, and the same in whatever order the runs are made."""
        return int.from_bytes(hashlib.sha256(repr(self.key).encode()).digest()[:4])

    @property
    def limit(self) -> float:
        """Seconds after which it hangs: an epoch takes 1.4 beside three others on an H200."""
        return 180 + 10 * self.epochs


def candidates() -> list[Candidate]:
    """The functions, common ones, the paper's and children in turn: a part of them is a mixture."""
    known = pg.catalog()
    parents = [Candidate(name, str(known[name])) for name in (*COMMON, *PAPER)]
    seen, rng, children = {pg.fingerprint(known[p.name]) for p in parents}, random.Random(0), []
    while len(children) < CHILDREN:
        parent = rng.choice(parents)
        form = known[parent.name].expression
        for _ in range(rng.choice((1, 2))):
            _, form = mutate(form, rng)
        child = parameterized(form, rng)
        if may_learn(child) and pg.fingerprint(child) not in seen:
            seen.add(pg.fingerprint(child))
            children.append(Candidate(f"child-{len(children) + 1}", str(child), parent.name))
    quarters = (parents[:6], parents[6:], children[:6], children[6:])
    return list(chain.from_iterable(zip(*quarters, strict=True)))


def printed() -> dict[str, float]:
    """What the paper has of these functions on WRN-10-4: test accuracy after 200 epochs, n = 10."""
    means: dict[str, float] = {}
    for row in FIGURES:
        if row.network == "wrn-10-4" and row.mean is not None:
            with contextlib.suppress(pg.PangaeaError):  # a learnable baseline is no expression
                means.setdefault(pg.fingerprint(pg.parse(row.function)), row.mean)
    marks = {c.name: pg.fingerprint(pg.parse(c.text)) for c in candidates()}
    return {name: means[mark] for name, mark in marks.items() if mark in means}


def measured() -> dict[str, float]:
    """The same of the published runs here: test accuracy with the full recipe."""
    scores = collections.defaultdict(list)
    for run in recorded(PUBLISHED):
        if run["task"] == TASK and run["budget"] == 200 and run["function"] not in LEARNABLE:
            mark = pg.fingerprint(pg.parse(run["function"]))
            scores[mark].append(CHANCE if run["score"] is None else run["score"])
    marks = {c.name: pg.fingerprint(pg.parse(c.text)) for c in candidates()}
    return {name: round(fmean(scores[m]), 2) for name, m in marks.items() if m in scores}


def jobs(settings: str, functions: int) -> list[Job]:
    """All runs in the order in which they are made."""
    wanted = []
    for setting in settings.split(","):
        task, _, epochs = setting.partition(":")
        wanted += [
            Job(c.name, c.text, task, int(epochs), repeat)
            for repeat in range(REPEATS)
            for c in candidates()[:functions]
        ]
    return wanted


def task_and_recipe(name: str, epochs: int) -> tuple[Classification, Recipe]:
    if name == HALF:
        task = replace(pg.task("wrn-10-4/cifar100/coarse"), name=name, coarse=epochs)
    else:
        task = pg.task(name)
    return task, task.recipe("full", epochs)


def work(channel: connection.Connection, device: str | None) -> None:
    """A worker: jobs in, what came of them out. What goes wrong ends this process, and no other."""
    die_with_parent()
    known: dict[tuple[str, int], tuple[Classification, Recipe]] = {}
    while True:
        job: Job = channel.recv()
        setting = job.task, job.epochs
        if setting not in known:
            known[setting] = task_and_recipe(*setting)
        task, recipe = known[setting]
        channel.send(pg.train(task, job.function, recipe, job.seed, device=device).as_dict())


class Worker:
    """A process, the job it has and the time at which that hangs."""

    def __init__(self, device: str | None) -> None:
        self.channel, theirs = SPAWN.Pipe()
        self.process = SPAWN.Process(target=work, args=(theirs, device), daemon=True)
        self.process.start()
        theirs.close()  # so that the end of the process is the end of the channel
        self.job: Job | None = None
        self.until = 0.0

    def begin(self, job: Job) -> None:
        self.job, self.until = job, time.monotonic() + job.limit
        with contextlib.suppress(OSError):  # a dead one is noticed where results are awaited
            self.channel.send(job)

    def result(self) -> dict[str, Any] | None:
        """What came of the job; None if the process is gone."""
        try:
            return self.channel.recv()
        except (EOFError, OSError):
            return None

    def stop(self) -> None:
        self.process.kill()
        self.process.join()


def line(job: Job, result: Mapping[str, Any]) -> dict[str, Any]:
    """What is kept of a run. JSON's keys are texts, so the validation curve is a list of pairs."""
    kept = ("score", "failure", "detail", "seconds", "peak_memory", "device")
    curve = result.get("validation", {}).items()
    return {
        **asdict(job),
        "seed": job.seed,
        **{name: result.get(name) for name in kept},
        "loss": (result.get("loss") or [None])[-1],
        "training": (result.get("training") or [None])[-1],
        "validation": [[epoch, round(score, 3)] for epoch, score in curve],
        "torch": torch.__version__,
        "python": platform.python_version(),
    }


def recorded(path: Path) -> list[dict[str, Any]]:
    """The runs in the file; a last line that was cut off is no run."""
    runs = []
    for text in path.read_text().splitlines() if path.exists() else ():
        with contextlib.suppress(json.JSONDecodeError):
            runs.append(json.loads(text))
    return runs


def key(run: Mapping[str, Any]) -> tuple[str, str, int, int]:
    return run["function"], run["task"], run["epochs"], run["repeat"]


@contextlib.contextmanager
def sharing() -> Iterator[None]:
    """Workers that are started now share the GPU through MPS, where there is one."""
    before = dict(os.environ)
    with mps() as environment:
        os.environ.update(environment)
        try:
            yield
        finally:
            os.environ.clear()
            os.environ.update(before)


def run_all(todo: list[Job], path: Path, workers: int, minutes: float, device: str | None) -> None:
    """Work the jobs off, as many at once as there are workers, until the time is up."""
    started, waiting = time.monotonic(), collections.deque(todo)
    tried: collections.Counter[Job] = collections.Counter()

    def note(job: Job, result: Mapping[str, Any]) -> None:
        with path.open("a") as file:
            file.write(json.dumps(line(job, result)) + "\n")
        minute = (time.monotonic() - started) / 60
        outcome = result.get("failure") or f"{result['score']:.2f}"
        print(f"{minute:5.1f} min  {job.task}:{job.epochs} {job.name} {outcome}", flush=True)

    def lost(job: Job, reason: str) -> None:
        tried[job] += 1
        print(f"{job.task}:{job.epochs} {job.name}: {reason}, attempt {tried[job]}", flush=True)
        if tried[job] < ATTEMPTS:
            waiting.appendleft(job)
        else:
            note(job, {"failure": reason})

    crew = [Worker(device) for _ in range(workers)]
    try:
        while True:
            open_ = time.monotonic() - started < 60 * minutes
            for worker in crew:
                if worker.job is None and waiting and open_:
                    worker.begin(waiting.popleft())
            busy = [worker for worker in crew if worker.job is not None]
            if not busy:
                return
            ready = connection.wait([worker.channel for worker in busy], timeout=1)
            for place, worker in enumerate(crew):
                if (job := worker.job) is None:
                    continue
                hangs = time.monotonic() > worker.until
                if worker.channel in ready and (result := worker.result()) is not None:
                    worker.job = None
                    note(job, result)
                elif worker.channel in ready or hangs:
                    worker.stop()
                    crew[place] = Worker(device)
                    lost(job, "hung" if hangs else "crashed")
    finally:
        for worker in crew:
            worker.stop()


def write_report(runs: Path, path: Path, commit: str | None) -> None:
    """What the runs say, with what is needed to make them again."""
    from rank_statistics import report  # needs SciPy, which the runs do not

    found, functions = recorded(runs), candidates()
    about = {
        "command": f"python benchmarks/rank_audit.py {runs} --device cuda",
        "commit": commit,
        "device": sorted({run["device"] for run in found if run["device"]}),
        "torch": sorted({run["torch"] for run in found}),
        "python": sorted({run["python"] for run in found}),
        "functions": {c.name: {"text": c.text, "parent": c.parent} for c in functions},
    }
    whole = {"the paper's 200 epochs": printed(), "200 epochs here": measured()}
    about |= report(found, [c.name for c in functions], REPEATS, whole)
    path.write_text(json.dumps(about, indent=1) + "\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("runs", type=Path)
    parser.add_argument("--minutes", type=float, default=20, help="no run begins later")
    parser.add_argument("--workers", type=int, default=4)
    parser.add_argument("--settings", default=SETTINGS, help="task:epochs,task:epochs,…")
    parser.add_argument("--functions", type=int, default=24, help="so many of them")
    parser.add_argument("--device")
    parser.add_argument("--report", type=Path, help="write what the runs say, and train nothing")
    parser.add_argument("--commit", help="of the runs, for the report")
    parser.add_argument("--list", action="store_true", help="print the functions")
    options = parser.parse_args()
    if options.report:
        write_report(options.runs, options.report, options.commit)
        return
    if options.list:
        for c in candidates():
            print(f"{c.name:10} {c.parent or '':10} {c.text}")
        return
    done = {key(run) for run in recorded(options.runs)}
    if done and not options.runs.read_text().endswith("\n"):  # a line that was cut off ends here
        with options.runs.open("a") as file:
            file.write("\n")
    todo = [job for job in jobs(options.settings, options.functions) if job.key not in done]
    print(f"{len(done)} runs are there, {len(todo)} are left", flush=True)
    with sharing():
        run_all(todo, options.runs, options.workers, options.minutes, options.device)


if __name__ == "__main__":
    main()

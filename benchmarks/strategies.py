"""Which strategy finds the better function for the same training? Whole searches, side by side.

    python benchmarks/strategies.py FOLDER --arms evolution thrifty choosy --searches 16
    python benchmarks/strategies.py FOLDER --report results/strategies.json

With `--task tabular-3` they search on another task.

An arm is a strategy, with settings of its own after a colon: `'thrifty:sample=3;rounds="8,4,2"'`.
The unit is the search: one core each, and the function that it puts first is tested with ten fresh
seeds.
Searches are studies in the folder, so that what is cut off goes on; the arms take turns, so that
what is finished is balanced.
"""

import argparse
import json
import multiprocessing
import os
import platform
import re
import shlex
import time
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch

import pangaea as pg
from pangaea.study.stages import BASELINE
from pangaea.system import cpu
from pangaea.workers.mps import mps
from pangaea.workers.worker import die_with_parent

TEST_RUNS = 10
FRESH = 1_000_000  # no search has such a seed
DRAWS = 10_000  # of the bootstrap
DIGITS = 6  # behind the point: searches on a task whose scores are shares lie 0.0005 apart


def settings(arm: str) -> dict[str, Any]:
    """`strategy:name=value;name=value` as settings of a search."""
    strategy, _, rest = arm.partition(":")
    pairs = (pair.split("=", 1) for pair in rest.split(";") if pair)
    return {"strategy": strategy} | {name: json.loads(value) for name, value in pairs}


def stem(arm: str, search: int) -> str:
    return f"{re.sub('[^a-z0-9.]+', '-', arm)}.{search}"


def searched(folder: Path, task: str, epochs: int | None, job: tuple[str, int]) -> dict[str, Any]:
    """A whole search and the test of what it put first; goes on where it was cut off."""
    arm, number = job
    path, done = (folder / (stem(arm, number) + end) for end in (".study", ".json"))
    if done.exists():
        return json.loads(done.read_text())
    started = time.perf_counter()
    if path.exists():
        study = pg.resume(path, workers=0)
    else:
        given = {"precision": "fp32"} | settings(arm) | {"seed": number, "runs": 0}
        study = pg.search(task, study=path, workers=0, **given)
    with study:
        (best,) = study.best(1)
        runs = [run for run in study.runs() if run["stage"] != BASELINE.name]
        goal = study.goal
    tested = pg.evaluate(
        best["function"], task, TEST_RUNS, seed=FRESH + number, epochs=epochs, precision="fp32"
    )
    believed = best["believed"]
    row = {
        "arm": arm,
        "search": number,
        "task": task,
        "function": best["function"],
        "believed": believed,
        "test": tested.mean,
        "tests": tested.scores,
        "optimism": goal.gain(believed, tested.mean),
        "units": sum(run["budget"] for run in runs),
        "runs": len(runs),
        "candidates": len({run["candidate"] for run in runs}),
        "failures": sum(run["failure"] is not None for run in runs),
        "seconds": time.perf_counter() - started,
        "machine": cpu(),
        "torch": torch.__version__,
        "python": platform.python_version(),
    }
    aside = done.with_suffix(".part")
    aside.write_text(json.dumps(row) + "\n")
    aside.replace(done)
    return row


def begin() -> None:
    """A process of the crew: one core, and gone with its parent."""
    die_with_parent()
    torch.set_num_threads(1)


def run_all(folder: Path, task: str, jobs: Sequence[tuple[str, int]], options: Any) -> None:
    """All of it, one search a core, until the time is up."""
    until = time.monotonic() + 60 * options.minutes
    spawn = multiprocessing.get_context("spawn")
    with mps() as environment:  # without a GPU it is empty
        os.environ.update(environment, OMP_NUM_THREADS="1")
        pool = spawn.Pool(options.processes, begin)
        results: Any = pool.imap_unordered(partial(searched, folder, task, options.epochs), jobs)
        for _ in jobs:
            try:
                row = results.next(max(0.0, until - time.monotonic()))
            except multiprocessing.TimeoutError:
                print("time is up; the same command goes on", flush=True)
                break
            print(
                f"{row['arm']} {row['search']}: {row['test']:.6g} (believed {row['believed']:.6g})"
                f" {row['function']}, {row['units']} units, {row['seconds']:.0f} s",
                flush=True,
            )
        pool.terminate()


def interval(values: np.ndarray) -> list[float]:
    """95% by bootstrap over searches, of the mean."""
    rng = np.random.default_rng(0)
    means = rng.choice(values, (DRAWS, len(values))).mean(1)
    return [round(float(q), DIGITS) for q in np.quantile(means, (0.025, 0.975))]


def difference(mine: np.ndarray, theirs: np.ndarray) -> dict[str, Any]:
    """Of two arms' means, with a 95% bootstrap interval over searches."""
    rng = np.random.default_rng(0)
    draws = [rng.choice(values, (DRAWS, len(values))).mean(1) for values in (mine, theirs)]
    low, high = np.quantile(draws[0] - draws[1], (0.025, 0.975))
    return {
        "difference": round(float(mine.mean() - theirs.mean()), DIGITS),
        "interval": [round(float(low), DIGITS), round(float(high), DIGITS)],
    }


def report(rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Each arm, and each pair of arms."""
    arms = list(dict.fromkeys(row["arm"] for row in rows))
    column = {
        (arm, name): np.array([row[name] for row in rows if row["arm"] == arm], float)
        for arm in arms
        for name in ("test", "optimism", "units", "candidates")
    }
    return {
        "arms": {
            arm: {
                "searches": len(column[arm, "test"]),
                "test": round(float(column[arm, "test"].mean()), DIGITS),
                "test_sd": round(float(column[arm, "test"].std(ddof=1)), DIGITS),
                "test_interval": interval(column[arm, "test"]),
                "optimism": round(float(column[arm, "optimism"].mean()), DIGITS),
                "optimism_interval": interval(column[arm, "optimism"]),
                "units": round(float(column[arm, "units"].mean()), 1),
                "candidates": round(float(column[arm, "candidates"].mean()), 1),
            }
            for arm in arms
        },
        "differences": {
            f"{a} - {b}": difference(column[a, "test"], column[b, "test"])
            for i, b in enumerate(arms)
            for a in arms[i + 1 :]
        },
        "rows": [dict(row) for row in rows],
    }


def command(rows: Sequence[Mapping[str, Any]]) -> str:
    """What makes such searches again."""
    arms = list(dict.fromkeys(row["arm"] for row in rows))
    first, last = (choose(row["search"] for row in rows) for choose in (min, max))
    words = ["--task", rows[0]["task"], "--searches", str(1 + last - first)]
    words += ["--first", str(first)] if first else []
    return shlex.join(["python", "benchmarks/strategies.py", "FOLDER", *words, "--arms", *arms])


def hardware(rows: Sequence[Mapping[str, Any]]) -> str:
    """What the searches were made on."""
    machines = {f"{r['machine']}, torch {r['torch']}, Python {r['python']}" for r in rows}
    return "one core each: " + "; ".join(sorted(machines))


def finished(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(path.read_text()) for path in sorted(folder.glob("*.json"))]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--arms", nargs="+", default=["evolution", "thrifty", "choosy"])
    parser.add_argument("--searches", type=int, default=15, help="of each arm")
    parser.add_argument("--first", type=int, default=0, help="the first search's seed")
    parser.add_argument("--processes", type=int, default=os.cpu_count())
    parser.add_argument("--minutes", type=float, default=1e6)
    parser.add_argument("--task", default="mnist1d")
    parser.add_argument("--epochs", type=int, help="of the tests; default: the full budget")
    parser.add_argument("--report", type=Path, help="write what the searches say, and search not")
    options = parser.parse_args()
    if options.report:
        rows = finished(options.folder)
        body = {"command": command(rows), "hardware": hardware(rows)} | report(rows)
        options.report.write_text(json.dumps(body, indent=1) + "\n")
        for arm, row in body["arms"].items():
            print(arm, row)
        for pair, row in body["differences"].items():
            print(pair, row)
        return
    options.folder.mkdir(parents=True, exist_ok=True)
    pg.task(options.task).prepare()
    jobs = [(arm, options.first + k) for k in range(options.searches) for arm in options.arms]
    run_all(options.folder, options.task, jobs, options)


if __name__ == "__main__":
    main()

"""Several candidates on one GPU at once: streams of one process, processes, processes with MPS.

    python benchmarks/at_once.py [--task wrn-10-4/cifar100] [--counts 1,2,4,8] [--json FILE]

Milliseconds of a step by candidate: the time of two epochs (augmentation and validation included)
by all steps that were taken in it. Gigabytes: what the GPU gave out, by candidate.
"""

import argparse
import json
import multiprocessing
import os
import platform
import subprocess
import threading
import time
from collections.abc import Mapping
from pathlib import Path

import torch
from training import FUNCTIONS, our_run, with_data

import pangaea as pg
from pangaea.workers.mps import mps

EPOCHS = 2
SPAWN = multiprocessing.get_context("spawn")
DEADLINE = 120  # seconds until all processes are ready


def smi() -> str:
    """The GPU's name, without a context of this process on it."""
    asked = ["nvidia-smi", "--query-gpu=name", "--format=csv,noheader"]
    return subprocess.run(asked, capture_output=True, text=True, check=True).stdout.splitlines()[0]


def train(task_name: str, runs: int, ready: threading.Barrier) -> tuple[float, float, float, int]:
    """When this process began and ended, the gigabytes given out meanwhile, and its steps."""
    torch.backends.cudnn.benchmark = True
    task, device = with_data(pg.task(task_name)), torch.device("cuda", 0)
    several = [our_run(task, FUNCTIONS["A"], device) for _ in range(runs)]
    for run in several:
        while run.epoch == 0:
            run.advance()
    torch.cuda.synchronize()
    ready.wait(DEADLINE)
    started = time.time()
    while several[-1].epoch <= EPOCHS:
        for run in several:
            run.advance()
    torch.cuda.synchronize()
    ended = time.time()
    free, total = torch.cuda.mem_get_info()
    ready.wait(DEADLINE)
    return started, ended, (total - free) / 1e9, EPOCHS * runs * several[0].batches.steps


def measured(
    task: str, processes: int, runs: int, environment: Mapping[str, str]
) -> dict[str, float]:
    before = dict(os.environ)
    os.environ.update(environment)
    try:
        with SPAWN.Manager() as manager, SPAWN.Pool(processes) as pool:
            ready = manager.Barrier(processes)
            done = pool.starmap(train, [(task, runs, ready)] * processes, chunksize=1)
    finally:
        os.environ.clear()
        os.environ.update(before)
    started, ended, gigabytes, steps = zip(*done, strict=True)
    return {
        "milliseconds": 1000 * (max(ended) - min(started)) / sum(steps),
        "gigabytes": max(gigabytes) / (processes * runs),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--task", default="wrn-10-4/cifar100")
    parser.add_argument("--counts", default="1,2,4,8")
    parser.add_argument("--json")
    options = parser.parse_args()
    report: dict[str, object] = {
        "task": options.task,
        "function": FUNCTIONS["A"],
        "device": smi(),
        "torch": torch.__version__,
        "python": platform.python_version(),
    }
    with mps() as shared:
        for count in map(int, options.counts.split(",")):
            ways = {"streams": (1, count, {}), "processes": (count, 1, {})}
            if shared:
                ways["processes with MPS"] = (count, 1, shared)
            for name, (processes, runs, environment) in ways.items():
                found = measured(options.task, processes, runs, environment)
                report[f"{count} {name}"] = found
                if options.json:
                    Path(options.json).write_text(json.dumps(report, indent=1) + "\n")
                print(
                    f"{count} {name:20} {found['milliseconds']:6.3f} ms a step and candidate, "
                    f"{found['gigabytes']:5.1f} GB each",
                    flush=True,
                )


if __name__ == "__main__":
    main()

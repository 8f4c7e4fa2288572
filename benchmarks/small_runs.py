"""Runs a second of the default task: so many processes, on the CPU or sharing a GPU.

python benchmarks/small_runs.py --processes 16 [--device cuda] [--kernels] [--count 20]
"""

import argparse
import json
import multiprocessing
import os
import random
import time
from typing import Any

import torch

import pangaea as pg
from pangaea.evolution.creation import initial, parameterized
from pangaea.training import run
from pangaea.workers.mps import mps


def work(number: int, options: argparse.Namespace, ready: Any, results: Any) -> None:
    """A process: one run to warm up, then so many, each of another function."""
    torch.set_num_threads(1)
    if options.kernels:
        run._SMALL = 0
    rng = random.Random(number)
    pg.train("mnist1d", "relu", "search", 0, device=options.device, precision="fp32")
    ready.wait()
    started, scores = time.perf_counter(), []
    for seed in range(options.count):
        function = parameterized(initial(rng), rng)
        result = pg.train(
            "mnist1d", function, "search", seed, device=options.device, precision="fp32"
        )
        scores.append(result.score)
    results.put((time.perf_counter() - started, scores))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--count", type=int, default=20, help="runs of each process")
    parser.add_argument("--kernels", action="store_true", help="compile every function's kernels")
    options = parser.parse_args()
    pg.task("mnist1d").prepare()
    spawn = multiprocessing.get_context("spawn")
    with mps() as environment:
        os.environ.update(environment)
        ready, results = spawn.Barrier(options.processes), spawn.Queue()
        crew = [
            spawn.Process(target=work, args=(number, options, ready, results))
            for number in range(options.processes)
        ]
        for process in crew:
            process.start()
        seconds = [results.get()[0] for _ in crew]
        for process in crew:
            process.join()
    runs = options.processes * options.count
    print(
        json.dumps(
            {
                "device": options.device,
                "kernels": options.kernels,
                "processes": options.processes,
                "runs": runs,
                "runs a second": round(runs / max(seconds), 2),
                "seconds a run": round(sum(seconds) / runs, 3),
            }
        )
    )


if __name__ == "__main__":
    main()

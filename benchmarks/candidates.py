"""Seconds a candidate on the default task: random functions as a search begins with, one core.

python benchmarks/candidates.py [--count 24]
"""

import argparse
import random
import statistics
import time

import torch

import pangaea as pg
from pangaea.evolution.creation import initial, parameterized
from pangaea.system import cpu


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=24)
    count = parser.parse_args().count
    rng = random.Random(0)
    pg.train("mnist1d", "relu", epochs=1)
    seconds = []
    for number in range(count):
        function = parameterized(initial(rng), rng)
        started = time.perf_counter()
        result = pg.train("mnist1d", function, "search", number)
        seconds.append(time.perf_counter() - started)
        outcome = result.failure or f"{result.score:.1f}%"
        print(f"{seconds[-1]:6.2f} s  {outcome:>9}  {function.readable()}", flush=True)
    started = time.perf_counter()
    pg.train("mnist1d", "relu", "search")
    print(
        f"mean {statistics.fmean(seconds):.2f} s, median {statistics.median(seconds):.2f} s over "
        f"{count} candidates, ReLU {time.perf_counter() - started:.2f} s; one thread, "
        f"{cpu()}, torch {torch.__version__}"
    )


if __name__ == "__main__":
    main()

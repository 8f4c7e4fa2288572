"""Seconds a candidate on the default task: random functions as a search begins with, one core.

python benchmarks/candidates.py [--count 24]
"""

import argparse
import platform
import random
import statistics
import time

import torch

import pangaea as pg
from pangaea.functions.expression import Expression, Function, X
from pangaea.functions.operators import BINARY, UNARY


def candidate(rng: random.Random) -> Function:
    """unary(unary(x)) or binary(unary(x), unary(x)), with up to three parameters."""

    def unary(inner: Expression) -> Expression:
        return Expression(rng.choice(UNARY), (inner,))

    if rng.random() < 0.5:
        expression = unary(unary(X))
    else:
        expression = Expression(rng.choice(BINARY), (unary(X), unary(X)))
    edges = [path for path, _ in expression.walk()]
    return Function(expression, tuple(rng.sample(edges, min(rng.randrange(4), len(edges)))))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=24)
    count = parser.parse_args().count
    rng = random.Random(0)
    pg.train("mnist1d", "relu", epochs=1)
    seconds = []
    for number in range(count):
        function = candidate(rng)
        started = time.perf_counter()
        result = pg.train("mnist1d", function, "search", number)
        seconds.append(time.perf_counter() - started)
        outcome = result.failure or f"{result.accuracy:.1f}%"
        print(f"{seconds[-1]:6.2f} s  {outcome:>9}  {function.readable()}", flush=True)
    started = time.perf_counter()
    pg.train("mnist1d", "relu", "search")
    print(
        f"mean {statistics.fmean(seconds):.2f} s, median {statistics.median(seconds):.2f} s over "
        f"{count} candidates, ReLU {time.perf_counter() - started:.2f} s; one thread, "
        f"{platform.processor() or platform.machine()}, torch {torch.__version__}"
    )


if __name__ == "__main__":
    main()

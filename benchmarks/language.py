"""How fast functions are read, printed, compared and evaluated, and how fast the program starts.

Run with `python benchmarks/language.py`.
"""

import os
import platform
import random
import statistics
import subprocess
import sys
import timeit
from collections import deque
from collections.abc import Callable, Iterable
from functools import partial

import pangaea as pg
from pangaea.functions.expression import X
from pangaea.functions.operators import BINARY, UNARY
from pangaea.system import cpu

COUNT, NODES, REPEATS, STARTS = 1000, 7, 5, 7
PROGRAM = "from pangaea.cli import main; main()"


def random_expression(rng: random.Random, nodes: int) -> pg.Expression:
    if nodes == 0:
        return X
    if nodes == 1 or rng.random() < 0.5:
        return pg.Expression(rng.choice(UNARY), (random_expression(rng, nodes - 1),))
    left = rng.randrange(nodes)
    inputs = tuple(random_expression(rng, n) for n in (left, nodes - 1 - left))
    return pg.Expression(rng.choice(BINARY), inputs)


def random_function(rng: random.Random) -> pg.Function:
    expression = random_expression(rng, NODES)
    edges = [path for path, _ in expression.walk()]
    return pg.Function(expression, tuple(rng.sample(edges, rng.randrange(4))))


def per_second(task: Callable[..., object], inputs: Iterable[object]) -> float:
    """Inputs per second, best of the repeats."""
    inputs = list(inputs)
    times = timeit.repeat(lambda: deque(map(task, inputs), maxlen=0), number=1, repeat=REPEATS)
    return len(inputs) / min(times)


def start_time(*arguments: str) -> float:
    """Median seconds from starting Python to its end."""
    command = [sys.executable, "-c", *arguments]
    run = partial(subprocess.run, command, check=True, capture_output=True)
    return statistics.median(timeit.repeat(run, number=1, repeat=STARTS))


def main() -> None:
    rng = random.Random(0)
    functions = [random_function(rng) for _ in range(COUNT)]
    print(f"Python {platform.python_version()}, {cpu()}, {os.cpu_count()} cores\n")
    print(f"{COUNT:,} functions of {NODES} nodes, best of {REPEATS}       per second")
    for name, task, inputs in (
        ("parse, canonical", pg.parse, map(str, functions)),
        ("parse, infix", pg.parse, [f.readable() for f in functions]),
        ("str", str, functions),
        ("readable", pg.Function.readable, functions),
        ("hash", hash, functions),
        ("evaluate f(0.5)", lambda f: f(0.5), functions),
        ("fingerprint", pg.fingerprint, functions),
    ):
        print(f"{name:<38}{per_second(task, inputs):>14,.0f}")
    print(f"\nstart, median of {STARTS}                           seconds")
    for name, arguments in (
        ("python -c pass", ("pass",)),
        ("python -c 'import pangaea'", ("import pangaea",)),
        ("pangaea --version", (PROGRAM, "--version")),
        ("pangaea --help", (PROGRAM, "--help")),
    ):
        print(f"{name:<38}{start_time(*arguments):>14.3f}")


if __name__ == "__main__":
    main()

"""What an activation and a step of the default task cost on one core: kernels in C and operators.

    python benchmarks/cpu.py [--rounds 12] [--json FILE]

Both are measured in turns in one run, in the thread's own CPU time, and the least of each counts:
whatever else the machine does only ever adds to it. A ratio is that of the operators' time.
"""

import argparse
import contextlib
import json
import os
import random
import resource
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import torch
from torch import Tensor

import pangaea as pg
from pangaea.activation import vectorized
from pangaea.activation.cpu import library
from pangaea.activation.program import run
from pangaea.evolution.strategies.random_sampling import Settings, propose
from pangaea.functions.program import program
from pangaea.networks import convolutions
from pangaea.system import cpu
from pangaea.training.run import Training

SHAPE = (100, 16, 1, 20)  # the largest of the default task's
FUNCTIONS = {
    "wrn-1": "log(sigmoid(alpha*x)) * beta*asinh(x)",
    "pswish": "swish(alpha*x)",
    "tanh": "tanh(x)",
    "erfc": "erfc(x)",
    "power": "x^tanh(alpha*x)",
    "bessel": "alpha*bessel_i0e(x) * beta*bessel_i1e(gamma*x)",
    "deep-8": "max(alpha*tanh(swish(x)), asinh(beta*elu(x))) * sigmoid(gamma*atan(x))",
}
STEP = {"ReLU": "relu", "A": FUNCTIONS["wrn-1"]}


def seconds(call: Callable[[], object], times: int) -> float:
    started = time.thread_time()
    for _ in range(times):
        call()
    return (time.thread_time() - started) / times


def least(calls: dict[str, Callable[[], object]], rounds: int, times: int) -> dict[str, float]:
    """Microseconds of each, in turns; a kind of kernels goes by its name."""
    each: dict[str, list[float]] = {name: [] for name in calls}
    for _ in range(rounds + 1):  # the first of them warms up
        for name, call in calls.items():
            with kernels(name):
                each[name].append(1e6 * seconds(call, times))
    return {name: min(values[1:]) for name, values in each.items()}


@contextlib.contextmanager
def kernels(kind: str) -> Iterator[None]:
    """With all of the kernels, those of the functions alone, or none: operators."""
    before = vectorized.library, convolutions._kernels
    if kind == "operators":
        vectorized.library = lambda: None
    if kind in ("operators", "functions"):
        convolutions._kernels = lambda: None  # type: ignore[assignment]
    try:
        yield
    finally:
        vectorized.library, convolutions._kernels = before


def activation(text: str, rounds: int) -> dict[str, float]:
    """Forwards and back, channels last, parameters per channel."""
    function = pg.parse(text)
    own = [torch.ones(SHAPE[1], requires_grad=True) for _ in function.parameters]
    shape = (SHAPE[1], 1, 1) if own else ()
    x, dy = (torch.randn(SHAPE).contiguous(memory_format=torch.channels_last) for _ in range(2))
    x.requires_grad_()
    steps = program(function)

    def through(value: Callable[..., Tensor]) -> Callable[[], object]:
        def step() -> None:
            value(steps, x, own, shape).backward(dy)
            for leaf in (x, *own):
                leaf.grad = None

        return step

    return least({"operators": through(run), "all": through(vectorized.run)}, rounds, 20)


def step(text: str, rounds: int) -> dict[str, float]:
    """A step of the default task, with and without the kernels."""
    task = pg.task("mnist1d")
    recipe = replace(task.recipes["search"], epochs=10_000, judge_every=10_000)  # type: ignore[attr-defined]

    def advancing() -> Callable[[], object]:
        device = torch.device("cpu")
        return Training(task, text, recipe, 0, device=device, dtype=torch.float32).advance  # type: ignore[arg-type]

    kinds = ("operators", "functions", "all")
    return least({kind: advancing() for kind in kinds}, rounds, 20)


def candidates(count: int) -> dict[str, float]:
    """Seconds of whole runs of random functions, the mean."""
    rng, task = random.Random(0), pg.task("mnist1d")
    texts = [str(propose([], rng, Settings()).function) for _ in range(count)]
    totals: dict[str, list[float]] = {"operators": [], "all": []}
    for text in texts:
        for kind, times in totals.items():
            with kernels(kind):
                started = time.process_time()
                pg.train(task, text, recipe="search")
                times.append(time.process_time() - started)
    return {kind: statistics.mean(times) for kind, times in totals.items()}


def compiling() -> float:
    """Seconds of CPU time until the kernels of the functions are there for the first time."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    with tempfile.TemporaryDirectory() as folder:
        os.environ["XDG_CACHE_HOME"] = folder
        assert library.library() is not None
    return resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=12)
    parser.add_argument("--candidates", type=int, default=20)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    torch.set_num_threads(1)
    report: dict[str, object] = {"torch": torch.__version__, "cpu": cpu()}
    report["seconds to compile"] = compiling()
    print(f"torch {torch.__version__}, compiled in {report['seconds to compile']:.1f} s")
    for title, texts, measure in (
        ("activation, µs", FUNCTIONS, activation),
        ("step, µs", STEP, step),
    ):
        rows = report[title] = {name: measure(text, options.rounds) for name, text in texts.items()}
        for name, row in rows.items():
            ratios = [
                f"{kind} {us:7.0f} ({row['operators'] / us:5.2f})" for kind, us in row.items()
            ]
            print(f"{title:15} {name:8} {'  '.join(ratios)}", flush=True)
    report["candidate, s"] = mean = candidates(options.candidates)
    print(
        f"a candidate: {mean['operators']:.2f} s with operators, {mean['all']:.2f} s with kernels"
    )
    if options.json:
        options.json.write_text(json.dumps(report, indent=1) + "\n")


if __name__ == "__main__":
    main()

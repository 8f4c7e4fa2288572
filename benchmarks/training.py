"""How fast training is: our pipeline against a plain PyTorch loop and `torch.compile`.

    python benchmarks/training.py [--task wrn-10-4/cifar100] [--new 20] [--json FILE]

Everything is measured in one run on one machine, so the ratios mean something. Where the data set
is not at hand, random images of its shape stand in: they take the same time. The learning rate is
next to nothing, so no network diverges and stops. `--new` is so many functions that were never
compiled: from their text to their first step.
"""

import argparse
import contextlib
import json
import os
import platform
import random
import statistics
import tempfile
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F

import pangaea as pg
from pangaea.activation import fused
from pangaea.data.sets import Arrays
from pangaea.evolution.strategies.random_sampling import Settings, propose
from pangaea.system import cpu
from pangaea.tasks.classification import Classification
from pangaea.training.run import Training

FUNCTIONS = {"ReLU": "relu", "A": "log(sigmoid(alpha*x)) * beta*asinh(x)"}


def with_data(task: Classification) -> Classification:
    if task.data_set.here():
        return task
    rng = np.random.Generator(np.random.PCG64(0))
    classes, shape = task.data_set.classes, task.data_set.shape

    def part(count: int) -> tuple[np.ndarray, np.ndarray]:
        labels = np.arange(count) % classes
        return rng.integers(0, 256, (count, *shape), dtype=np.uint8), labels

    arrays = Arrays(train=part(50_000), test=part(10_000))
    return replace(task, data_set=replace(task.data_set, load=lambda: arrays, files=()))


def synchronize(device: torch.device) -> None:
    if device.type == "cuda":
        torch.cuda.synchronize(device)


def milliseconds(step, device: torch.device, steps: int, repeats: int = 5) -> float:
    """Median over the repeats of the mean time of a step."""
    for _ in range(10):
        step()
    times = []
    for _ in range(repeats):
        synchronize(device)
        started = time.perf_counter()
        for _ in range(steps):
            step()
        synchronize(device)
        times.append(1000 * (time.perf_counter() - started) / steps)
    return statistics.median(times)


def plain_loop(task: Classification, function: str, device: torch.device, half: bool):
    """What people write: eager autocast, torch.optim.SGD, a random batch from the device."""
    torch.manual_seed(0)
    recipe = task.recipes["full"]
    model = task.build(function).to(device)
    if half:
        model = model.to(memory_format=torch.channels_last)
    model.train()
    optimizer = torch.optim.SGD(
        pg.parameter_groups(model, recipe.weight_decay),
        lr=0.01,
        momentum=recipe.momentum,
        nesterov=recipe.nesterov,
    )
    images = torch.randn(4096, *task.data_set.shape, device=device)
    labels = torch.randint(task.data_set.classes, (4096,), device=device)

    def step() -> None:
        chosen = torch.randint(4096, (recipe.batch,), device=device)
        x, y = images[chosen], labels[chosen]
        if half:
            x = x.contiguous(memory_format=torch.channels_last)
        with torch.autocast(device.type, torch.bfloat16, enabled=half):
            loss = F.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

    return step


def our_run(
    task: Classification, function: str, device: torch.device, compiled: bool = False
) -> Training:
    dtype = torch.bfloat16 if device.type == "cuda" else torch.float32
    recipe = replace(task.recipes["full"], rate=1e-6, warmup_rate=1e-6)
    return Training(task, function, recipe, 0, device=device, dtype=dtype, compiled=compiled)


@contextlib.contextmanager
def operators_alone() -> Iterator[None]:
    """Without our kernels, so that `torch.compile` sees the whole network."""
    devices, fused.DEVICES = fused.DEVICES, ()
    try:
        yield
    finally:
        fused.DEVICES = devices


def first_steps(task: Classification, device: torch.device, count: int) -> list[float]:
    """Seconds from a new function's text to the end of its first step, in a warm process."""
    rng, seconds = random.Random(0), []
    texts = [str(propose([], rng, Settings()).function) for _ in range(count)]
    for text in texts:
        synchronize(device)
        started = time.perf_counter()
        our_run(task, text, device).advance()
        synchronize(device)
        seconds.append(time.perf_counter() - started)
        print(f"  {seconds[-1]:6.2f} s  {text}", flush=True)
    return seconds


def epoch_seconds(run: Training, device: torch.device, epochs: int = 5) -> float:
    """A whole epoch: augmentation, every step, the looks at the loss, validation."""
    times = []
    for _ in range(epochs + 1):
        synchronize(device)
        started = time.perf_counter()
        first = run.epoch
        while run.epoch == first and not run.done:
            run.advance()
        synchronize(device)
        times.append(time.perf_counter() - started)
    assert not run.done, run.result.detail
    return statistics.median(times[1:])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--task", default="wrn-10-4/cifar100")
    parser.add_argument("--steps", type=int, default=100)
    parser.add_argument("--only", choices=FUNCTIONS)
    parser.add_argument("--skip-compile", action="store_true")
    parser.add_argument("--new", type=int, default=0)
    parser.add_argument("--json")
    options = parser.parse_args()
    os.environ["TRITON_CACHE_DIR"] = tempfile.mkdtemp()  # new functions are new
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu", 0)
    torch.backends.cudnn.benchmark = True
    name = torch.cuda.get_device_name() if device.type == "cuda" else cpu()
    task = with_data(pg.task(options.task))
    print(f"{task.name}, {name}, torch {torch.__version__}, Python {platform.python_version()}")
    rows = []
    for label, function in FUNCTIONS.items():
        if options.only not in (None, label):
            continue
        row: dict[str, object] = {"function": label}
        for kind, half in (("eager fp32", False), ("eager bf16", True)):
            step = plain_loop(task, function, device, half)
            with operators_alone():
                row[kind] = milliseconds(step, device, options.steps)
        for kind, compiled in (("ours", False), ("compile + graph", True)):
            if compiled and options.skip_compile:
                continue
            started = time.perf_counter()
            with operators_alone() if compiled else contextlib.nullcontext():
                run = our_run(task, function, device, compiled)
                run.advance()
                synchronize(device)
                row[f"{kind}: seconds to first step"] = time.perf_counter() - started
                row[f"{kind}: s/epoch"] = epoch_seconds(run, device)
            row[kind] = 1000 * row[f"{kind}: s/epoch"] / run.batches.steps  # type: ignore[operator]
            del run
        for kind in ("eager bf16", "compile + graph"):
            if kind in row:
                row[f"{kind} / ours"] = row[kind] / row["ours"]  # type: ignore[operator]
        rows.append(row)
        for key, value in row.items():
            print(f"  {key:32} {value if isinstance(value, str) else f'{value:8.3f}'}", flush=True)
    if len(rows) == 2:
        print(f"  A / ReLU, ours: {rows[1]['ours'] / rows[0]['ours']:.3f}")  # type: ignore[operator]
    report = {"task": task.name, "device": name, "torch": torch.__version__, "rows": rows}
    if options.new:
        report["seconds to first step"] = first_steps(task, device, options.new)
        median = statistics.median(report["seconds to first step"])
        print(f"  {options.new} new functions: median {median:.2f} s to the first step")
    if options.json:
        Path(options.json).write_text(json.dumps(report, indent=1) + "\n")


if __name__ == "__main__":
    main()

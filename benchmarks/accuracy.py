"""Test scores on real data, written with everything needed to repeat them.

python benchmarks/accuracy.py FUNCTION... --task wrn-10-4/cifar100 --runs 3 --out results/X.json
"""

import argparse
import json
import platform
import shlex
import sys
import time
from pathlib import Path

import torch

import pangaea as pg
from pangaea.system import cpu


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("functions", nargs="+")
    parser.add_argument("--task", required=True)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--recipe", default="full")
    parser.add_argument("--epochs", type=int)
    parser.add_argument("--scope")
    parser.add_argument("--compile", action="store_true")
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args()
    cuda = torch.cuda.is_available()
    task = pg.task(options.task)
    report = {
        "command": "python benchmarks/accuracy.py " + shlex.join(sys.argv[1:]),
        "device": torch.cuda.get_device_name() if cuda else cpu(),
        "versions": {
            "pangaea": pg.__version__,
            "torch": torch.__version__,
            "python": platform.python_version(),
        },
        "task": options.task,
        **task.about(),  # the whole recipe: a smaller budget is the same schedule compressed
        "budget": options.epochs or task.budgets[options.recipe],
        "functions": [],
    }
    for function in options.functions:
        started = time.perf_counter()
        judged = pg.evaluate(
            function,
            options.task,
            options.runs,
            options.recipe,
            epochs=options.epochs,
            scope=options.scope,
            compiled=options.compile,
        )
        seconds = time.perf_counter() - started
        row = {
            "function": judged.function,
            "mean": judged.mean,
            "sd": judged.sd,
            "n": options.runs,
            "failures": judged.failures,
            "seconds for all runs": round(seconds, 1),
            "runs": [result.as_dict() for result in judged.results],
        }
        report["functions"].append(row)  # type: ignore[attr-defined]
        print(
            f"{judged.function}: {task.goal.shown_mean(judged.mean, judged.sd)}, "
            f"n = {options.runs}, {judged.failures} failed, {judged.scores}, {seconds:.0f} s",
            flush=True,
        )
        options.out.write_text(json.dumps(report, indent=1) + "\n")


if __name__ == "__main__":
    main()

"""What does a seed do to all functions alike? Every function is trained with every seed.

    python benchmarks/seeds.py [--seeds 14] [--json results/seeds.json]

A run's score is what its function is worth, what its seed does to all functions, and the rest. Runs
that share their seeds are compared without the second part: what is left of a run's variance says
how many runs of their own each of them saves.
"""

import argparse
import json
import os
import platform
import shlex
import sys
from pathlib import Path
from typing import Any

import numpy as np
import torch

from pangaea.system import cpu
from pangaea.tasks.finding import task as find_task
from pangaea.training.how import How

# Common ones, and some that searches on the default task have put first.
FUNCTIONS = (
    "relu(x)",
    "swish(x)",
    "elu(x)",
    "alpha*softplus(beta*x)",
    "sub(asinh(alpha*x), beta*x)",
    "alpha*swish(beta*swish(gamma*x))",
)


def parts(scores: np.ndarray) -> dict[str, float]:
    """Standard deviations: of a function's runs, of what a seed does to all, and of the rest."""
    functions, seeds = scores.shape
    deviations = scores - scores.mean(1, keepdims=True)
    rest = deviations - deviations.mean(0)
    whole = (deviations**2).sum() / (functions * (seeds - 1))
    left = (rest**2).sum() / ((functions - 1) * (seeds - 1))
    return {
        "run": round(float(whole) ** 0.5, 2),
        "seed": round(max(float(whole - left), 0.0) ** 0.5, 2),
        "rest": round(float(left) ** 0.5, 2),
        "variance left": round(float(left / whole), 2),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--task", default="mnist1d")
    parser.add_argument("--seeds", type=int, default=14)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    torch.set_num_threads(1)
    task = find_task(options.task)
    task.prepare()
    results: dict[str, Any] = {
        "command": shlex.join(["python", *sys.argv]),
        "hardware": f"{cpu()}, one of {os.cpu_count()} cores",
        "versions": {"torch": torch.__version__, "python": platform.python_version()},
        "functions": FUNCTIONS,
        "seeds": options.seeds,
    }
    for budget in sorted(task.budgets.values()):
        scores = [
            [
                task.train(f, None, budget, seed, "validation", lambda _: None, How()).score
                for seed in range(options.seeds)
            ]
            for f in FUNCTIONS
        ]
        results[str(budget)] = parts(np.array(scores)) | {
            "means": dict(zip(FUNCTIONS, np.mean(scores, 1).round(2).tolist(), strict=True))
        }
        print(budget, results[str(budget)], flush=True)
    if options.json:
        options.json.write_text(json.dumps(results, indent=1) + "\n")


if __name__ == "__main__":
    main()

"""Does a look at a candidate early in its training tell which ones need not be trained on?

    python benchmarks/early_looks.py A.study B.study --out results/early-looks.json

Of each search the candidates in their order: whoever is behind a part of those before it, after so
many epochs, would have been stopped. How much training does that save, and how many of the best
tenth does it lose? Candidates whose study has no score for every epoch are trained again.
"""

import argparse
import json
import re
import shlex
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import spearmanr

import pangaea as pg
from pangaea.study.stages import SEARCH
from pangaea.system import cpu

PARTS = (0.3, 0.5, 0.7)
FEWEST = 20  # candidates before any is stopped
SHARES = (0.05, 0.1, 0.15, 0.2, 0.3, 0.5)  # of the training


def curve(study: Any, run: Mapping[str, Any]) -> list[float]:
    """A candidate's validation score after every epoch."""
    kept = study.curves(run["run"]).get("validation", {})
    epochs = range(1, run["budget"] + 1)
    if all(str(epoch) in kept for epoch in epochs):
        return [kept[str(epoch)] for epoch in epochs]
    task = pg.task(run["task"])
    recipe = replace(task.recipe("full", run["budget"]), judge_every=1)
    again = pg.train(run["task"], run["function"], recipe, run["seed"])
    assert again.score == run["score"], (again.score, run["score"])
    return [again.validation[epoch] for epoch in epochs]


def looked_at(early: np.ndarray, final: np.ndarray, part: float, left: float) -> dict[str, float]:
    """What stopping those behind this part of the ones before does; `left`: training after it."""
    stopped = np.zeros(len(final), dtype=bool)
    for n in range(FEWEST, len(final)):
        stopped[n] = early[n] < np.sort(early[:n])[int(part * n)]
    best = np.argsort(-final)[: len(final) // 10]
    return {
        "stopped": round(float(stopped.mean()), 3),
        "saved": round(float(stopped.mean() * left), 3),
        "best tenth stopped": int(stopped[best].sum()),
    }


def report(path: Path) -> dict[str, Any]:
    with pg.open_study(path) as study:
        runs = [run for run in study.runs(SEARCH.name) if run["score"] is not None]
        curves = np.array([curve(study, run) for run in runs])
    final, budget = np.array([run["score"] for run in runs]), runs[0]["budget"]
    better = final >= np.median(final)
    looks = {}
    for epoch in sorted({max(1, round(share * budget)) for share in SHARES}):
        early = curves[:, epoch - 1]
        looks[epoch] = {
            "spearman": round(float(spearmanr(early, final)[0]), 3),
            "spearman, better half": round(float(spearmanr(early[better], final[better])[0]), 3),
            **{str(p): looked_at(early, final, p, 1 - epoch / budget) for p in PARTS},
        }
        print(path.stem, epoch, looks[epoch], flush=True)
    return {
        "study": path.stem,
        "task": runs[0]["task"],
        "device": sorted({run["device"] for run in runs}),
        "budget": budget,
        "candidates": len(runs),
        "best tenth": len(final) // 10,
        "looks": looks,
        "curves": {
            run["function"]: row.round(2).tolist() for run, row in zip(runs, curves, strict=True)
        },
    }


def main(arguments: Sequence[str]) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("studies", type=Path, nargs="+")
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args(arguments)
    body = {
        "command": shlex.join(["python", "benchmarks/early_looks.py", *arguments]),
        "cpu": cpu(),
        "searches": [report(path) for path in options.studies],
    }
    text = json.dumps(body, indent=1)
    numbers = re.compile(r"\[[-0-9.,\s]+\]")  # of a curve, on one line
    options.out.write_text(numbers.sub(lambda m: " ".join(m[0].split()), text) + "\n")


if __name__ == "__main__":
    main(sys.argv[1:])

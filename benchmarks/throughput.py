"""Candidates an hour on one GPU: a real search, failures included as they fall.

    python benchmarks/throughput.py [--task wrn-10-4/cifar100] [--candidates 16] [--jobs-per-gpu 4]

Measured from the first candidate's start to the last one's end, with every worker warm.
"""

import argparse
import json
import platform
import statistics
import tempfile
from pathlib import Path

import torch

import pangaea as pg


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--task", default="wrn-10-4/cifar100")
    parser.add_argument("--candidates", type=int, default=16)
    parser.add_argument("--jobs-per-gpu", type=int, default=4)
    parser.add_argument("--epochs", type=int)
    parser.add_argument("--seed", type=int, default=0)
    # With random-sampling the functions are the same ones, however many workers there are.
    parser.add_argument("--strategy", default="evolution")
    parser.add_argument("--json")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        study = pg.search(
            options.task,
            study=Path(folder) / "throughput.study",
            candidates=options.candidates,
            # From the start, parents among few: the functions are those of a running search.
            **({"population": 4, "sample": 2} if options.strategy == "evolution" else {}),
            strategy=options.strategy,
            epochs=options.epochs,
            seed=options.seed,
            rerank=False,
            runs=0,
            gpus="0",
            jobs_per_gpu=options.jobs_per_gpu,
            callback=lambda row: print(
                f"{row['stage']:9} {row.get('score')} {row.get('failure') or ''} "
                f"{row['seconds']:6.1f} s  {row['function']}",
                flush=True,
            ),
        )
        rows = study.table()
        span = max(r["finished"] for r in rows) - min(r["started"] for r in rows)
        report = {
            "task": options.task,
            "device": torch.cuda.get_device_name(),
            "torch": torch.__version__,
            "python": platform.python_version(),
            "task kept": study.task,
            "strategy": options.strategy,
            "jobs_per_gpu": options.jobs_per_gpu,
            "candidates": len(rows),
            "failures": study.failures(),
            "baseline": study.runs("baseline"),
            "seconds": span,
            "candidates_per_hour": 3600 * len(rows) / span,
            "median_seconds": statistics.median(r["seconds"] for r in rows if not r["failure"]),
            "rows": rows,
        }
        study.close()
    print(f"{report['candidates_per_hour']:.0f} candidates an hour, failed: {report['failures']}")
    if options.json:
        Path(options.json).write_text(json.dumps(report, indent=1) + "\n")


if __name__ == "__main__":
    main()

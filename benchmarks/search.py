"""What the search itself costs, with candidates that take no time: driver, file, local engine.

python benchmarks/search.py [--json FILE]
"""

import argparse
import json
import platform
import random
import tempfile
import time
from pathlib import Path
from typing import Any

from pangaea.evolution.creation import initial, parameterized
from pangaea.evolution.trials import Proposal
from pangaea.study.driver import resume, search
from pangaea.study.settings import Settings
from pangaea.study.study import Study, Wanted
from pangaea.system import cpu
from pangaea.tasks.finding import task as find_task
from pangaea.workers.judge import Job, Result, stamped

MANY = 100_000
LAST = 1_000  # of them are run, the others are there already
EPOCHS, LAYERS = 20, 5
CURVES = {
    **{name: [round(100 / 3, 3)] * EPOCHS for name in ("loss", "training", "validation")},
    "parameters": {"alpha": [[1.0625] * LAYERS] * EPOCHS},
}
GOALS = {
    "driver, ms a candidate": "at most 5",
    "opening, s": "at most 1",
    "candidates a second, 2 workers": "at least 200",
    "candidates a second, 8 workers": "at least 200",
}


def instant(job: Job) -> Result:
    started, score = time.time(), random.Random(job.function).uniform(10, 80)
    return stamped({"score": score}, started, "nobody")


def with_curves(job: Job) -> Result:
    return instant(job) | {"curves": CURVES}


def filled(path: Path, candidates: int) -> None:
    """A study that lacks its last candidates."""
    rng = random.Random(0)
    proposals = [Proposal(parameterized(initial(rng), rng), None, "initial") for _ in range(5_000)]
    chosen = Settings(candidates=candidates, rerank=False, runs=0)
    about = find_task("mnist1d").about()
    with Study.create(path, chosen, about) as study, study.transaction():
        for number in range(1, candidates - LAST + 1):
            proposal = rng.choice(proposals)
            text = str(proposal.function)
            study.add(number, text, proposal.parent, proposal.mutation)
            wanted = Wanted("search", number, text, "mnist1d", None, 20, number, "validation")
            result = {"score": rng.uniform(0, 80), "seconds": 1.0, "finished": 1.0}
            study.record(study.ask(wanted).number, result | {"curves": CURVES})


def pace(times: list[float]) -> float:
    """Seconds from one result to the next."""
    return (times[-1] - times[0]) / (len(times) - 1)


def driver_and_file(folder: Path) -> dict[str, float]:
    path = folder / "many.study"
    filled(path, MANY)
    times: list[float] = []
    resume(
        path, workers=0, judge=with_curves, callback=lambda row: times.append(time.perf_counter())
    ).close()
    started = time.perf_counter()
    with Study.open(path) as study:
        assert len(study.trials()) == MANY
        assert len(study.best(3)) == 3
        opening = time.perf_counter() - started
    return {
        "driver, ms a candidate": 1000 * pace(times[-LAST:]),
        "opening, s": opening,
        "file, MB": path.stat().st_size / 1e6,
    }


def local_engine(folder: Path, workers: int, candidates: int, strategy: str) -> float:
    """Candidates a second, once they run."""
    times: list[float] = []
    given: dict[str, Any] = {"candidates": candidates, "rerank": False, "runs": 0}
    path = folder / "few.study"
    search(
        "mnist1d",
        study=path,
        workers=workers,
        judge=instant,
        callback=lambda row: times.append(time.perf_counter()),
        strategy=strategy,
        **given,
    ).close()
    path.unlink()
    return 1 / pace(times[candidates // 5 :])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--candidates", type=int, default=1500, help="through the local engine")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    measured: dict[str, float] = {}
    with tempfile.TemporaryDirectory() as folder:
        for workers, strategy in ((2, "evolution"), (8, "evolution"), (8, "thrifty")):
            name = "" if strategy == "evolution" else f", {strategy}"
            # Whatever else the machine does only ever takes time away.
            measured[f"candidates a second, {workers} workers{name}"] = max(
                local_engine(Path(folder), workers, options.candidates, strategy) for _ in range(5)
            )
        measured |= driver_and_file(Path(folder))
    for name, value in measured.items():
        print(f"{name:<41} {value:8.2f}   {GOALS.get(name, '')}")
    if options.json:
        machine = {"python": platform.python_version(), "cpu": cpu()}
        options.json.write_text(json.dumps(machine | measured, indent=1) + "\n")


if __name__ == "__main__":
    main()

"""One table of runs from studies, from tables made before and from the rank audit's lines.

    python benchmarks/runs_table.py runs.csv.gz FOLDER/*.study
    python benchmarks/runs_table.py pangaea/study/runs.csv.gz pangaea/study/runs.csv.gz MORE/*.study

A run that several of them hold stands in the table once, as the last of them has it. The second
command adds to the table that `pg.bench()` reads.
"""

import argparse
import json
from pathlib import Path

import pangaea as pg
from pangaea.study.runs import COLUMNS, Runs, mark

_KEY = ("task", "study", "stage", "candidate", "function", "budget", "seed", "part")


def audited(path: Path) -> Runs:
    """The lines of `benchmarks/rank_audit.py`."""
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    about = {"study": path.stem, "stage": "evaluation", "candidate": None, "part": "validation"}
    return Runs.of(
        row | about | {"budget": row["epochs"], "mark": mark(row["function"])} for row in rows
    )


def together(parts: list[Runs]) -> Runs:
    """Every run once, with the mark that its function has today."""
    rows = {}
    for part in parts:
        for values in zip(*part.columns.values(), strict=True):
            row = dict(zip(COLUMNS, values, strict=True))
            row["mark"] = mark(row["function"])
            rows[tuple(row[name] for name in _KEY)] = row
    return Runs.of(rows.values())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("output", type=Path)
    parser.add_argument("sources", type=Path, nargs="+", help="studies, tables or .jsonl")
    options = parser.parse_args()
    parts = [audited(s) if s.suffix == ".jsonl" else pg.bench(s) for s in options.sources]
    runs = together(parts)
    runs.save(options.output)
    print(f"{options.output}: {runs!r}, {options.output.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()

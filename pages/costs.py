"""What each function costs on the GPU, as `benchmarks/activation.py` measured it."""

import json
from statistics import median
from typing import Any

from pages import ROOT, table

_INTRO = """# What each function costs

Forwards and back, one NVIDIA H200, contiguous, parameters per channel; each time the median of ten
replays of five captured steps, one run (`python benchmarks/activation.py`). *Ratio*: to SiLU, which
stands at the memory's limit. *Special*: an element's operations on the special-function units;
*wall*: what these alone take. The last two columns: how many times as long torch takes operator by
operator, and with `torch.compile`. Where that is 1.00, the memory is the limit for both.
Formulas are in the [gallery](gallery.md)."""


def page() -> str:
    parts = [_INTRO]
    for dtype in ("float32", "bfloat16"):
        file = f"results/activation-{dtype}.json"
        data = json.loads((ROOT / file).read_text(encoding="utf-8"))
        parts += [f"## {dtype}", *_measured(data["dtypes"][dtype], data, file)]
    return "\n\n".join(parts) + "\n"


def _measured(timed: dict[str, Any], data: dict[str, Any], file: str) -> list[str]:
    shape = "×".join(map(str, data["shape"]))
    ratio = median(row["ratio"] for row in timed["rows"])
    about = (
        f"Inputs of {shape}, torch {data['torch']}: ReLU {timed['relu'][0]:.0f} µs, SiLU "
        f"{timed['silu'][0]:.0f} µs; median ratio {ratio:.2f} (`{file}`)."
    )
    head = ["function", "nodes", "µs", "ratio", "special", "wall, µs", "eager", "`torch.compile`"]
    return [about, table(head, [_row(row) for row in timed["rows"]])]


def _row(row: dict[str, Any]) -> list[str]:
    ours = row["microseconds"]
    return [
        f"`{row['function']}`",
        str(row["nodes"]),
        f"{ours:.0f}",
        f"{row['ratio']:.2f}",
        f"{row['special']:.0f}",
        f"{row['wall']:.0f}",
        f"{row['eager'] / ours:.1f}",
        f"{row['compile'] / ours:.2f}",
    ]

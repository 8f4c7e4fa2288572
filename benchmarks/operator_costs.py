"""What each operator costs, from functions that are timed alone: the table of `functions/cost.py`.

    python benchmarks/operator_costs.py results/operator-costs.json --minutes 10

One pass forwards and back over 65,536 numbers on one core, by the time of its thread; of every
function the least of all rounds, so that neighbours do not count. The time of a function is the sum
of its steps': least squares of the relative errors, no cost below 0; tenfold cross-validation says
how well that holds for functions that were not in the sum. The same command goes on with the
rounds that its file has.
"""

import argparse
import json
import random
import time
from collections import Counter
from pathlib import Path

import numpy as np
import torch
from scipy.optimize import nnls
from scipy.stats import spearmanr

import pangaea as pg
from pangaea.activation.module import Activation
from pangaea.evolution.creation import initial, parameterized
from pangaea.evolution.mutations import mutate
from pangaea.functions.cost import CALL, steps
from pangaea.functions.operators import OPERATORS

FUNCTIONS = 400
SHAPE = (64, 32, 32)  # 65,536 numbers: some ten times as long as the call itself
REPEATS = 7


def functions() -> list[str]:
    """Every operator alone, and such as a search proposes."""
    texts, rng = ["x", "alpha*x", "swish(alpha*x)", "alpha*swish(beta*x)"], random.Random(0)
    for name, row in OPERATORS.items():
        texts += (
            [f"{name}(x)"] if row.arity == 1 else [f"{name}(x, tanh(x))", f"{name}(tanh(x), x)"]
        )
    while len(texts) < FUNCTIONS:
        form = initial(rng)
        for _ in range(rng.randrange(4)):
            _, form = mutate(form, rng)
        texts.append(str(parameterized(form, rng)))
    return list(dict.fromkeys(str(pg.parse(text)) for text in texts))


def seconds(function: str) -> float:
    """The least of several passes; time that neighbours take does not count."""
    act = Activation(function, shape=SHAPE[1])
    x = torch.linspace(-3, 3, 65_536).view(SHAPE).requires_grad_()
    gradient = torch.ones(SHAPE)

    def once() -> float:
        started = time.thread_time()
        y = act(x)
        if y.requires_grad:  # a constant has no slope
            y.backward(gradient)
        return time.thread_time() - started

    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        return min(once() for _ in range(REPEATS))
    finally:
        torch.set_num_threads(threads)


def measured(before: Path, minutes: float) -> tuple[dict[str, float], int]:
    """Microseconds of each, and how often all of them were measured, then and now."""
    texts, until = functions(), time.monotonic() + 60 * minutes
    known = json.loads(before.read_text()) if before.exists() else {}
    least = dict.fromkeys(texts, np.inf) | known.get("microseconds", {})
    rounds = known.get("rounds", 0)
    while not rounds or time.monotonic() < until:
        for text in random.sample(texts, len(texts)):
            least[text] = min(least[text], 1e6 * seconds(text))
        rounds += 1
    return least, rounds


def fitted(counts: np.ndarray, micros: np.ndarray) -> np.ndarray:
    return nnls(counts / micros[:, None], np.ones(len(micros)))[0]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("output", type=Path)
    parser.add_argument("--minutes", type=float, default=10.0)
    options = parser.parse_args()
    least, rounds = measured(options.output, options.minutes)
    micros = np.array([*least.values()])
    parts = [Counter([CALL, *steps(pg.parse(text))]) for text in least]
    names = sorted({name for part in parts for name in part})
    counts = np.array([[part[name] for name in names] for part in parts], float)
    predicted, order = np.zeros(len(micros)), np.random.default_rng(0).permutation(len(micros))
    for k in range(10):
        out, rest = order[k::10], np.setdiff1d(order, order[k::10])
        predicted[out] = counts[out] @ fitted(counts[rest], micros[rest])
    costs = dict(zip(names, map(round, fitted(counts, micros)), strict=True))
    about = {
        "command": f"python benchmarks/operator_costs.py {options.output}",
        "rounds": rounds,
        "functions": len(micros),
        "rank_correlation": round(float(spearmanr(predicted, micros).statistic), 3),
        "median_error": round(float(np.median(abs(predicted / micros - 1))), 3),
        "costs": costs,
        "microseconds": {text: round(value, 1) for text, value in least.items()},
    }
    options.output.write_text(json.dumps(about, indent=1) + "\n")
    for name, cost in sorted(costs.items(), key=lambda pair: pair[1]):
        print(f'    "{name}": {cost},')
    print(
        {name: about[name] for name in ("rounds", "functions", "rank_correlation", "median_error")}
    )


if __name__ == "__main__":
    main()

"""`benchmarks/embedded.py` on a task that takes no time: stopped, gone on with, and its figures."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.stats import false_discovery_control, ttest_ind

import pangaea as pg

REPOSITORY = Path(__file__).parents[1]
sys.path.insert(0, str(REPOSITORY / "benchmarks"))

from embedded_statistics import compared, holm, tail, welch  # noqa: E402

# What the machine that it is made for has not got.
ABSENT = ("scipy", "matplotlib", "plotly", "typer", "rich", "pooch", "mnist1d", "triton")
TASK = """
import time
import pangaea as pg

def train(activation, budget, seed, part):
    time.sleep(0.04)
    bumpy = abs(activation.function.startswith("relu")) + seed % 7 / 10
    return {"score": bumpy, "test": bumpy + 1}

task = pg.Task("bumpy", train, goal=pg.minimize("bumps"), budgets={"search": 1, "full": 2})
"""


def benchmark(folder: Path, *options: str) -> tuple[int, str, dict[str, Any]]:
    """How it ended, what it said and what it wrote."""
    for name in ABSENT:
        (folder / f"{name}.py").write_text("raise ImportError('not on this machine')\n")
    (folder / "bumpy.py").write_text(TASK)
    script = REPOSITORY / "benchmarks/embedded.py"
    done = subprocess.run(
        [sys.executable, script, "bumpy.py:task", "--searches", "2", "--candidates", "3", *options],
        cwd=folder,
        env=os.environ | {"PYTHONPATH": f"{folder}:{REPOSITORY}"},
        capture_output=True,
        text=True,
        timeout=240,
    )
    return (
        done.returncode,
        done.stdout + done.stderr,
        json.loads((folder / "results/embedded-bumpy.json").read_text()),
    )


def test_it_stops_in_time_goes_on_and_compares(tmp_path: Path) -> None:
    code, said, begun = benchmark(tmp_path, "--runs", "2", "--workers", "0", "--minutes", "0.05")
    assert code == os.EX_TEMPFAIL, said
    assert "the same command goes on" in said
    assert "Traceback" not in said
    assert (begun["complete"], begun["comparisons"]) == (False, [])
    code, said, done = benchmark(tmp_path, "--runs", "2", "--workers", "0")
    assert (code, "Traceback" in said) == (0, False), said
    assert done["complete"]
    assert [row["state"] for row in done["searches"]] == ["finished", "finished"]
    assert [row["settings"]["seed"] for row in done["searches"]] == [0, 1]
    assert (done["hardware"], done["versions"]) == (begun["hardware"], begun["versions"])
    assert {*done["on validation data"]} == {
        *("relu", "prelu", "elu", "gelu", "swish", "mish", "softplus", "tanh")
    }
    firsts = {row["function"] for row in done["searches"]}
    best = done["best common function"]
    assert best != "relu"
    assert {*done["on test data"]} == {*firsts, best, "relu"}
    assert {row["n"] for row in done["on test data"].values()} == {2}
    assert all(min(row["scores"]) >= 1 for row in done["on test data"].values())
    assert {row["function"] for row in done["comparisons"]} == firsts
    assert {row["against"] for row in done["comparisons"]} == {best}


def test_the_tests_are_scipy_s() -> None:
    rng, goal = np.random.default_rng(0), pg.minimize("loss", failure=9)
    for n in range(2, 12):
        a, b = rng.normal(0, 1, n), rng.normal(0.5, 3, 10)
        theirs = ttest_ind(a, b, equal_var=False, alternative="less").pvalue
        assert welch(goal, [*a], [*b]) == pytest.approx(theirs, rel=1e-6)
    assert welch(goal, [1.0, None], [9.0, 1.0]) == pytest.approx(0.5)
    assert welch(goal, [1.0, 1.0], [2.0, 2.0]) == 0
    assert welch(goal, [1.0], [2.0, 2.0]) == 1
    assert tail(30.0, 9.0) == pytest.approx(ttest_p(30.0, 9.0), rel=1e-6)


def ttest_p(t: float, freedom: float) -> float:
    from scipy.stats import t as student

    return float(student.sf(t, freedom))


def test_holm_corrects_by_rank_and_never_turns_the_order() -> None:
    assert holm([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.06, 0.06])
    assert holm([0.5, 0.9]) == [1.0, 1.0]
    assert holm([]) == []
    several = [0.001, 0.01, 0.02, 0.2]
    assert all(np.array(holm(several)) >= false_discovery_control(several))


def test_a_gain_is_better_whatever_the_goal() -> None:
    tests = {"f": [1.0, 1.1, 0.9], "g": [2.0, 2.1, 1.9]}
    (better,) = compared(pg.minimize("loss"), ["f"], "g", tests)
    (worse,) = compared(pg.maximize("score"), ["f"], "g", tests)
    assert (better["gain"], worse["gain"]) == pytest.approx((1.0, -1.0))
    assert better["p, corrected"] < 0.001 < 0.999 < worse["p"]

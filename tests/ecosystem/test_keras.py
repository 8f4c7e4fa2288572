"""The exported Keras layer with a backend of Keras, each in a process of its own."""

import os
import subprocess
import sys

import pytest

pytestmark = pytest.mark.ecosystem


@pytest.mark.parametrize("backend", ["torch", "jax"])
def test_the_keras_layer_computes_saves_and_learns(backend: str) -> None:
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-m", "tests.ecosystem.keras_checks"],
        env={**os.environ, "KERAS_BACKEND": backend, "CUDA_VISIBLE_DEVICES": ""},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    assert done.stdout.split()[-1] == backend

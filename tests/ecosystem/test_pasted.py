"""Each exported source, pasted into a fresh file, runs there by itself and learns."""

import importlib.util
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import pangaea as pg

pytestmark = pytest.mark.ecosystem

FUNCTION = "alpha*x - beta*log(sigmoid(gamma*x))"
# What comes after the source: a few steps towards 2·f, and how far it was before and after them.
TORCH = """
f, x = Mine(), torch.linspace(-3, 3, 64)
target = 2 * f(x).detach()
optimizer = torch.optim.SGD(f.parameters(), lr=0.05)
losses = []
for _ in range(20):
    optimizer.zero_grad()
    loss = (f(x) - target).square().mean()
    loss.backward()
    optimizer.step()
    losses.append(float(loss))
"""
NUMPY = """
x = np.linspace(-3, 3, 64)
target = 2 * mine(x)
values = {"alpha": 1.0, "beta": 1.0, "gamma": 1.0}
losses = []
for _ in range(20):
    far = mine(x, **values) - target
    _, *slopes = mine_gradient(x, **values)
    losses.append(float((far**2).mean()))
    for name, slope in zip(values, slopes):
        values[name] -= 0.05 * float((2 * far * slope).mean())
"""
JAX = """
import jax.numpy as jnp
x = jnp.linspace(-3, 3, 64)
target = 2 * mine(x, 1.0, 1.0, 1.0)
loss = jax.value_and_grad(lambda values: ((mine(x, *values) - target) ** 2).mean())
values, losses = (1.0, 1.0, 1.0), []
for _ in range(20):
    now, slopes = loss(values)
    losses.append(float(now))
    values = tuple(value - 0.05 * slope for value, slope in zip(values, slopes))
"""
FLAX = """
import jax.numpy as jnp
f, x = Mine(), jnp.linspace(-3, 3, 64).reshape(16, 4)
variables = f.init(jax.random.key(0), x)
target = 2 * f.apply(variables, x)
loss = jax.value_and_grad(lambda v: ((f.apply(v, x) - target) ** 2).mean())
losses = []
for _ in range(20):
    now, slopes = loss(variables)
    losses.append(float(now))
    variables = jax.tree.map(lambda value, slope: value - 0.05 * slope, variables, slopes)
"""
KERAS = """
import numpy as np
x = np.linspace(-3, 3, 64, dtype="float32").reshape(16, 4)
model = keras.Sequential([keras.Input((4,)), Mine()])
target = 2 * np.asarray(keras.ops.convert_to_numpy(model(x)))
model.compile(keras.optimizers.SGD(0.2), "mse")
losses = model.fit(x, target, batch_size=16, epochs=20, verbose=0).history["loss"]
"""
TENSORFLOW = """
f, x = Mine(), tf.reshape(tf.linspace(-3.0, 3.0, 64), (16, 4))
target = 2 * f(x)
losses = []
for _ in range(20):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((f(x) - target) ** 2)
    losses.append(float(loss))
    for value, slope in zip(f.trainable_variables, tape.gradient(loss, f.trainable_variables)):
        value.assign_sub(0.05 * slope)
"""
SYMPY = """
start = values = {alpha: 1.0, beta: 1.0, gamma: 1.0}
points = [expression.subs(x, place) for place in (-1, 1, 2)]
loss = sum((point - 2 * point.subs(start)) ** 2 for point in points)
losses = []
for _ in range(5):
    losses.append(float(loss.subs(values)))
    slopes = {name: float(loss.diff(name).subs(values)) for name in values}
    values = {name: value - 0.02 * slopes[name] for name, value in values.items()}
"""
C = """
#include <stdio.h>
int main(void) {
    double v[3] = {1, 1, 1}, first = 0, loss = 0;
    for (int step = 0; step < 20; step++) {
        double slopes[3] = {0, 0, 0};
        loss = 0;
        for (double x = -3; x <= 3; x += 0.1) {
            double gradient[4], far = mine(x, v[0], v[1], v[2]) - 2 * mine(x, 1, 1, 1);
            mine_gradient(x, v[0], v[1], v[2], gradient);
            loss += far * far / 61;
            for (int i = 0; i < 3; i++) slopes[i] += 2 * far * gradient[i + 1] / 61;
        }
        if (step == 0) first = loss;
        for (int i = 0; i < 3; i++) v[i] -= 0.05 * slopes[i];
    }
    printf("%g %g\\n", first, loss);
    return 0;
}
"""
LAST = """
import sys
assert "pangaea" not in sys.modules
print(losses[0], losses[-1])
"""


def lowered(command: list[str | Path], folder: Path, **environment: str) -> bool:
    done = subprocess.run(
        [str(part) for part in command],
        cwd=folder,
        env=os.environ | environment,
        capture_output=True,
        text=True,
        timeout=1800,
    )
    assert done.returncode == 0, done.stderr
    first, last = map(float, done.stdout.split()[-2:])
    return last < 0.6 * first


@pytest.mark.parametrize(
    ("target", "needed", "snippet", "environment"),
    [
        ("torch", "torch", TORCH, {}),
        ("numpy", "numpy", NUMPY, {}),
        ("jax", "jax", JAX, {}),
        ("flax", "flax", FLAX, {}),
        ("keras", "keras", KERAS, {"KERAS_BACKEND": "torch"}),
        ("keras", "keras", KERAS, {"KERAS_BACKEND": "jax"}),
        ("tensorflow", "tensorflow", TENSORFLOW, {}),
        ("sympy", "sympy", SYMPY, {}),
    ],
)
def test_a_source_learns_in_a_fresh_file(
    target: str, needed: str, snippet: str, environment: dict[str, str], tmp_path: Path
) -> None:
    if importlib.util.find_spec(needed) is None:
        pytest.skip(f"{needed} is not installed")
    source = pg.export(FUNCTION, to=target, name="mine")
    assert isinstance(source, str)
    (tmp_path / "fresh.py").write_text(source + snippet + LAST)
    assert lowered([sys.executable, "fresh.py"], tmp_path, PYTHONPATH="", **environment)


def test_a_header_learns_in_a_fresh_program(tmp_path: Path) -> None:
    if shutil.which("gcc") is None:
        pytest.skip("there is no gcc")
    source = pg.export(FUNCTION, to="c", name="mine")
    assert isinstance(source, str)
    (tmp_path / "fresh.c").write_text(source + C)
    strict = ["-std=c99", "-Wall", "-Wextra", "-Werror", "-O2"]
    subprocess.run(["gcc", *strict, "fresh.c", "-lm", "-o", "fresh"], cwd=tmp_path, check=True)
    assert lowered([tmp_path / "fresh"], tmp_path)

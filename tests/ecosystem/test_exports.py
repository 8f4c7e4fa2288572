"""Exported sources and graphs, run by those they are for, beside the truth and our own module."""

from typing import Any

import numpy as np
import pytest
import torch

import pangaea as pg
from tests.export.truth import (
    FUNCTIONS,
    SCOPES,
    all_operators,
    check_function,
    execute,
    operator_text,
    trained,
)

jax = pytest.importorskip("jax")
jnp = pytest.importorskip("jax.numpy")
onnxruntime = pytest.importorskip("onnxruntime")
sympy = pytest.importorskip("sympy")
pytestmark = pytest.mark.ecosystem


def jax_evaluate(function: Any) -> Any:
    def evaluate(*inputs: np.ndarray) -> tuple[Any, ...]:
        value, pull = jax.vjp(function, *map(jnp.asarray, inputs))
        return value, *pull(jnp.ones_like(value))

    return evaluate


def onnx_session(content: str | bytes) -> Any:
    session = onnxruntime.InferenceSession(content)
    return lambda x: session.run(None, {"x": np.asarray(x, np.float32)})[0]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@all_operators()
def test_jax_source_computes_the_truth(name: str, check: Any, dtype: type) -> None:
    function = execute(pg.export(operator_text(name), to="jax", name="f"))["f"]
    with jax.enable_x64(dtype == np.float64):
        check(name, dtype, jax_evaluate(function))


@pytest.mark.parametrize("name", FUNCTIONS)
def test_jax_source_agrees_on_whole_functions(name: str) -> None:
    function = FUNCTIONS[name]
    exported = execute(pg.export(function, to="jax", name="f"))["f"]
    with jax.enable_x64(True):
        check_function(function, jax_evaluate(exported))
        check_function(function, jax_evaluate(jax.jit(exported)))


@pytest.mark.parametrize("scope", SCOPES)
def test_a_flax_module_has_the_scopes_parameters_and_learns(scope: str) -> None:
    module = execute(pg.export("wrn-1", to="flax"))["Wrn1"](per=scope)
    x = jnp.asarray(np.random.default_rng(0).normal(size=(16, 5, 3)), jnp.float32)
    start = module.init(jax.random.key(0), x)
    shape = {"layer": (), "channel": (3,), "neuron": (5, 3)}[scope]
    assert {name: p.shape for name, p in start["params"].items()} == {"alpha": shape, "beta": shape}
    ours = pg.Activation("wrn-1", scope=scope, shape=(5, 3), channel_dim=-1)
    target = 2 * ours(torch.tensor(np.asarray(x))).detach().numpy()

    def loss(variables: Any) -> Any:
        return ((module.apply(variables, x) - target) ** 2).mean()

    variables = start
    for _ in range(20):
        gradient = jax.grad(loss)(variables)
        variables = jax.tree.map(lambda p, g: p - 0.3 * g, variables, gradient)
    assert loss(variables) < 0.7 * loss(start)


@pytest.mark.parametrize("function", ["wrn-1", "prelu"])
def test_values_of_every_neuron_of_an_image_have_its_shape_in_jax(function: str) -> None:
    module = trained(function, "neuron", shape=(2, 4, 3))
    x = torch.randn(5, 2, 4, 3)
    exported = execute(pg.export(module, to="jax", name="f"))["f"]
    np.testing.assert_allclose(exported(x.numpy()), module(x).detach(), rtol=1e-5, atol=1e-6)


def test_trained_values_go_to_flax() -> None:
    module = trained("wrn-1", "channel", channel_dim=-1)
    x = torch.randn(4, 6, 3)
    exported = execute(pg.export(module, to="flax"))["Wrn1"]()
    value = exported.apply(exported.init(jax.random.key(0), x.numpy()), x.numpy())
    np.testing.assert_allclose(value, module(x).detach().numpy(), rtol=1e-5, atol=1e-6)


# An ONNX graph has no gradient of its own.
@all_operators()
def test_an_onnx_graph_computes_the_truth(name: str, check: Any) -> None:
    if check.__name__ == "check_unary":
        run = onnx_session(pg.export(operator_text(name), to="onnx"))
        # onnxruntime's own sigmoid is wrong by 1e-7 in its tail, a product with it by 5e-6.
        check(name, np.float32, lambda x: (run(x), None), atol=5e-6, rtol=2e-5)
    else:

        def evaluate(x: np.ndarray, a: np.ndarray, b: np.ndarray) -> tuple[Any, ...]:
            values = {"alpha": a, "beta": b}
            run = onnx_session(pg.export(operator_text(name), to="onnx", parameters=values))
            return run(x[None])[0], None  # a batch of one, the points as channels

        check(name, np.float32, evaluate)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_an_onnx_graph_agrees_on_whole_functions(name: str) -> None:
    function = FUNCTIONS[name]
    values = dict(zip(function.parameters, (0.9, 1.1, 0.8), strict=False))
    run = onnx_session(pg.export(function, to="onnx", parameters=values))
    x = np.linspace(-4, 4, 81)
    truth = np.array([function(p, **values) for p in x.astype(np.float32).tolist()])
    shown = np.isfinite(truth)
    np.testing.assert_allclose(run(x)[shown], truth[shown], rtol=2e-5, atol=1e-5)


@pytest.mark.parametrize("scope", SCOPES)
@pytest.mark.parametrize(
    ("shape", "channel_dim"), [((2, 3), 1), ((2, 3, 4, 5), 1), ((2, 4, 3), -1), ((2, 4, 3, 5), -2)]
)
def test_trained_values_go_to_onnx(scope: str, shape: tuple[int, ...], channel_dim: int) -> None:
    module = trained("wrn-1", scope, shape[1:], channel_dim)
    x = torch.randn(shape)
    value = onnx_session(pg.export(module, to="onnx"))(x.numpy())
    np.testing.assert_allclose(value, module(x).detach().numpy(), rtol=1e-5, atol=1e-5)


@all_operators()
def test_sympy_source_computes_the_truth(name: str, check: Any) -> None:
    exported = execute(pg.export(operator_text(name), to="sympy"))
    symbols = [exported[of] for of in ("x", "alpha", "beta") if of in exported]
    numeric = sympy.lambdify(symbols, exported["expression"], "mpmath")

    def evaluate(*inputs: np.ndarray) -> tuple[Any, ...]:
        return [_real(numeric, *map(float, row)) for row in zip(*inputs, strict=True)], None

    # Written as on paper, so digits cancel: far from zero, and in the tails.
    check(name, np.float64, evaluate, rtol=1e-9, atol=1e-9, sizes=(0, 20))


def _real(function: Any, *inputs: float) -> float:
    """A number; NaN for a complex power, and infinity for 0 to a negative one."""
    try:
        number = complex(function(*inputs))
    except ZeroDivisionError:
        return float("inf")
    return number.real if number.imag == 0 else float("nan")


def test_sympy_differentiates_what_was_exported() -> None:
    exported = execute(pg.export("wrn-1", to="sympy", parameters={"alpha": 0.9, "beta": 1.1}))
    slope = exported["with_values"].diff(exported["x"])
    expected = pg.parse("wrn-1").slope(0.7, alpha=0.9, beta=1.1)
    assert float(slope.subs(exported["x"], 0.7)) == pytest.approx(expected)

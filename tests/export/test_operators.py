"""Every operator of every exported source beside the float64 truth, executed."""

import ctypes
import subprocess
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import pangaea as pg
from pangaea.export import destinations
from pangaea.functions.operators import OPERATORS
from tests.export.truth import (
    FUNCTIONS,
    all_operators,
    check_function,
    check_unary,
    execute,
    operator_text,
)

TABLES = [name for name in destinations() if name not in ("json", "latex")]


@pytest.mark.parametrize("target", TABLES)
def test_a_target_has_exactly_the_tables_operators(target: str) -> None:
    module = import_module(f"pangaea.export.targets.{target}")
    assert module.OPERATORS.keys() == OPERATORS.keys()
    if hasattr(module, "SLOPES"):
        assert {n: len(slopes) for n, slopes in module.SLOPES.items()} == {
            n: row.arity for n, row in OPERATORS.items()
        }


def torch_evaluate(function: Any) -> Any:
    def evaluate(*inputs: np.ndarray) -> tuple[Any, ...]:
        tensors = [torch.tensor(values, requires_grad=True) for values in inputs]
        value = function(*tensors)
        assert value.dtype == tensors[0].dtype
        total = (value + 0 * tensors[0]).sum()  # a constant has a gradient too
        return value.detach(), *torch.autograd.grad(total, tensors)

    return evaluate


def numpy_evaluate(exported: dict[str, Any]) -> Any:
    def evaluate(*inputs: np.ndarray) -> tuple[Any, ...]:
        slopes = exported["f_gradient"](*inputs)
        return exported["f"](*inputs), *(slopes if isinstance(slopes, tuple) else [slopes])

    return evaluate


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@all_operators()
def test_torch_source_computes_the_truth(name: str, check: Any, dtype: type) -> None:
    function = execute(pg.export(operator_text(name), to="torch", name="f"))["f"]
    check(name, dtype, torch_evaluate(function))


@all_operators()
@pytest.mark.filterwarnings("ignore::RuntimeWarning")  # numpy says what overflows
def test_numpy_source_computes_the_truth(name: str, check: Any) -> None:
    exported = execute(pg.export(operator_text(name), to="numpy", name="f"))
    check(name, np.float64, numpy_evaluate(exported))


Compiled = dict[str, Callable[..., tuple[Any, ...]]]

_LOOP = """
void run_{name}(int n, {pointers}, double *value, double *gradients) {{
    for (int i = 0; i < n; i++) {{
        value[i] = {name}({inputs});
        {name}_gradient({inputs}, gradients + {count} * i);
    }}
}}
"""


def compiled(functions: dict[str, pg.Function], folder: Path) -> Compiled:
    """C functions with their gradients, all from the headers of one library."""
    parts = []
    for name, function in functions.items():
        (folder / f"{name}.h").write_text(str(pg.export(function, to="c", name=name)))
        names = ("x", *function.parameters)
        loop = _LOOP.format(
            name=name,
            pointers=", ".join(f"const double *{of}" for of in names),
            inputs=", ".join(f"{of}[i]" for of in names),
            count=len(names),
        )
        parts.append(f'#include "{name}.h"\n{loop}')
    (folder / "all.c").write_text("".join(parts))
    strict = ("-std=c99", "-Wall", "-Wextra", "-Werror", "-pedantic", "-O1", "-shared", "-fPIC")
    command = ["gcc", *strict, "all.c", "-o", "all.so", "-lm"]
    made = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    assert made.returncode == 0, made.stderr
    library = ctypes.CDLL(str(folder / "all.so"))

    def runner(name: str) -> Callable[..., tuple[Any, ...]]:
        def run(*inputs: np.ndarray) -> tuple[Any, ...]:
            arrays = [np.ascontiguousarray(values, np.float64) for values in inputs]
            value = np.empty_like(arrays[0])
            gradients = np.empty((len(value), len(arrays)))
            pointers = [a.ctypes.data_as(ctypes.c_void_p) for a in (*arrays, value, gradients)]
            getattr(library, f"run_{name}")(len(value), *pointers)
            return value, *gradients.T

        return run

    return {name: runner(name) for name in functions}


@pytest.fixture(scope="module")
def operators_in_c(tmp_path_factory: pytest.TempPathFactory) -> Compiled:
    functions = {f"f_{name}": pg.parse(operator_text(name)) for name in OPERATORS}
    return compiled(functions, tmp_path_factory.mktemp("c"))


@all_operators()
def test_c_source_computes_the_truth(name: str, check: Any, operators_in_c: Compiled) -> None:
    check(name, np.float64, operators_in_c[f"f_{name}"])


def test_the_check_sees_a_wrong_value_and_a_wrong_slope() -> None:
    def tanh(x: np.ndarray) -> tuple[Any, ...]:
        return np.tanh(x), np.cosh(np.clip(x, -300, 300)) ** -2.0

    check_unary("tanh", np.float64, tanh, rtol=1e-9)
    with pytest.raises(AssertionError):
        check_unary("tanh", np.float64, lambda x: (tanh(x)[0] + 1e-9, tanh(x)[1]))
    with pytest.raises(AssertionError):
        check_unary("tanh", np.float64, lambda x: (tanh(x)[0], tanh(x)[1] + 1e-9))


@pytest.mark.parametrize("text", ["alpha*x - x", "alpha*(beta*x)", "alpha*relu(x) + beta", "alpha"])
def test_every_numpy_slope_has_the_shape_of_x(text: str) -> None:
    exported = execute(pg.export(text, to="numpy", name="f"))
    slopes = exported["f_gradient"](np.full((2, 3), 0.5))
    assert {slope.shape for slope in slopes} == {(2, 3)}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_torch_and_numpy_sources_agree_on_whole_functions(name: str) -> None:
    exported = execute(pg.export(FUNCTIONS[name], to="torch", name="f"))
    check_function(FUNCTIONS[name], torch_evaluate(exported["f"]))
    exported = execute(pg.export(FUNCTIONS[name], to="numpy", name="f"))
    check_function(FUNCTIONS[name], numpy_evaluate(exported))


def test_c_sources_agree_on_whole_functions(tmp_path: Path) -> None:
    functions = {f"f_{name}".replace("-", "_"): f for name, f in FUNCTIONS.items()}
    library = compiled(functions, tmp_path)
    for name, function in functions.items():
        check_function(function, library[name])

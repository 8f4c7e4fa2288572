"""The kernels compiled for a GPU that need not be here: Hopper's, by Triton and ptxas.

The interpreter takes what the compiler refuses, and says nothing of registers.
"""

import re
import subprocess
from pathlib import Path
from typing import Any

import pytest

from pangaea.activation.kernels import launch
from pangaea.activation.kernels.layout import COLUMNS
from pangaea.functions.catalog import resolve
from pangaea.functions.learnable import LEARNABLE
from pangaea.functions.operators import BINARY, OPERATORS

triton = pytest.importorskip("triton")

UNARY = [name for name, row in OPERATORS.items() if row.arity == 1]
SUMS = [" + ".join(f"{name}(x)" for name in UNARY[i::4]) for i in range(4)]
PAIRS = ["x", *(f"{name}(alpha*x, beta*tanh(x))" for name in BINARY)]
A = "mul(logsigmoid(alpha*x), beta*asinh(x))"


def compiled(kernel: Any, function: str, dtype: str, **constants: Any) -> Any:
    """With every pointer aligned as torch's are, and sizes that are not known."""
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource

    signature: dict[str, Any] = {}
    aligned = {}
    for i, name in enumerate(kernel.arg_names):
        pointers = {"norm": 4, "parameters": len(resolve(function).parameters)}
        if name in pointers:
            signature[name] = ("*fp32",) * pointers[name]
            aligned |= {(i, k): [["tt.divisibility", 16]] for k in range(pointers[name])}
        elif name in ("x", "y", "dy", "dx", "dz", "partial"):
            signature[name] = "*fp32" if name == "partial" else f"*{dtype}"
            aligned[i,] = [["tt.divisibility", 16]]
        elif name.isupper():
            signature[name] = "constexpr"
        else:
            signature[name] = "fp32" if name == "epsilon" else "i32"
    form = launch.form(str(resolve(function)))
    values = {"VALUE": form.value, "PULL": form.pull, "COLUMNS": COLUMNS, **constants}
    places = {(kernel.arg_names.index(n),): v for n, v in values.items() if n in kernel.arg_names}
    return triton.compile(
        ASTSource(kernel, signature, constexprs=places, attrs=aligned),
        target=GPUTarget("cuda", 90, 32),
        options={"enable_fp_fusion": False},
    )


def spilled(kernel: Any, folder: Path) -> int:
    """Bytes of registers that had no place, as ptxas has it."""
    source = folder / "kernel.ptx"
    source.write_text(kernel.asm["ptx"])
    command = [triton.knobs.nvidia.ptxas.path, "-v", "-arch=sm_90a", source.name, "-o", "cubin"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True)
    return sum(map(int, re.findall(r"(\d+) bytes spill", done.stderr)))


@pytest.fixture(autouse=True)
def _cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(triton.knobs.cache, "dir", str(tmp_path))


@pytest.mark.parametrize("function", [*SUMS, *PAIRS])
def test_every_operator_compiles(function: str) -> None:
    from pangaea.activation.kernels import programs

    form = launch.form(str(resolve(function)))
    rows = {"UNIFORM": True, "ROWS": form.schedule(launch.BACKWARD).rows}
    needed = {"TO_X": True, "TO_PARAMETERS": bool(resolve(function).parameters)}
    assert compiled(programs.forward, function, "bf16", **rows).asm["cubin"]
    assert compiled(programs.backward, function, "bf16", **rows, **needed).asm["cubin"]


@pytest.mark.parametrize("function", [A, *LEARNABLE])
def test_parameters_stay_in_registers(function: str, tmp_path: Path) -> None:
    """Per neuron, as PReLU and APL have them, every column has values of its own."""
    from pangaea.activation.kernels import norms, programs

    form = launch.form(str(resolve(function)))
    there = {"UNIFORM": False, "ROWS": form.schedule(launch.FORWARD).rows}
    back = {"UNIFORM": False, "ROWS": form.schedule(launch.BACKWARD).rows}
    kernels = [
        compiled(programs.forward, function, "bf16", **there),
        compiled(programs.backward, function, "bf16", TO_X=True, TO_PARAMETERS=True, **back),
        compiled(norms.backward, function, "bf16", SHORTCUT=False, **back),
    ]
    assert [spilled(kernel, tmp_path) for kernel in kernels] == [0, 0, 0]

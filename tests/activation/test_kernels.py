"""The kernels' source and layout; in Triton's interpreter, which needs no GPU, all that they do."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch

import pangaea as pg
from pangaea.activation import fused
from pangaea.activation.kernels.layout import layout
from pangaea.activation.kernels.source import OPERATORS as SOURCE
from pangaea.activation.kernels.source import source
from pangaea.functions.operators import OPERATORS
from pangaea.functions.program import program
from tests import kernel_truth as truth

A = "mul(logsigmoid(alpha*x), beta*asinh(x))"


@pytest.mark.parametrize("what", ["kernels", "norms"])
def test_everything_holds_in_tritons_interpreter(what: str) -> None:
    # A process of its own, for the interpreter is switched on before Triton is imported.
    pytest.importorskip("triton")
    tests = Path(__file__).with_name(f"interpreted_{what}.py")
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", str(tests)]
    environment = os.environ | {"TRITON_INTERPRET": "1"}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-2000:]


def test_the_table_has_exactly_the_operators() -> None:
    assert SOURCE.keys() == OPERATORS.keys()


def test_a_functions_source_is_what_it_says() -> None:
    f = pg.parse(A)
    assert source(program(f), 2) == (
        "@triton.jit\n"
        "def value(v0, p):\n"
        "    v1 = v0 * p[0]\n"
        "    v2 = u.logsigmoid(v1)\n"
        "    v3 = f.asinh(v0)\n"
        "    v4 = v3 * p[1]\n"
        "    v5 = v2 * v4\n"
        "    return v5\n"
        "\n"
        "@triton.jit\n"
        "def pull(g5, v0, p):\n"
        "    v1 = v0 * p[0]\n"
        "    v2 = u.logsigmoid(v1)\n"
        "    v3 = f.asinh(v0)\n"
        "    v4 = v3 * p[1]\n"
        "    v5 = v2 * v4\n"
        "    g2 = g5 * v4\n"
        "    g4 = g5 * v2\n"
        "    g3 = g4 * p[1]\n"
        "    g0 = g3 * f.asinh_slope(v0)\n"
        "    g1 = g2 * u.sigmoid_below(v1)\n"
        "    g0 = g0 + g1 * p[0]\n"
        "    return g0, (g1 * v0, g4 * v3, )\n"
        "\n"
    )


@pytest.mark.parametrize("case", [i for i, c in enumerate(truth.CASES) if c[0] == "channel"])
def test_every_column_has_one_owner(case: int) -> None:
    x = truth.case_input(case, "cpu", torch.float32)
    dim = truth.CASES[case][3] % x.dim()
    shape = (x.shape[dim], *(1,) * (x.dim() - 1 - dim))
    at = layout(x, shape)
    channel = torch.arange(shape[0]).view(shape).expand(x.shape)
    place = torch.arange(x.numel()).as_strided(x.shape, x.stride())
    assert torch.equal(place % at.width // at.inner % at.count, channel)
    assert at.width % 16 == 0
    assert at.tiles * 64 >= at.width
    assert at.steps(8) * 8 * at.width >= x.numel()


def test_identity_nodes_can_be_differentiated_twice() -> None:
    x = torch.tensor([0.5], dtype=torch.float64, requires_grad=True)
    y = pg.Activation("identity(identity(x)) * identity(square(x))")(x)
    (slope,) = torch.autograd.grad(y, x, create_graph=True)
    (second,) = torch.autograd.grad(slope, x)
    torch.testing.assert_close(second, 6 * x.detach())


def test_the_kernels_leave_to_the_operators_what_they_cannot_do(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    x, p = torch.randn(2, 3, 4), torch.ones(3)
    assert not fused.applies(x, [p], (3, 1))  # neither the CPU …
    monkeypatch.setattr(fused, "DEVICES", ("cpu",))
    monkeypatch.setattr(fused, "_TRITON", True)
    assert fused.applies(x, [p], (3, 1))
    assert fused.applies(x, [], ())
    assert not fused.applies(x.double(), [p], (3, 1))  # … nor float64,
    assert not fused.applies(x, [p.double()], (3, 1))
    assert not fused.applies(x, [p], (3, 1, 1, 1))  # nor what makes the input larger,
    assert not fused.applies(x[:, :1], [p], (3, 1))
    # nor torch.func's transformations.
    seen = []
    torch.func.vmap(lambda row: seen.append(fused.applies(row, [p], (3, 1))) or row)(x)  # type: ignore[func-returns-value]
    assert seen == [False]

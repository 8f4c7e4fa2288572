"""The kernels in Triton's interpreter, which runs their source on the CPU.

TRITON_INTERPRET=1 python -m pytest tests/activation/interpreted_kernels.py

`test_kernels` runs them so, in a process of their own.
"""

import random

import pytest
import torch

import pangaea as pg
from pangaea.activation import fused
from pangaea.activation.kernels import launch
from pangaea.activation.module import SCOPES
from pangaea.functions.learnable import LEARNABLE
from pangaea.functions.operators import BINARY, OPERATORS
from tests import kernel_truth as truth
from tests.strategies import random_expression

A = "mul(logsigmoid(alpha*x), beta*asinh(x))"
UNARY_NAMES = [name for name, row in OPERATORS.items() if row.arity == 1]
DTYPES = (torch.float32, torch.bfloat16)

# numpy warns of what is right here: overflow is infinity, and 0/0 NaN.
pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")


@pytest.fixture(autouse=True)
def _on_the_cpu(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fused, "DEVICES", ("cpu",))


@pytest.mark.parametrize("name", UNARY_NAMES)
def test_unary_operators_over_the_whole_range(name: str) -> None:
    assert truth.check_operator(name, "cpu", torch.float32) > 1000


@pytest.mark.parametrize("name", BINARY)
def test_binary_operators_on_a_grid(name: str) -> None:
    assert truth.check_binary(name, "cpu") > 200


@pytest.mark.parametrize("name", OPERATORS)
def test_nan_and_infinity_propagate_as_in_the_eager_operators(name: str) -> None:
    texts = [f"{name}(x)"]
    if name in BINARY:
        texts = [f"{name}(x, tanh(x))", f"{name}(tanh(x), x)", f"{name}(x, x)"]
    for text in texts:
        truth.check_special(text, "cpu")


@pytest.mark.parametrize("seed", range(40))
def test_random_functions(seed: int) -> None:
    truth.check_random(seed, "cpu", DTYPES[seed % 4 == 3])


def test_random_functions_were_compared_and_not_passed_over() -> None:
    assert sum(truth.check_random(seed, "cpu", torch.float32) for seed in range(40, 52)) > 2000


@pytest.mark.parametrize("name", sorted(pg.catalog())[::6])
def test_functions_of_the_catalog(name: str) -> None:
    x = truth.case_input(1, "cpu", torch.float32)
    assert truth.check(pg.catalog()[name], x, "channel", rng=random.Random(0)) > 100


@pytest.mark.parametrize("scope", SCOPES)
@pytest.mark.parametrize("name", LEARNABLE)
def test_learnable_baselines(name: str, scope: str) -> None:
    for dtype in DTYPES:
        assert truth.check_learnable(name, scope, "cpu", dtype) > 700


@pytest.mark.parametrize("dtype", [*DTYPES, torch.float16], ids=str)
@pytest.mark.parametrize("case", range(len(truth.CASES)))
def test_scopes_layouts_and_sizes(case: int, dtype: torch.dtype) -> None:
    scope, _, _, channel_dim = truth.CASES[case]
    x = truth.case_input(case, "cpu", dtype)
    assert truth.check(pg.parse(A), x, scope, channel_dim=channel_dim, rng=random.Random(0)) > 20


@pytest.mark.parametrize("shape", [(), (1,), (97,), (0,), (0, 3, 2, 2), (1, 1, 1, 1)])
def test_any_shape(shape: tuple[int, ...]) -> None:
    x = torch.randn(shape, requires_grad=True)
    alpha, beta = torch.ones((), requires_grad=True), torch.ones((), requires_grad=True)
    y = fused.run(A, x, [alpha, beta], ())
    to_x, to_alpha, _ = torch.autograd.grad(y.sum(), (x, alpha, beta))
    assert y.shape == to_x.shape == shape
    assert to_alpha.shape == ()
    expected = torch.nn.functional.logsigmoid(x) * torch.asinh(x)
    torch.testing.assert_close(y, expected, rtol=1e-5, atol=1e-6)
    torch.testing.assert_close(to_alpha, (torch.sigmoid(-x) * x * torch.asinh(x)).sum())


def test_what_does_not_lie_densely_is_read_right() -> None:
    module = pg.Activation(A, shape=(3, 5))
    with torch.no_grad():
        module.alpha.copy_(torch.tensor([0.5, 1.0, 2.0]))
    whole = torch.randn(4, 6, 10)
    for x in (whole[:, ::2, ::2], whole[:, :3, 5:], whole.transpose(0, 1)[:3].transpose(0, 1)):
        x = x[..., :5]
        torch.testing.assert_close(module(x), module(x.contiguous()), rtol=0, atol=0)
    x = torch.randn(1, 3, 5).expand(4, 3, 5).requires_grad_()
    (gradient,) = torch.autograd.grad(module(x).sum(), x)  # of a sum: it has no strides at all
    assert gradient.shape == x.shape


@pytest.mark.parametrize("wanted", [(0,), (1, 2), (0, 2)])
def test_only_the_gradients_that_are_wanted_are_made(wanted: tuple[int, ...]) -> None:
    leaves = [torch.randn(4, 3), torch.ones(3), torch.ones(3)]
    for i in wanted:
        leaves[i].requires_grad_()
    fused.run(A, leaves[0], leaves[1:], (3,)).sum().backward()
    assert [i for i, leaf in enumerate(leaves) if leaf.grad is not None] == list(wanted)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_gradients_can_be_differentiated(dtype: torch.dtype) -> None:
    x = torch.randn(4, 3).to(dtype).requires_grad_()
    leaves = [x, *(torch.full((3,), 1.5, requires_grad=True) for _ in range(2))]

    def second(values: torch.Tensor) -> list[torch.Tensor]:
        firsts = torch.autograd.grad(values.float().sum(), leaves, create_graph=True)
        total = sum(first.float().square().sum() for first in firsts)
        return list(torch.autograd.grad(total, leaves))  # type: ignore[arg-type]

    kernel = second(fused.run(A, x, leaves[1:], (3,)))
    module = pg.Activation(A, shape=3).double()
    wide = [leaf.detach().double().requires_grad_() for leaf in leaves]
    value = torch.func.functional_call(module, {"alpha": wide[1], "beta": wide[2]}, (wide[0],))
    firsts = torch.autograd.grad(value.sum(), wide, create_graph=True)
    truths = torch.autograd.grad(sum(first.square().sum() for first in firsts), wide)  # type: ignore[arg-type]
    limit = 1e-4 if dtype == torch.float32 else 3e-2
    for got, want in zip(kernel, truths, strict=True):
        torch.testing.assert_close(got.double(), want, rtol=limit, atol=limit)


def test_long_functions() -> None:
    rng = random.Random(5)
    f = pg.Function(random_expression(rng, 60))
    x = torch.randn(3, 3)
    truth.check(f, x, "layer", rng=rng)


def test_torch_accepts_the_operators() -> None:
    x = torch.randn(2, 3, 2, 2).contiguous(memory_format=torch.channels_last).requires_grad_()
    p = [torch.ones(3, requires_grad=True), torch.ones(3, requires_grad=True)]
    torch.library.opcheck(fused.activation, (x, p, A, (3, 1, 1)))


def test_a_repeated_form_is_made_once() -> None:
    assert launch.form(A) is launch.form(A)
    assert launch.form(A) is not launch.form("mul(logsigmoid(alpha*x), asinh(x))")

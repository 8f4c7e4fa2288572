"""The kernels on a GPU: right against float64, and at home in everything that torch does.

python -m pytest tests/gpu/test_kernels.py -m gpu
"""

import math
import multiprocessing
import os
import random
import warnings
from concurrent.futures import ProcessPoolExecutor

import pytest
import torch
from torch import nn

import pangaea as pg
from pangaea.activation import fused
from pangaea.activation.module import SCOPES
from pangaea.functions.learnable import LEARNABLE
from pangaea.functions.operators import BINARY, OPERATORS
from tests import kernel_truth as truth
from tests.strategies import random_expression

pytestmark = pytest.mark.gpu
A = "mul(logsigmoid(alpha*x), beta*asinh(x))"
UNARY_NAMES = [name for name, row in OPERATORS.items() if row.arity == 1]
DTYPES = (torch.float32, torch.bfloat16, torch.float16)
RANDOM = 300


Check = tuple[str, str | int, torch.dtype]
CHECKS: list[Check] = [
    *(("operator", name, dtype) for name in UNARY_NAMES for dtype in DTYPES),
    *(("catalog", name, dtype) for name in pg.catalog() for dtype in DTYPES[:2]),
    *(("random", seed, dtype) for seed in range(RANDOM) for dtype in DTYPES[: 1 + (seed % 3 == 0)]),
]


def compared(check: Check) -> int:
    kind, what, dtype = check
    torch.manual_seed(0)  # these are processes of their own
    if kind == "operator":
        return truth.check_operator(str(what), "cuda", dtype)
    if kind == "random":
        return truth.check_random(int(what), "cuda", dtype)
    x = truth.case_input(1, "cuda", dtype)
    return truth.check(pg.catalog()[str(what)], x, "channel", rng=random.Random(0))


def several(checks: list[Check]) -> tuple[int, list[str]]:
    """Checks that fill a process: how many elements were compared, and what was wrong."""
    torch.set_num_threads(1)
    count, wrong = 0, []
    for check in checks:
        try:
            count += compared(check)
        except Exception as error:
            wrong.append(f"{check}: {error}")
    return count, wrong


def test_all_operators_the_whole_catalog_and_300_random_functions() -> None:
    processes = min(12, os.cpu_count() or 1)  # compiling takes most of the time
    parts = [CHECKS[i::processes] for i in range(processes)]
    with ProcessPoolExecutor(processes, multiprocessing.get_context("spawn")) as pool:
        done = list(pool.map(several, parts))
    assert [text for _, wrong in done for text in wrong] == []
    assert sum(count for count, _ in done) > 300_000


@pytest.mark.parametrize("scope", SCOPES)
@pytest.mark.parametrize("name", LEARNABLE)
def test_learnable_baselines(name: str, scope: str) -> None:
    for dtype in DTYPES:
        assert truth.check_learnable(name, scope, "cuda", dtype) > 700


@pytest.mark.parametrize("name", BINARY)
def test_binary_operators_on_a_grid(name: str) -> None:
    assert truth.check_binary(name, "cuda") > 200


@pytest.mark.parametrize("name", OPERATORS)
def test_nan_and_infinity_propagate_as_in_the_eager_operators(name: str) -> None:
    texts = [f"{name}(x)"]
    if name in BINARY:
        texts = [f"{name}(x, tanh(x))", f"{name}(tanh(x), x)", f"{name}(x, x)"]
    for text in texts:
        truth.check_special(text, "cuda")


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("case", range(len(truth.CASES)))
def test_scopes_layouts_and_sizes(case: int, dtype: torch.dtype) -> None:
    scope, _, _, channel_dim = truth.CASES[case]
    x = truth.case_input(case, "cuda", dtype)
    assert truth.check(pg.parse(A), x, scope, channel_dim=channel_dim, rng=random.Random(0)) > 20


@pytest.mark.parametrize("dtype", DTYPES[:2], ids=str)
@pytest.mark.parametrize("last", [False, True])
@pytest.mark.parametrize("shape", [(128, 64, 32, 32), (16, 100, 9, 9), (64, 160, 8, 8)])
@pytest.mark.parametrize("scope", ["layer", "channel", "neuron"])
def test_large_tensors(scope: str, shape: tuple[int, ...], last: bool, dtype: torch.dtype) -> None:
    x = (2 * torch.randn(shape, device="cuda")).to(dtype)
    x = x.contiguous(memory_format=torch.channels_last) if last else x
    module = pg.Activation(A, scope, shape[1:]).cuda()  # type: ignore[arg-type]
    leaves = [x.requires_grad_(), *module.parameters()]
    with torch.no_grad():
        for p in module.parameters():
            p.add_(torch.rand_like(p) / 4)
    dy = torch.randn(shape, device="cuda").to(dtype)
    got = torch.autograd.grad(module(x), leaves, dy)
    wide = module.double()
    wide_x = x.detach().double().requires_grad_()
    value = wide(wide_x)
    want = torch.autograd.grad(value, [wide_x, *wide.parameters()], dy.double())
    rounding = truth.ROUNDING[dtype]
    torch.testing.assert_close(got[0].double(), want[0], rtol=1e-5 + rounding, atol=1e-6)
    count = x.numel() / got[1].numel()
    for mine, right in zip(got[1:], want[1:], strict=True):
        # A sum of so many random terms is about the root of their number, and off by 1e-5 of that.
        torch.testing.assert_close(
            mine.double(), right.double(), rtol=1e-5, atol=1e-5 * math.sqrt(count)
        )


def test_more_elements_than_int32_counts() -> None:
    x = torch.ones(2**31 + 64, device="cuda", dtype=torch.bfloat16)
    x[-1] = -1.0
    y = fused.run("tanh(x)", x, [], ())
    assert y[0] == y[2**31] == -y[-1] == torch.tensor(math.tanh(1)).bfloat16()


def test_gradients_are_the_same_in_every_run() -> None:
    module = pg.Activation(A, shape=(64, 32, 32)).cuda()
    x = torch.randn(128, 64, 32, 32, device="cuda")
    first = torch.autograd.grad(module(x).square().sum(), [*module.parameters()])
    for _ in range(5):
        again = torch.autograd.grad(module(x).square().sum(), [*module.parameters()])
        assert all(torch.equal(a, b) for a, b in zip(first, again, strict=True))


def test_one_form_is_compiled_once_for_all_sizes() -> None:
    from pangaea.activation.kernels import programs as kernels

    def compiled() -> int:
        both = (kernels.forward, kernels.backward)
        return sum(len(cache[0]) for kernel in both for cache in kernel.device_caches.values())

    before = compiled()
    for channels, size in ((64, 32), (128, 16), (256, 8)):
        layer = pg.Activation("alpha*tanh(beta*swish(x))", shape=channels).cuda()
        x = torch.randn(8, channels, size, size, device="cuda")
        x = x.contiguous(memory_format=torch.channels_last).requires_grad_()
        layer(x).sum().backward()
    assert compiled() - before == 2


def test_gradients_can_be_differentiated() -> None:
    module = pg.Activation("alpha*tanh(x)*identity(x)", shape=(3,)).cuda()
    x = torch.randn(5, 3, device="cuda", requires_grad=True)
    (slope,) = torch.autograd.grad(module(x).sum(), x, create_graph=True)
    (second,) = torch.autograd.grad(slope.sum(), x)
    sech2 = 1 - torch.tanh(x) ** 2
    torch.testing.assert_close(second, 2 * sech2 * (1 - x * torch.tanh(x)), rtol=1e-4, atol=1e-5)


def test_torch_func_takes_the_operators() -> None:
    modules = [pg.Activation(A, shape=3).cuda() for _ in range(2)]
    parameters, _ = torch.func.stack_module_state(modules)  # type: ignore[arg-type]

    def loss(parameters: dict[str, torch.Tensor], x: torch.Tensor) -> torch.Tensor:
        return torch.func.functional_call(modules[0], parameters, (x,)).sum()  # type: ignore[no-any-return]

    x = torch.randn(2, 4, 3, device="cuda")
    together = torch.func.vmap(torch.func.grad(loss))(parameters, x)
    alone = torch.autograd.grad(modules[0](x[0]).sum(), list(modules[0].parameters()))
    torch.testing.assert_close(together["alpha"][0], alone[0], rtol=1e-5, atol=1e-5)


def network(function: str) -> nn.Sequential:
    return nn.Sequential(
        nn.Conv2d(3, 8, 3, padding=1), pg.Activation(function, shape=(8, 6, 6)), nn.Conv2d(8, 2, 1)
    ).cuda()


@pytest.mark.parametrize("dynamic", [False, True])
def test_compile_keeps_values_and_gradients(dynamic: bool) -> None:
    model = network(A)
    x = torch.randn(4, 3, 6, 6, device="cuda")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torch's own, while it compiles
        compiled = torch.compile(model, fullgraph=True, dynamic=dynamic)
        got = torch.autograd.grad(compiled(x).square().sum(), list(model.parameters()))
    want = torch.autograd.grad(model(x).square().sum(), list(model.parameters()))
    torch.testing.assert_close(got, want, rtol=2e-3, atol=2e-3)


def test_export_keeps_values() -> None:
    model, x = network(A), torch.randn(4, 3, 6, 6, device="cuda")
    exported = torch.export.export(model, (x,))
    assert "pangaea.activation" not in str(exported.graph)  # it runs where pangaea is not
    torch.testing.assert_close(exported.module()(x), model(x))


def test_torch_accepts_the_operators() -> None:
    for last in (False, True):
        x = torch.randn(2, 3, 4, 4, device="cuda")
        x = x.contiguous(memory_format=torch.channels_last) if last else x
        p = [torch.ones(3, device="cuda", requires_grad=True) for _ in range(2)]
        torch.library.opcheck(fused.activation, (x.requires_grad_(), p, A, (3, 1, 1)))


def test_a_captured_step_is_the_plain_step() -> None:
    module = pg.Activation(A, shape=(64,)).cuda()
    x = torch.randn(256, 64, device="cuda", requires_grad=True)

    def step() -> list[torch.Tensor]:
        return list(torch.autograd.grad(module(x).square().sum(), [x, *module.parameters()]))

    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        step()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, stream=stream):
            captured = step()
    with torch.no_grad():
        x.copy_(torch.randn_like(x))
        module.alpha.fill_(0.7)
    graph.replay()
    torch.cuda.synchronize()
    for got, want in zip(captured, step(), strict=True):
        assert torch.equal(got, want)


def test_autocast_hands_over_half_precision() -> None:
    model = network(A)
    with torch.autocast("cuda", dtype=torch.bfloat16):
        y = model(torch.randn(2, 3, 6, 6, device="cuda"))
    y.float().sum().backward()
    assert y.dtype == torch.bfloat16
    assert model[1].alpha.grad.dtype == torch.float32


def test_extra_memory_is_that_of_silu() -> None:
    shape = (64, 64, 64, 64)

    def peak(function: nn.Module) -> float:
        x = torch.randn(shape, device="cuda", requires_grad=True)
        dy = torch.randn(shape, device="cuda")
        torch.cuda.reset_peak_memory_stats()
        before = torch.cuda.memory_allocated()
        function(x).backward(dy)
        return (torch.cuda.max_memory_allocated() - before) / (x.numel() * x.element_size())

    kernel = pg.Activation(A, shape=shape[1:]).cuda()
    assert peak(kernel) <= 1.02 * peak(nn.SiLU())


@pytest.mark.parametrize("nodes", [64, 256])
def test_long_functions(nodes: int) -> None:
    rng = random.Random(nodes)
    function = pg.Function(random_expression(rng, nodes))
    while max(len(path) for path, _ in function.expression.walk()) > 60:
        function = pg.Function(random_expression(rng, nodes))
    truth.check(function, torch.randn(9, 9, device="cuda"), "layer", rng=rng)

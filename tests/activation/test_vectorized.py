"""The kernels of the CPU: the values and gradients of every function, and who is left alone."""

import os
import random
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.autograd import forward_ad
from torch.fx.experimental.proxy_tensor import make_fx

import pangaea as pg
from pangaea.activation import vectorized
from pangaea.activation.cpu import launch
from pangaea.activation.cpu import library as building
from pangaea.activation.module import SCOPES
from pangaea.activation.program import run
from pangaea.functions.learnable import LEARNABLE
from pangaea.functions.operators import BINARY, OPERATORS
from pangaea.functions.program import program
from tests import kernel_truth as truth
from tests.strategies import random_expression

A = "mul(logsigmoid(alpha*x), beta*asinh(x))"
STEPS = program(pg.parse(A))
UNARY_NAMES = [name for name, row in OPERATORS.items() if row.arity == 1]

pytestmark = pytest.mark.skipif(building.library() is None, reason="no C compiler is at hand")


def test_the_table_has_exactly_the_operators() -> None:
    kernels = building.library()
    assert kernels is not None
    assert building.operators(kernels).keys() == OPERATORS.keys()


@pytest.mark.parametrize("name", UNARY_NAMES)
def test_unary_operators_over_the_whole_range(name: str) -> None:
    assert truth.check_operator(name, "cpu", torch.float32, truth.C) > 1000


@pytest.mark.parametrize("name", BINARY)
def test_binary_operators_on_a_grid(name: str) -> None:
    assert truth.check_binary(name, "cpu", truth.C) > 200


@pytest.mark.parametrize("name", OPERATORS)
def test_nan_and_infinity_propagate_as_in_the_operators_of_torch(name: str) -> None:
    texts = [f"{name}(x)"]
    if name in BINARY:
        texts = [f"{name}(x, tanh(x))", f"{name}(tanh(x), x)", f"{name}(x, x)"]
    for text in texts:
        truth.check_special(text, "cpu", truth.C)


@pytest.mark.parametrize("seed", range(60))
def test_random_functions(seed: int) -> None:
    truth.check_random(seed, "cpu", torch.float32, truth.C)


def test_random_functions_were_compared_and_not_passed_over() -> None:
    compared = [truth.check_random(s, "cpu", torch.float32, truth.C) for s in range(60, 100)]
    assert sum(compared) > 8000


@pytest.mark.parametrize("name", sorted(pg.catalog()))
def test_functions_of_the_catalog(name: str) -> None:
    x, rng = truth.case_input(1, "cpu", torch.float32), random.Random(0)
    assert truth.check(pg.catalog()[name], x, "channel", rng=rng, kernels=truth.C) > 100


# Periods longer than the lanes: by neuron, by pixel, by channels of many pixels.
WIDE = (
    ("neuron", (3, 300), 1),
    ("channel", (2, 5, 9, 13), 1),
    ("channel", (2, 3, 17, 17), 1),
    ("channel", (3, 4, 301), -1),
    ("layer", (3, 7, 31, 3), 1),
)


@pytest.mark.parametrize(("scope", "shape", "channel_dim"), WIDE)
def test_owners_that_lie_far_apart(scope: str, shape: tuple[int, ...], channel_dim: int) -> None:
    x, rng = 3 * torch.randn(shape), random.Random(0)
    f = pg.parse(A)
    truth.check(f, x, scope, channel_dim=channel_dim, rng=rng, kernels=truth.C)


@pytest.mark.parametrize("scope", SCOPES)
@pytest.mark.parametrize("name", LEARNABLE)
def test_learnable_baselines(name: str, scope: str) -> None:
    assert truth.check_learnable(name, scope, "cpu", torch.float32, truth.C) > 700


@pytest.mark.parametrize("case", range(len(truth.CASES)))
def test_scopes_layouts_and_sizes(case: int) -> None:
    scope, _, _, channel_dim = truth.CASES[case]
    x, rng = truth.case_input(case, "cpu", torch.float32), random.Random(0)
    f = pg.parse(A)
    assert truth.check(f, x, scope, channel_dim=channel_dim, rng=rng, kernels=truth.C) > 20


@pytest.mark.parametrize("shape", [(), (1,), (97,), (1, 1, 1, 1), (256,), (257,), (511, 3)])
def test_any_shape(shape: tuple[int, ...]) -> None:
    x = torch.randn(shape, requires_grad=True)
    own = [torch.ones((), requires_grad=True) for _ in range(2)]
    y = vectorized.run(STEPS, x, own, ())
    got = torch.autograd.grad(y.sum(), (x, *own))
    assert y.shape == got[0].shape == shape
    assert got[1].shape == ()
    want = torch.autograd.grad(run(STEPS, x, own, ()).sum(), (x, *own))
    torch.testing.assert_close(y, run(STEPS, x, own, ()))
    torch.testing.assert_close(got, want)


def test_what_does_not_lie_densely_is_read_right() -> None:
    module = pg.Activation(A, shape=(3, 5))
    with torch.no_grad():
        module.alpha.copy_(torch.tensor([0.5, 1.0, 2.0]))
    whole = torch.randn(4, 6, 10)
    for x in (whole[:, ::2, ::2], whole[:, :3, 5:], whole.transpose(0, 1)[:3].transpose(0, 1)):
        x = x[..., :5]
        assert torch.equal(module(x), module(x.contiguous()))
    x = torch.randn(1, 3, 5).expand(4, 3, 5).requires_grad_()
    (gradient,) = torch.autograd.grad(module(x).sum(), x)  # of a sum: it has no strides at all
    assert gradient.shape == x.shape


@pytest.mark.parametrize("wanted", [(0,), (1, 2), (0, 2)])
def test_only_the_gradients_that_are_wanted_are_made(wanted: tuple[int, ...]) -> None:
    leaves = [torch.randn(4, 3), torch.ones(3), torch.ones(3)]
    for i in wanted:
        leaves[i].requires_grad_()
    vectorized.run(STEPS, leaves[0], leaves[1:], (3,)).sum().backward()
    assert [i for i, leaf in enumerate(leaves) if leaf.grad is not None] == list(wanted)


def test_gradients_can_be_differentiated() -> None:
    leaves = [torch.randn(4, 3), torch.full((3,), 1.5), torch.full((3,), 0.5)]

    def second(leaves: list[torch.Tensor], apply: object) -> tuple[torch.Tensor, ...]:
        leaves = [leaf.requires_grad_() for leaf in leaves]
        value = apply(STEPS, leaves[0], leaves[1:], (3,))  # type: ignore[operator]
        firsts = torch.autograd.grad(value.sum(), leaves, create_graph=True)
        return torch.autograd.grad(sum(first.square().sum() for first in firsts), leaves)  # type: ignore[arg-type]

    want = second([leaf.double() for leaf in leaves], run)
    for mine, right in zip(second(leaves, vectorized.run), want, strict=True):
        torch.testing.assert_close(mine.double(), right, rtol=1e-4, atol=1e-4)


def test_long_functions() -> None:
    rng = random.Random(5)
    f = pg.Function(random_expression(rng, 60))
    truth.check(f, torch.randn(3, 3), "layer", rng=rng, kernels=truth.C)


@pytest.fixture
def _threads() -> Iterator[None]:
    threads = torch.get_num_threads()
    yield
    torch.set_num_threads(threads)


@pytest.mark.usefixtures("_threads")
@pytest.mark.parametrize("shape", [(50, 16, 30, 20), (7, 3, 200, 150)])
def test_large_tensors_are_the_same_on_any_number_of_threads(shape: tuple[int, ...]) -> None:
    x = torch.randn(shape, requires_grad=True)
    own = [torch.rand(shape[1], requires_grad=True) for _ in range(2)]
    results = []
    for threads in (1, 3):
        torch.set_num_threads(threads)
        y = vectorized.run(STEPS, x, own, (shape[1], 1, 1))
        results.append([y.detach(), *torch.autograd.grad(y, [x, *own], torch.ones_like(y))])
    assert len(launch._plan(x.shape, x.stride(), (shape[1], 1, 1)).blocks) > 3
    for one, several in zip(*results, strict=True):
        assert torch.equal(one, several)
    y = run(STEPS, x, own, (shape[1], 1, 1))
    torch.testing.assert_close(results[0][0], y)
    want = torch.autograd.grad(y, [x, *own], torch.ones_like(y))
    torch.testing.assert_close(results[0][1], want[0])
    torch.testing.assert_close(results[0][2:], [*want[1:]], rtol=1e-5, atol=0.1)


def test_what_they_cannot_do_is_left_to_the_operators() -> None:
    x, p = torch.randn(2, 3, 4), torch.ones(3)
    assert vectorized.applies(x, [p], (3, 1))
    assert vectorized.applies(x, [], ())
    assert not vectorized.applies(x.double(), [p], (3, 1))
    assert not vectorized.applies(x, [p.double()], (3, 1))
    assert not vectorized.applies(x.to("meta"), [p], (3, 1))
    assert not vectorized.applies(x, [p], (3, 1, 1, 1))  # which makes the input larger
    assert not vectorized.applies(x[:, :1], [p], (3, 1))
    assert not vectorized.applies(x.cfloat().conj().imag, [p], (3, 1))
    with forward_ad.dual_level():
        assert not vectorized.applies(x, [p], (3, 1))
    with FakeTensorMode():
        assert not vectorized.applies(x, [p], (3, 1))
    seen = []
    torch.func.vmap(lambda row: seen.append(vectorized.applies(row, [p], (3, 1))) or row)(x)  # type: ignore[func-returns-value]
    assert seen == [False]


def test_who_records_operators_sees_them() -> None:
    module = pg.Activation(A, shape=3)
    graph = make_fx(lambda x: module(x))(torch.randn(2, 3))
    x = torch.randn(2, 3)
    torch.testing.assert_close(graph(x), module(x))


def test_training_is_the_same_as_with_the_operators(monkeypatch: pytest.MonkeyPatch) -> None:
    ours = [pg.train("mnist1d", A, epochs=2) for _ in range(2)]
    assert ours[0].loss == ours[1].loss
    monkeypatch.setattr(vectorized, "library", lambda: None)
    plain = pg.train("mnist1d", A, epochs=2)
    assert ours[0].loss == pytest.approx(plain.loss, rel=1e-5)
    assert ours[0].parameters["alpha"][-1] == pytest.approx(plain.parameters["alpha"][-1], rel=1e-4)


@pytest.fixture
def kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where compiled kernels are kept."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return tmp_path / "pangaea" / "kernels"


@pytest.mark.parametrize("umask", [0o022, 0o002])
def test_they_are_compiled_once_and_kept_for_their_owner_alone(
    umask: int, kept: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = os.umask(umask)
    try:
        assert building.library.__wrapped__() is not None
    finally:
        os.umask(before)
    (file,) = kept.iterdir()
    assert kept.stat().st_mode & 0o777 == 0o700
    assert file.stat().st_mode & 0o022 == 0
    monkeypatch.setattr(building, "_compile", lambda *_: pytest.fail("compiled again"))
    assert building.library.__wrapped__() is not None


def test_what_others_could_have_written_is_not_loaded(kept: Path) -> None:
    assert building.library.__wrapped__() is not None
    (file,) = kept.iterdir()
    file.unlink()  # it is loaded: a file that is written to in place would change under its user
    file.write_bytes(b"planted")
    file.chmod(0o666)
    assert building.library.__wrapped__() is not None
    assert file.read_bytes() != b"planted"
    kept.chmod(0o777)
    assert building._folder() != kept
    kept.rename(kept.with_name("elsewhere"))
    kept.symlink_to(kept.with_name("elsewhere"))
    assert building._folder() != kept


@pytest.mark.parametrize("compiler", ["false", "no-such-compiler", "true", "sh -c 'exit 3'"])
def test_without_a_compiler_there_are_none(
    compiler: str, kept: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CC", compiler)
    assert building.library.__wrapped__() is None
    assert not kept.exists() or not any(kept.iterdir())


def test_without_kernels_a_function_is_the_same(kept: Path) -> None:
    code = f"import torch, pangaea as pg; print(pg.Activation({A!r})(torch.ones(2, 3)).sum())"
    texts = [
        subprocess.run(
            [sys.executable, "-c", code],
            env=os.environ | {"CC": compiler},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for compiler in ("cc", "no-such-compiler")
    ]
    assert texts[0] == texts[1] != ""

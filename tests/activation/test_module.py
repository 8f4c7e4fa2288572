"""`Activation`: shapes, scopes, layouts, and everything people do with modules."""

import copy
import math
import random
import warnings
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn

import pangaea as pg
from pangaea.activation import fused
from pangaea.activation.normalized import fuse
from pangaea.errors import PangaeaError
from pangaea.functions.learnable import LEARNABLE
from pangaea.functions.operators import OPERATORS
from tests.strategies import random_function

A = "log(sigmoid(alpha*x)) * beta*asinh(x)"
SCOPES = ("layer", "channel", "neuron")
INPUTS = [((6, 5), 1), ((4, 3, 7), 1), ((2, 3, 4, 5), 1), ((2, 7, 3), -1), ((2, 5, 7, 3), 3)]


@pytest.mark.parametrize("scope", SCOPES)
@pytest.mark.parametrize(("shape", "channel_dim"), INPUTS)
def test_parameters_have_their_scopes_shape(
    scope: Any, shape: tuple[int, ...], channel_dim: int
) -> None:
    x = torch.randn(shape)
    expected = {"layer": (), "channel": (x.shape[channel_dim],), "neuron": shape[1:]}[scope]
    built = pg.Activation(A, scope=scope, shape=shape[1:], channel_dim=channel_dim)
    lazy = pg.Activation(A, scope=scope, channel_dim=channel_dim)
    for module in (built, lazy):
        assert module(x).shape == x.shape
        assert module.alpha.shape == module.beta.shape == expected
        assert torch.equal(module.alpha, torch.ones(expected))
    assert torch.equal(built(x), lazy(x))


@pytest.mark.parametrize(("shape", "channel_dim"), INPUTS)
def test_each_channel_has_its_own_parameter(shape: tuple[int, ...], channel_dim: int) -> None:
    module = pg.Activation("alpha*x", shape=shape[1:], channel_dim=channel_dim)
    with torch.no_grad():
        module.alpha.copy_(torch.arange(len(module.alpha)))
    y = module(torch.ones(shape)).movedim(channel_dim, 0)
    for channel, values in enumerate(y):
        assert (values == channel).all()


def test_an_input_without_a_batch_has_its_gradients() -> None:
    module, x = pg.Activation(A, scope="neuron", shape=5), torch.randn(5)
    module(x).sum().backward()
    alone = [p.grad.clone() for p in module.parameters()]
    module.zero_grad()
    module(x[None]).sum().backward()
    torch.testing.assert_close(alone, [p.grad for p in module.parameters()])


def test_channels_last_gives_the_same_and_stays_channels_last() -> None:
    x = torch.randn(2, 3, 4, 5)
    module = pg.Activation(A, shape=(3, 4, 5))
    y = module(x.to(memory_format=torch.channels_last))
    torch.testing.assert_close(y, module(x))
    assert y.is_contiguous(memory_format=torch.channels_last)


def test_default_scopes_are_the_papers() -> None:
    scopes = {name: pg.Activation(name).scope for name in ("pswish", *LEARNABLE)}
    assert scopes == {
        "pswish": "channel",
        "prelu": "neuron",
        "apl": "neuron",
        "pau": "layer",
        "splash": "layer",
    }
    assert pg.Activation(A).scope == "channel"


@pytest.mark.parametrize("scope", SCOPES)
@pytest.mark.parametrize("spec", [A, "relu", *LEARNABLE])
def test_state_dicts_travel_between_built_and_lazy_modules(spec: str, scope: Any) -> None:
    x = torch.randn(2, 3, 4)
    source = pg.Activation(spec, scope=scope, shape=(3, 4))
    with torch.no_grad():
        for parameter in source.parameters():
            parameter.add_(torch.randn_like(parameter) / 10)
    for target in (
        pg.Activation(spec, scope=scope),
        pg.Activation(spec, scope=scope, shape=(3, 4)),
    ):
        target.load_state_dict(source.state_dict())
        assert torch.equal(target(x), source(x))
        assert torch.equal(copy.deepcopy(target)(x), source(x))


def test_a_lazy_module_can_be_copied_before_it_is_built() -> None:
    x = torch.randn(2, 3)
    assert torch.equal(copy.deepcopy(pg.Activation(A))(x), pg.Activation(A, shape=3)(x))


def test_a_saved_model_comes_back(tmp_path: Path) -> None:
    model = nn.Sequential(nn.Linear(4, 3), pg.Activation(A, shape=3))
    torch.save(model.state_dict(), tmp_path / "model.pt")
    other = nn.Sequential(nn.Linear(4, 3), pg.Activation(A, shape=3))
    other.load_state_dict(torch.load(tmp_path / "model.pt", weights_only=True))
    x = torch.randn(2, 4)
    assert torch.equal(model(x), other(x))


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_half_precision_is_rounded_once(dtype: torch.dtype) -> None:
    x = torch.randn(64, 8).to(dtype)
    module = pg.Activation(A, shape=8)
    assert torch.equal(module(x), module(x.float()).to(dtype))
    assert module.alpha.dtype == torch.float32
    assert pg.Activation(A)(x).dtype == dtype


def test_autocast_works() -> None:
    model = nn.Sequential(nn.Conv2d(3, 8, 3), pg.Activation(A), nn.Conv2d(8, 2, 1))
    with torch.autocast("cpu", dtype=torch.bfloat16):
        y = model(torch.randn(2, 3, 6, 6))
    assert y.dtype == torch.bfloat16
    y.float().sum().backward()
    assert model[1].alpha.grad is not None
    assert model[1].alpha.dtype == torch.float32


@pytest.mark.parametrize("spec", [A, "max(tanh(alpha*x), beta*erf(x))", "pau", "x^tanh(alpha*x)"])
def test_compile_keeps_values_and_gradients(spec: str) -> None:
    module = pg.Activation(spec, shape=(3, 4))
    x = torch.rand(2, 3, 4, requires_grad=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torch's own, while it compiles
        y = torch.compile(module, fullgraph=True)(x)
        compiled = torch.autograd.grad(y.sum(), [x, *module.parameters()])
    torch.testing.assert_close(y, module(x))
    plain = torch.autograd.grad(module(x).sum(), [x, *module.parameters()])
    torch.testing.assert_close(compiled, plain, rtol=1e-5, atol=1e-5)


EXPORTED = [A, "min(selu(x), alpha*softsign(x))", "splash", "bessel_i1e(alpha*x)", "bessel_i0e(x)"]


@pytest.mark.parametrize("spec", EXPORTED)
def test_export_keeps_values(spec: str) -> None:
    model = nn.Sequential(nn.Conv2d(3, 4, 1), pg.Activation(spec, shape=(4, 5, 5)))
    x = torch.randn(2, 3, 5, 5)
    exported = torch.export.export(model, (x,))
    torch.testing.assert_close(exported.module()(x), model(x))


def test_data_parallel_works() -> None:
    module = pg.Activation(A, shape=3)
    x = torch.randn(2, 3)
    assert torch.equal(nn.DataParallel(module)(x), module(x))


def test_seeds_can_be_trained_together_with_vmap() -> None:
    modules = [pg.Activation("max(tanh(alpha*x), beta*erf(x))", shape=3) for _ in range(3)]
    parameters, _ = torch.func.stack_module_state(modules)  # type: ignore[arg-type]

    def loss(parameters: dict[str, Tensor], x: Tensor) -> Tensor:
        return torch.func.functional_call(modules[0], parameters, (x,)).square().sum()  # type: ignore[no-any-return]

    x = torch.randn(3, 4, 3)
    together = torch.func.vmap(torch.func.grad(loss))(parameters, x)
    for i in range(3):
        alone = torch.func.grad(loss)({k: v[i] for k, v in parameters.items()}, x[i])
        for name, gradient in alone.items():
            torch.testing.assert_close(together[name][i], gradient)


@pytest.mark.parametrize("spec", [*LEARNABLE, A])
@pytest.mark.parametrize("scope", ["layer", "channel"])
def test_parameters_alone_can_be_transformed(spec: str, scope: Any) -> None:
    module, x = pg.Activation(spec, scope, shape=3).double(), torch.randn(4, 3).double()
    values = {name: value.detach() for name, value in module.named_parameters()}

    def total(values: dict[str, Tensor]) -> Tensor:
        return torch.func.functional_call(module, values, (x,)).square().sum()  # type: ignore[no-any-return]

    module(x).square().sum().backward()
    for name, gradient in torch.func.grad(total)(values).items():
        torch.testing.assert_close(gradient, module.get_parameter(name).grad)
    several = {name: torch.stack([value, value + 1]) for name, value in values.items()}
    torch.testing.assert_close(torch.func.vmap(total)(several)[0], total(values))


def test_repr_shows_the_function() -> None:
    assert repr(pg.Activation(A, shape=3)) == (
        "Activation(mul(logsigmoid(alpha*x), beta*asinh(x)), scope=channel)"
    )
    assert repr(pg.Activation("relu")) == "Activation(relu(x))"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"function": "relu("}, "position 5"),
        ({"function": "rellu"}, "did you mean"),
        ({"function": 3}, "a Function or a text, got int"),
        ({"function": A, "scope": "chanel"}, "did you mean channel"),
        ({"function": A, "scope": 1}, "no scope is called '1'"),
        ({"function": A, "shape": ()}, "feature shape"),
        ({"function": A, "shape": (0, 3)}, "feature shape"),
        ({"function": A, "shape": (3.5,)}, "feature shape"),
        ({"function": A, "shape": (3,), "channel_dim": 0}, "channel_dim"),
        ({"function": A, "shape": (3,), "channel_dim": 2}, "channel_dim is 2"),
        ({"function": A, "shape": (3,), "channel_dim": "1"}, "channel_dim"),
    ],
)
def test_what_is_wrong_is_said_when_it_is_built(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(PangaeaError, match=message):
        pg.Activation(**arguments)


def finite_inside(node: pg.Expression, x: float) -> bool:
    """Are the node's own value and slopes finite at x?"""
    row, inputs = OPERATORS[node.operator], [pg.Function(child)(x) for child in node.inputs]
    return all(map(math.isfinite, (row.value(*inputs), *row.slopes(*inputs))))


def check_gradients(module: pg.Activation, rng: random.Random) -> int:
    """Compare with central differences in float64 wherever these agree with themselves."""
    x = torch.tensor([[rng.uniform(-3, 3)] for _ in range(8)], dtype=torch.float64)
    for parameter in module.parameters():
        # Parameters that are all 1 make max and min tie.
        torch.nn.init.constant_(parameter, parameter.item() + rng.uniform(-0.4, 0.4))
    if isinstance(module.function, pg.Function):
        nodes = [node for _, node in module.function.expression.walk() if node.inputs]
        if not all(finite_inside(node, v) for node in nodes for v in x.view(-1).tolist()):
            return 0  # 0·∞ is NaN, in TensorFlow as here
    leaves = [x.requires_grad_(), *module.parameters()]
    gradients = torch.autograd.grad(module(x).sum(), leaves, allow_unused=True)
    compared = 0
    for leaf, gradient in zip(leaves, gradients, strict=True):
        for place in range(leaf.numel()):

            def difference(h: float, leaf: Tensor = leaf, place: int = place) -> float:
                with torch.no_grad():
                    flat = leaf.view(-1)
                    kept = flat[place].item()
                    flat[place] = kept + h
                    up = module(x).sum().item()
                    flat[place] = kept - h
                    down = module(x).sum().item()
                    flat[place] = kept
                return (up - down) / (2 * h)

            coarse, fine = difference(2e-6), difference(1e-6)
            size = abs(module(x).sum().item())
            noise = 1e-9 * size
            if not abs(coarse - fine) <= 1e-6 * abs(fine) + noise or size > 1e6:
                continue
            actual = 0.0 if gradient is None else gradient.view(-1)[place].item()
            assert actual == pytest.approx(fine, rel=1e-4, abs=1e-6 + 1e-8 * size), module
            compared += 1
    return compared


def test_gradients_of_500_random_functions_agree_with_differences() -> None:
    rng = random.Random(1)
    compared = 0
    for _ in range(500):
        f = random_function(rng, rng.randrange(1, 8))
        compared += check_gradients(pg.Activation(f, shape=1).double(), rng)
    assert compared > 2500


def test_gradients_of_every_catalog_entry_and_baseline_agree_with_differences() -> None:
    rng = random.Random(2)
    for spec in [*pg.catalog(), *LEARNABLE]:
        assert check_gradients(pg.Activation(spec, shape=1).double(), rng) >= 4, spec


def test_module_and_plain_function_agree() -> None:
    rng = random.Random(3)
    for _ in range(300):
        f = random_function(rng, rng.randrange(1, 8))
        x = torch.tensor([rng.uniform(-4, 4) for _ in range(5)], dtype=torch.float64)
        y = pg.Activation(f, scope="layer").double()(x[:, None])[:, 0].tolist()
        assert y == pytest.approx([f(v) for v in x.tolist()], rel=1e-7, abs=1e-12, nan_ok=True)


def test_parameter_groups_decay_weights_alone() -> None:
    model = nn.Sequential(
        nn.Conv2d(3, 4, 3),
        nn.BatchNorm2d(4),
        pg.Activation(A, scope="neuron", shape=(4, 6, 6)),
        nn.PReLU(),
        nn.Flatten(),
        nn.Linear(144, 10),
        nn.LayerNorm([10]),
    )
    decayed, undecayed = pg.parameter_groups(model, weight_decay=1e-3)
    assert decayed["weight_decay"] == 1e-3
    assert undecayed["weight_decay"] == 0.0
    assert [p.shape for p in decayed["params"]] == [(4, 3, 3, 3), (10, 144)]
    assert len(decayed["params"]) + len(undecayed["params"]) == len(list(model.parameters()))


def test_parameter_groups_decay_no_bias_of_a_recurrent_layer() -> None:
    for layer in (nn.LSTM(3, 4), nn.GRUCell(3, 4), nn.MultiheadAttention(4, 2, add_bias_kv=True)):
        decayed, undecayed = pg.parameter_groups(layer)
        names = {id(p): name for name, p in layer.named_parameters()}
        assert not [names[id(p)] for p in decayed["params"] if "bias" in names[id(p)]]
        assert all("bias" in names[id(p)] for p in undecayed["params"])


def test_a_short_training_does_without_kernels(monkeypatch: pytest.MonkeyPatch) -> None:
    def run(*_: object) -> Tensor:
        raise AssertionError("a kernel ran")

    monkeypatch.setattr(fused, "applies", lambda *_: True)
    monkeypatch.setattr(fused, "run", run)
    model = nn.Sequential(nn.Linear(3, 3), pg.Activation(A))
    fuse(model, kernels=False)
    assert model(torch.ones(2, 3)).shape == (2, 3)
    fuse(model)
    with pytest.raises(AssertionError, match="a kernel ran"):
        model(torch.ones(2, 3))

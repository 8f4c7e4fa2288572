"""`Activation` and what people give it: numbers of any kind, wrong shapes, derivatives, traces."""

import io
import warnings
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.autograd import forward_ad

import pangaea as pg
from pangaea.errors import PangaeaError
from pangaea.functions.learnable import LEARNABLE
from pangaea.functions.operators import OPERATORS

A = "log(sigmoid(alpha*x)) * beta*asinh(x)"


@pytest.mark.parametrize("dtype", [torch.int64, torch.uint8, torch.bool])
@pytest.mark.parametrize("spec", ["sigmoid", "relu", A, "prelu"])
def test_integers_are_computed_in_the_default_type(spec: str, dtype: torch.dtype) -> None:
    x = torch.tensor([[0, 1], [1, 1]]).to(dtype)
    y = pg.Activation(spec)(x)
    assert y.dtype == torch.float32
    assert torch.equal(y, pg.Activation(spec)(x.float()))


def test_complex_numbers_are_refused() -> None:
    with pytest.raises(PangaeaError, match=r"real numbers, got torch\.complex64"):
        pg.Activation("sigmoid")(torch.ones(2, 3, dtype=torch.complex64))


@pytest.mark.parametrize(
    ("made", "shape"),
    [
        ({"shape": (3,)}, (2, 1)),
        ({"shape": (1,)}, (2, 3)),
        ({"shape": (3, 4)}, (2, 4, 3)),
        ({"shape": (4, 5), "channel_dim": -1}, (2, 5, 4)),
        ({"shape": (4, 5, 6), "channel_dim": 3}, (2, 6)),
        ({"shape": (4, 5, 6), "channel_dim": -3}, (4, 5)),
        ({"shape": 3}, ()),
        ({"shape": 3, "channel_dim": -1}, ()),
        ({"shape": 3, "scope": "neuron"}, ()),
        ({"shape": (1, 4), "scope": "neuron"}, (2, 3, 4)),
        ({"shape": (3, 4), "scope": "neuron"}, (4,)),
    ],
)
@pytest.mark.parametrize("spec", [A, "prelu"])
def test_an_input_of_another_shape_is_refused(
    spec: str, made: dict[str, Any], shape: tuple[int, ...]
) -> None:
    module = pg.Activation(spec, **{"scope": "channel", **made})
    with pytest.raises(PangaeaError, match="one Activation for each place, or scope='layer'"):
        module(torch.ones(shape))


def test_one_module_at_two_widths_is_told_to_be_two() -> None:
    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.first, self.second = nn.Linear(4, 8), nn.Linear(8, 3)
            self.activation = pg.Activation(A)

        def forward(self, x: Tensor) -> Tensor:
            return self.activation(self.second(self.activation(self.first(x))))  # type: ignore[no-any-return]

    with pytest.raises(PangaeaError, match=r"8 channels .* \(2, 3\).*one Activation for each"):
        Net()(torch.randn(2, 4))


def test_one_example_without_a_batch_is_taken() -> None:
    x = torch.randn(2, 3)
    for scope in ("layer", "channel", "neuron"):
        module = pg.Activation(A, scope=scope, shape=3)  # type: ignore[arg-type]
        assert torch.equal(module(x[0]), module(x)[0])


@pytest.mark.parametrize("shape", [(), (3,)])
def test_parameters_are_not_made_from_an_input_without_features(shape: tuple[int, ...]) -> None:
    with pytest.raises(PangaeaError, match="a batch and features, got one of shape"):
        pg.Activation(A)(torch.ones(shape))
    assert pg.Activation(A, scope="layer")(torch.ones(shape)).shape == shape


def test_three_dimensions_are_asked_about_once() -> None:
    module = pg.Activation(A)
    with pytest.warns(UserWarning, match=r"\(2, 7, 5\) may be .*channel_dim=-1"):
        module(torch.randn(2, 7, 5))
    module(torch.randn(2, 7, 5))
    assert module.alpha.shape == (7,)


@pytest.mark.parametrize(
    "made",
    [
        {"channel_dim": 1},
        {"channel_dim": -1},
        {"shape": (7, 5)},
        {"scope": "layer"},
        {"scope": "neuron"},
        {"function": "swish"},
    ],
)
def test_three_dimensions_that_are_clear_are_not_asked_about(made: dict[str, Any]) -> None:
    pg.Activation(**{"function": A, **made})(torch.randn(2, 7, 5))


@pytest.mark.parametrize(
    ("asked", "dtype"),
    [("double", torch.float64), ("half", torch.float16), ("bfloat16", torch.bfloat16)],
)
def test_a_type_asked_for_before_the_first_input_counts(asked: str, dtype: torch.dtype) -> None:
    for x in (torch.randn(2, 3), torch.randn(2, 3).to(dtype)):
        module = getattr(nn.Sequential(pg.Activation(A)), asked)()
        assert module(x).dtype == x.dtype
        module(x).sum().backward()
        assert module[0].alpha.dtype == module[0].alpha.grad.dtype == dtype


def test_without_a_word_parameters_have_the_type_of_the_first_input() -> None:
    for dtype in (torch.float32, torch.float64):
        module = pg.Activation(A)
        module(torch.randn(2, 3, dtype=dtype))
        assert module.alpha.dtype == dtype


@pytest.mark.parametrize("spec", [A, "prelu"])
def test_parameters_start_where_they_are_told_to(spec: str) -> None:
    for module in (
        pg.Activation(spec, shape=3, init={"alpha": 0.9}),
        pg.Activation(spec, init={"alpha": 0.9}),
    ):
        module(torch.randn(2, 3))
        assert (module.alpha == 0.9).all()
        assert spec == "prelu" or (module.beta == 1).all()


@pytest.mark.parametrize(
    ("spec", "init", "message"),
    [
        (A, {"alhpa": 1.0}, "did you mean alpha"),
        ("relu", {"alpha": 1.0}, "no parameter of relu.* 'alpha'; it has none"),
        (A, {"alpha": float("nan")}, "alpha starts at a finite number, got nan"),
        (A, {"alpha": "1"}, "alpha starts at a finite number, got '1'"),
    ],
)
def test_wrong_starting_values_are_refused(spec: str, init: dict[str, Any], message: str) -> None:
    with pytest.raises(PangaeaError, match=message):
        pg.Activation(spec, init=init)


# Smooth where the others are differentiated, and off the ties of max and min.
EVERY = [
    *(f"{name}(alpha*x)" for name, row in OPERATORS.items() if row.arity == 1),
    *(f"{name}(exp(alpha*x), beta*erf(x))" for name, row in OPERATORS.items() if row.arity == 2),
    A,
    *LEARNABLE,
]


# Torch compiles its own rules for forward mode with what it has declared to be old.
torchs_own = pytest.mark.filterwarnings("ignore:.*torch.jit.script:DeprecationWarning")


@torchs_own
@pytest.mark.parametrize("spec", EVERY)
def test_forward_mode_agrees_with_backward_mode(spec: str) -> None:
    torch.manual_seed(0)
    module = pg.Activation(spec, scope="channel", shape=3).double()
    x, v = torch.randn(2, 3, dtype=torch.float64), torch.randn(2, 3, dtype=torch.float64)
    y, pushed = torch.func.jvp(module, (x,), (v,))
    leaf = x.clone().requires_grad_()
    (gradient,) = torch.autograd.grad(module(leaf).sum(), leaf)
    torch.testing.assert_close(y, module(x))
    torch.testing.assert_close(pushed, gradient * v)
    with forward_ad.dual_level(), torch.no_grad():
        dual = module(forward_ad.make_dual(x, v))
        torch.testing.assert_close(forward_ad.unpack_dual(dual).tangent, gradient * v)


@torchs_own
@pytest.mark.parametrize("spec", [A, "max(tanh(alpha*x), beta*exp(x))", "swish", "prelu"])
def test_hessians_and_jacobians_are_the_same_by_every_way(spec: str) -> None:
    torch.manual_seed(1)
    module = pg.Activation(spec, scope="channel", shape=3).double()
    x = torch.randn(2, 3, dtype=torch.float64)

    def total(x: Tensor) -> Tensor:
        return module(x).sin().sum()

    twice = torch.func.jacrev(torch.func.jacrev(total))(x)
    torch.testing.assert_close(torch.func.hessian(total)(x), twice)
    torch.testing.assert_close(torch.func.jacrev(torch.func.jacfwd(total))(x), twice)
    torch.testing.assert_close(torch.func.jacfwd(module)(x), torch.func.jacrev(module)(x))


@pytest.mark.parametrize("scope", ["layer", "channel", "neuron"])
@pytest.mark.parametrize("spec", [A, "relu", "prelu"])
def test_a_traced_module_gives_the_same_after_it_was_saved(spec: str, scope: Any) -> None:
    model = nn.Sequential(nn.Conv2d(3, 4, 1), pg.Activation(spec, scope=scope, shape=(4, 5, 5)))
    file = io.BytesIO()
    with warnings.catch_warnings():
        warnings.simplefilter("error", torch.jit.TracerWarning)
        warnings.simplefilter("ignore", DeprecationWarning)  # torch's word on traces as such
        traced = torch.jit.trace(model, torch.randn(2, 3, 5, 5))  # type: ignore[no-untyped-call]
        torch.jit.save(traced, file)  # type: ignore[no-untyped-call]
        file.seek(0)
        back = torch.jit.load(file)  # type: ignore[no-untyped-call]
    x = torch.randn(7, 3, 5, 5)
    torch.testing.assert_close(back(x), model(x))


def test_activation_parameters_can_have_a_learning_rate_of_their_own() -> None:
    model = nn.Sequential(nn.Linear(4, 3), pg.Activation(A, shape=3), nn.PReLU(), nn.LayerNorm([3]))
    decayed, others, apart = pg.parameter_groups(model, weight_decay=1e-3, activation_lr=0.01)
    assert decayed["weight_decay"] == 1e-3
    assert others["weight_decay"] == apart["weight_decay"] == 0.0
    assert apart["lr"] == 0.01
    assert {id(p) for p in apart["params"]} == {
        id(p) for p in (*model[1].parameters(), *model[2].parameters())
    }
    assert sum(len(g["params"]) for g in (decayed, others, apart)) == len([*model.parameters()])
    optimizer = torch.optim.SGD(pg.parameter_groups(model, activation_lr=0.01), lr=0.1)
    assert [group["lr"] for group in optimizer.param_groups] == [0.1, 0.1, 0.01]


@pytest.mark.parametrize("rate", [-0.1, float("inf"), float("nan")])
def test_a_learning_rate_is_finite_and_not_negative(rate: float) -> None:
    with pytest.raises(PangaeaError, match="a learning rate is a finite number from 0"):
        pg.parameter_groups(nn.Linear(1, 1), activation_lr=rate)

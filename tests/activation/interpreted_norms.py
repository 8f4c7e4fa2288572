"""Batch norm and activation in one, in Triton's interpreter: see `interpreted_kernels`."""

import copy

import pytest
import torch
from torch import Tensor, nn

import pangaea as pg
from pangaea.activation import fused
from pangaea.activation.normalized import Normalized
from tests import norm_truth as truth

A = "mul(logsigmoid(alpha*x), beta*asinh(x))"


@pytest.fixture(autouse=True)
def _on_the_cpu(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fused, "DEVICES", ("cpu",))


@pytest.mark.parametrize("case", truth.CASES, ids=str)
def test_values_gradients_and_running_statistics(case: truth.Case) -> None:
    truth.check(case, "cpu")


def test_a_large_mean_takes_no_digits_from_the_variance() -> None:
    layer = truth.layer(truth.Case((8, 4, 5, 5)), "cpu")
    x = 1000 + torch.randn(8, 4, 5, 5)
    with truth.fused_only():
        layer(x)
    exact = x.double().transpose(0, 1).flatten(1).var(1)
    moved = (layer.norm.running_var.double() - 0.9) / 0.1
    torch.testing.assert_close(moved, exact, rtol=1e-4, atol=0)


def test_channels_that_are_constant() -> None:
    layer = truth.layer(truth.Case((4, 3, 2, 2)), "cpu")
    x = torch.full((4, 3, 2, 2), 7.5, requires_grad=True)
    with truth.fused_only():
        y = layer(x)
    (gradient,) = torch.autograd.grad(y.square().sum(), x)
    expected = layer.activation(layer.norm.bias.view(1, 3, 1, 1).expand_as(x))
    torch.testing.assert_close(y, expected)
    assert gradient.isfinite().all()


@pytest.mark.parametrize("wanted", [(0,), (1, 2), (0, 3, 4), (5,)])
def test_gradients_of_what_has_some(wanted: tuple[int, ...]) -> None:
    layer = truth.layer(truth.Case((4, 3, 2, 2)), "cpu")
    x, shortcut = torch.randn(2, 4, 3, 2, 2).unbind()
    leaves = [x, *layer.parameters(), shortcut]
    for i, leaf in enumerate(leaves):
        leaf.requires_grad_(i in wanted)
    with truth.fused_only():
        layer(x, shortcut).sum().backward()
    assert [i for i, leaf in enumerate(leaves) if leaf.grad is not None] == list(wanted)


@pytest.mark.parametrize("with_shortcut", [False, True])
def test_gradients_can_be_differentiated(with_shortcut: bool) -> None:
    layer = truth.layer(truth.Case((4, 3, 2, 2)), "cpu")
    exact = copy.deepcopy(layer).double()

    def second(layer: nn.Module, *inputs: Tensor) -> list[Tensor]:
        leaves = [*inputs, *layer.parameters()]
        firsts = torch.autograd.grad(layer(*inputs).square().sum(), leaves, create_graph=True)
        return list(torch.autograd.grad(sum(first.square().sum() for first in firsts), leaves))

    inputs = [torch.randn(4, 3, 2, 2, requires_grad=True) for _ in range(1 + with_shortcut)]
    found = second(layer, *inputs)
    truths = second(exact, *(t.detach().double().requires_grad_() for t in inputs))
    for got, want in zip(found, truths, strict=True):
        torch.testing.assert_close(got.double(), want, rtol=1e-3, atol=1e-3)


def test_who_watches_a_layer_sees_what_goes_through_it() -> None:
    layer = truth.layer(truth.Case((4, 3, 2, 2)), "cpu")
    seen: list[Tensor] = []
    layer.activation.register_forward_hook(lambda module, inputs, output: seen.append(output))
    y = layer(torch.randn(4, 3, 2, 2))
    assert seen[0] is y


@pytest.mark.parametrize(
    "norm",
    [
        nn.BatchNorm2d(3, affine=False),
        nn.BatchNorm2d(3, track_running_stats=False),
        nn.BatchNorm2d(3, momentum=None),
        nn.GroupNorm(3, 3),
        nn.BatchNorm2d(3).double(),
    ],
    ids=lambda norm: str(norm),
)
def test_other_norms_and_activations_run_by_themselves(norm: nn.Module) -> None:
    x = torch.randn(4, 3, 2, 2, dtype=torch.float64 if _wide(norm) else None)
    activation = pg.Activation(A, shape=(3, 2, 2)).to(x.dtype)
    layer = at_once(norm, activation)
    torch.testing.assert_close(layer(x), activation(copy.deepcopy(norm)(x)))
    for other in (nn.SiLU(), pg.Activation("prelu", shape=(3, 2, 2)), pg.Activation(A, "neuron")):
        layer = at_once(nn.BatchNorm2d(3), other)
        expected = other(nn.BatchNorm2d(3)(x.float()))
        torch.testing.assert_close(layer(x.float()), expected, rtol=1e-4, atol=1e-5)


def at_once(norm: nn.Module, activation: nn.Module) -> Normalized:
    layer = Normalized(norm, activation)
    layer.fused = True
    return layer


def test_only_who_asks_for_it_gets_both_at_once() -> None:
    case = truth.Case((4, 3, 2, 2))
    layer = truth.layer(case, "cpu")
    layer.fused = False
    with pytest.raises(AssertionError), truth.fused_only():
        layer(torch.randn(case.shape))


def _wide(norm: nn.Module) -> bool:
    return any(p.dtype == torch.float64 for p in norm.parameters())


def test_one_value_a_channel_has_no_variance() -> None:
    layer = truth.layer(truth.Case((1, 3, 1, 1)), "cpu")
    with pytest.raises(ValueError, match="more than 1 value per channel"):
        layer(torch.randn(1, 3, 1, 1))

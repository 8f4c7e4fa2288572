"""What the paper leaves open: ours by default, the other way by a field."""

import pytest
import torch
from torch import Tensor, nn

import pangaea as pg
from pangaea.errors import UnknownNameError
from pangaea.networks.choices import Choices, Padded
from pangaea.tasks.classification import Classification


def task(name: str) -> Classification:
    known = pg.task(name)
    assert isinstance(known, Classification)
    return known


def built(name: str) -> nn.Module:
    torch.manual_seed(0)
    return task(name).build("relu")


def weights(model: nn.Module) -> Tensor:
    return torch.cat([p.flatten() for p in model.parameters()])


def test_by_default_nothing_is_changed_and_nothing_drawn() -> None:
    model = built("resnet-v1-20/cifar100")
    before, state = weights(model).clone(), torch.get_rng_state()
    Choices().apply(model)
    assert torch.equal(weights(model), before)
    assert torch.equal(torch.get_rng_state(), state)
    norm = next(m for m in model.modules() if isinstance(m, nn.BatchNorm2d))
    assert (norm.eps, round(norm.momentum or 0, 12)) == (1e-5, 0.1)


def test_batch_norms_have_the_constants_of_keras() -> None:
    norms = [m for m in built("wrn-10-4/cifar100/keras-norm").modules() if hasattr(m, "eps")]
    assert norms
    assert {(norm.eps, round(norm.momentum, 12)) for norm in norms} == {(1e-3, 0.01)}


def test_biases_are_zero_learnable_and_used() -> None:
    model = built("resnet-v1-20/cifar100/biases")
    layers = [m for m in model.modules() if isinstance(m, nn.Conv2d)]
    assert all(m.bias is not None and not m.bias.any() for m in layers)
    assert any(p is layers[0].bias for p in model.parameters())
    x = torch.randn(2, 3, 32, 32)
    before = layers[0](x)
    with torch.no_grad():
        layers[0].bias += 1  # type: ignore[operator]
    torch.testing.assert_close(layers[0](x), before + 1)


def test_truncated_weights_are_as_wide_and_end_at_two_standard_deviations() -> None:
    plain, cut = (built(f"wrn-10-4/cifar100{end}") for end in ("", "/truncated"))
    for a, b in zip(plain.modules(), cut.modules(), strict=True):
        if isinstance(a, nn.Conv2d) and isinstance(b, nn.Conv2d) and a.weight.numel() > 1e5:
            torch.testing.assert_close(a.weight.std(), b.weight.std(), rtol=0.01, atol=0)
            assert a.weight.abs().max() > 3 * a.weight.std()
            assert b.weight.abs().max() < 2.4 * b.weight.std()


def test_a_padded_shortcut_takes_every_second_pixel_and_adds_zeros() -> None:
    x = torch.randn(2, 3, 4, 6)
    y = Padded(5, 2)(x)
    torch.testing.assert_close(y[:, :3], x[:, :, ::2, ::2])
    assert y.shape == (2, 5, 2, 3)
    assert not y[:, 3:].any()


@pytest.mark.parametrize(("name", "blocks"), [("resnet-v1-20", 2), ("resnet-v2-56", 3)])
def test_option_a_replaces_every_projection(name: str, blocks: int) -> None:
    model = built(f"{name}/cifar100/option-a")
    assert sum(isinstance(m, Padded) for m in model.modules()) == blocks
    assert model(torch.randn(2, 3, 32, 32)).shape == (2, 100)
    assert weights(model).numel() < weights(built(f"{name}/cifar100")).numel()


def test_an_unknown_shortcut_is_refused() -> None:
    with pytest.raises(UnknownNameError, match="did you mean projection"):
        Choices(shortcut="project")


def test_a_study_keeps_the_choices() -> None:
    about = task("resnet-v1-56/cifar100/option-a/keras-norm").about()
    assert about["name"] == "resnet-v1-56/cifar100/option-a/keras-norm"
    assert about["choices"]["shortcut"] == "padded"
    assert about["choices"]["norm_momentum"] == 0.99

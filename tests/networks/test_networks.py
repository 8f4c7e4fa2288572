"""What every network promises, whatever its family."""

import copy

import pytest
import torch
from torch import Tensor, nn
from torch.func import functional_call, stack_module_state, vmap
from torch.nn import functional as F

from pangaea.errors import PangaeaError, UnknownNameError
from pangaea.networks import ActivationFactory, network, networks
from pangaea.networks.layers import Features, GlobalAveragePool

State = dict[str, Tensor]

IMAGES = ["wrn-10-1", "wrn-10-2", "resnet-v1-8", "resnet-v2-11", "all-cnn-c"]
EVEN = [*((name, (3, 8, 8)) for name in IMAGES), ("small-cnn", (1, 40))]
ODD = [*((name, (2, 9, 6)) for name in IMAGES), ("small-cnn", (2, 13))]
RESIDUAL = ["wrn-10-1", "wrn-10-2", "resnet-v1-8", "resnet-v2-11"]


class PerNeuron(nn.Module):
    """An activation with a parameter for every neuron, which fits no other shape."""

    def __init__(self, shape: Features) -> None:
        super().__init__()
        self.alpha = nn.Parameter(torch.ones(shape))

    def forward(self, x: Tensor) -> Tensor:
        assert x.shape[1:] == self.alpha.shape
        return F.silu(self.alpha * x)


def without_dropout(model: nn.Module) -> nn.Module:
    for module in model.modules():
        if isinstance(module, nn.Dropout):
            module.p = 0.0
    return model


def test_the_papers_names_come_in_order_and_all_of_them_build() -> None:
    assert networks() == (
        "all-cnn-c",
        "resnet-v1-20",
        "resnet-v1-32",
        "resnet-v1-44",
        "resnet-v1-56",
        "resnet-v1-110",
        "resnet-v2-56",
        "resnet-v2-110",
        "small-cnn",
        "wrn-10-4",
        "wrn-16-8",
    )
    for name in networks():
        shape = (1, 40) if name == "small-cnn" else (3, 32, 32)
        model = network(name, PerNeuron, classes=10, shape=shape).eval()
        with torch.no_grad():
            assert model(torch.randn(1, *shape)).shape == (1, 10)


@pytest.mark.parametrize("classes", [10, 100])
@pytest.mark.parametrize(("name", "shape"), EVEN + ODD)
def test_an_activation_is_built_for_the_very_shape_it_receives(
    name: str, shape: Features, classes: int
) -> None:
    model = network(name, PerNeuron, classes=classes, shape=shape)
    assert model(torch.randn(2, *shape)).shape == (2, classes)


@pytest.mark.parametrize(("name", "shape"), EVEN)
def test_every_parameter_receives_a_gradient(name: str, shape: Features) -> None:
    model = network(name, PerNeuron, classes=10, shape=shape)
    F.cross_entropy(model(torch.randn(8, *shape)), torch.arange(8)).backward()
    for parameter, value in model.named_parameters():
        assert value.grad is not None, parameter
        assert value.grad.abs().sum() > 0, parameter


@pytest.mark.parametrize(("name", "shape"), EVEN)
def test_the_seed_alone_decides_the_weights(name: str, shape: Features) -> None:
    def weights(seed: int, activation: ActivationFactory) -> dict[str, Tensor]:
        torch.manual_seed(seed)
        state = network(name, activation, classes=10, shape=shape).state_dict()
        return {key: value for key, value in state.items() if "alpha" not in key}

    relu, neuron = weights(3, lambda _: nn.ReLU()), weights(3, PerNeuron)
    assert relu.keys() == neuron.keys()
    assert all(torch.equal(relu[key], neuron[key]) for key in relu)
    other = weights(4, PerNeuron)
    assert not all(torch.equal(relu[key], other[key]) for key in relu)


@pytest.mark.parametrize("name", IMAGES)
def test_channels_last_changes_the_layout_and_nothing_else(name: str) -> None:
    # SiLU: a product with a per-neuron tensor in front would lay its result out anew.
    model = network(name, lambda _: nn.SiLU(), classes=10, shape=(3, 8, 8))
    model = without_dropout(model).double()
    x = torch.randn(4, 3, 8, 8, dtype=torch.float64)
    expected = model(x)
    model.to(memory_format=torch.channels_last)
    layouts = []
    for module in model.modules():
        if isinstance(module, nn.SiLU):
            module.register_forward_hook(lambda _module, inputs, _output: layouts.append(inputs[0]))
    y = model(x.to(memory_format=torch.channels_last))
    torch.testing.assert_close(y, expected)
    assert layouts
    assert all(z.is_contiguous(memory_format=torch.channels_last) for z in layouts)


@pytest.mark.parametrize(("name", "shape"), EVEN)
def test_stacked_seeds_train_under_vmap_as_they_do_alone(name: str, shape: Features) -> None:
    seeds = 3
    alone = [network(name, PerNeuron, classes=10, shape=shape) for _ in range(seeds)]
    alone = [without_dropout(model).double() for model in alone]
    template = copy.deepcopy(alone[0])
    parameters, buffers = stack_module_state(alone)
    x = torch.randn(seeds, 4, *shape, dtype=torch.float64)
    y = torch.randint(10, (seeds, 4))

    def loss(parameters: State, buffers: State, x: Tensor, y: Tensor) -> Tensor:
        return F.cross_entropy(functional_call(template, (parameters, buffers), (x,)), y)

    vmap(loss, randomness="different")(parameters, buffers, x, y).sum().backward()
    for seed, model in enumerate(alone):
        F.cross_entropy(model(x[seed]), y[seed]).backward()
        for key, value in model.named_parameters():
            torch.testing.assert_close(parameters[key].grad[seed], value.grad, atol=1e-9, rtol=1e-6)
        for key, value in model.named_buffers():
            torch.testing.assert_close(buffers[key][seed], value)
    assert template.state_dict().keys() == parameters.keys() | buffers.keys()


def test_the_pool_averages_every_channel_of_an_image() -> None:
    x = torch.tensor([[[[1.0, 2.0], [3.0, 6.0]], [[0.0, 0.0], [0.0, -4.0]]]])
    assert GlobalAveragePool()(x).tolist() == [[3.0, -1.0]]


@pytest.mark.parametrize("name", IMAGES)
def test_an_image_network_pools_before_it_classifies(name: str) -> None:
    model = network(name, lambda _: nn.SiLU(), classes=10, shape=(3, 8, 8))
    assert sum(isinstance(module, GlobalAveragePool) for module in model.modules()) == 1


@pytest.mark.parametrize(("name", "shape"), EVEN)
def test_dropout_acts_in_training_only_and_where_the_network_has_it(
    name: str, shape: Features
) -> None:
    model = network(name, lambda _: nn.SiLU(), classes=10, shape=shape)
    x = torch.randn(4, *shape)
    model.train()
    assert torch.equal(model(x), model(x)) == (not name.startswith(("wrn", "all-cnn")))
    model.eval()
    assert torch.equal(model(x), model(x))


def test_dropout_has_the_papers_probabilities() -> None:
    def probabilities(name: str) -> list[float]:
        model = network(name, lambda _: nn.SiLU(), classes=10, shape=(3, 8, 8))
        return [module.p for module in model.modules() if isinstance(module, nn.Dropout)]

    assert probabilities("wrn-16-1") == 6 * [0.3]
    assert probabilities("all-cnn-c") == 2 * [0.5]


@pytest.mark.parametrize("name", ["wrn-10-2", "resnet-v2-11"])
def test_a_bias_in_a_preactivation_network_would_change_nothing(name: str) -> None:
    model = network(name, lambda _: nn.SiLU(), classes=10, shape=(3, 8, 8)).double()
    without_dropout(model)
    x = torch.randn(4, 3, 8, 8, dtype=torch.float64)
    expected = model(x)
    for module in model.modules():
        if isinstance(module, nn.Conv2d):
            bias = torch.randn(1, module.out_channels, 1, 1, dtype=torch.float64)
            module.register_forward_hook(lambda _m, _i, output, bias=bias: output + bias)
    torch.testing.assert_close(model(x), expected)


def test_a_bias_in_resnet_v1_would_change_nothing_or_do_a_batch_norms_work() -> None:
    model = network("resnet-v1-8", lambda _: nn.SiLU(), classes=10, shape=(3, 8, 8)).double()
    x = torch.randn(4, 3, 8, 8, dtype=torch.float64)
    expected = model(x)
    shortcuts = [
        module
        for key, module in model.named_modules()
        if key.endswith("shortcut") and isinstance(module, nn.Conv2d)
    ]
    assert len(shortcuts) == 2
    for module in model.modules():
        if isinstance(module, nn.Conv2d):
            bias = torch.randn(module.out_channels, dtype=torch.float64)
            module.register_forward_hook(lambda _m, _i, out, b=bias: out + b[:, None, None])
            module.extra = bias
    for block in model.children():
        if getattr(block, "shortcut", None) in shortcuts:
            block.end.norm.bias.data -= block.shortcut.extra
    torch.testing.assert_close(model(x), expected)


@pytest.mark.parametrize("name", RESIDUAL)
def test_residual_networks_have_he_normal_weights_and_a_single_zero_bias_vector(name: str) -> None:
    model = network(name, lambda _: nn.ReLU(), classes=10)
    for module in model.modules():
        if isinstance(module, nn.Conv2d):
            assert module.bias is None
            weight = module.weight.detach()
            deviation = (2 / weight[0].numel()) ** 0.5
            assert weight.std().item() == pytest.approx(deviation, rel=3 / weight.numel() ** 0.5)
            assert weight.abs().max() > 2.1 * deviation  # a truncated normal ends at 2
        if isinstance(module, nn.Linear):
            assert module.weight.std().item() == pytest.approx(
                (2 / module.in_features) ** 0.5, rel=3 / module.weight.numel() ** 0.5
            )
            assert not module.bias.any()


@pytest.mark.parametrize(("name", "shape"), EVEN)
def test_batch_norms_use_the_stated_constants(name: str, shape: Features) -> None:
    model = network(name, lambda _: nn.ReLU(), classes=10, shape=shape)
    norms = [m for m in model.modules() if isinstance(m, nn.modules.batchnorm._BatchNorm)]
    assert {(norm.eps, norm.momentum) for norm in norms} == (
        set() if name == "all-cnn-c" else {(1e-5, 0.1)}
    )


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("wrn-11-4", "a WRN's depth is 6n + 4, got 11; the nearest is 10"),
        ("wrn-4-4", "a WRN's depth is 6n + 4, got 4; the nearest is 10"),
        ("wrn-10-0", "a WRN's widening factor is at least 1, got 0"),
        ("resnet-v1-54", "a ResNet-v1's depth is 6n + 2, got 54; the nearest is 56"),
        ("resnet-v2-2", "a ResNet-v2's depth is 9n + 2, got 2; the nearest is 11"),
        ("resnet-v2-50", "a ResNet-v2's depth is 9n + 2, got 50; the nearest is 47"),
    ],
)
def test_a_wrong_depth_is_told_the_rule_and_the_nearest_that_follows_it(
    name: str, message: str
) -> None:
    with pytest.raises(PangaeaError) as error:
        network(name, lambda _: nn.ReLU(), classes=10)
    assert str(error.value) == message


@pytest.mark.parametrize(
    "name", ["", "wrn", "wrn-10", "WRN-10-4", "wrn-10-4\n", "wrn-٣٤-4", "resnet-v3-56", "all-cnn"]
)
def test_an_unknown_name_is_told_the_known_ones(name: str) -> None:
    with pytest.raises(UnknownNameError, match="no network is called") as error:
        network(name, lambda _: nn.ReLU(), classes=10)
    assert error.value.arguments[2] == tuple(sorted(networks()))


@pytest.mark.parametrize(
    ("name", "shape", "axes"),
    [("small-cnn", (3, 32, 32), "(channels, length)"), ("wrn-10-4", (1, 40), "height, width)")],
)
def test_inputs_of_the_wrong_kind_are_refused(name: str, shape: Features, axes: str) -> None:
    with pytest.raises(PangaeaError) as error:
        network(name, lambda _: nn.ReLU(), classes=10, shape=shape)
    assert axes in str(error.value)
    assert str(shape) in str(error.value)

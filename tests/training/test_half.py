"""Half-precision weights: what they hold, how they lie, and what a step does to them."""

import pytest
import torch
from torch import Tensor, nn

from pangaea.activation.module import Activation
from pangaea.training.half import HalfWeights, halve


def layers() -> nn.Sequential:
    """A network with every kind of weight, laid out as for training on images."""
    return nn.Sequential(
        nn.Conv2d(3, 8, 3, bias=False),
        nn.BatchNorm2d(8),
        Activation("alpha*tanh(x)", "channel", (8, 6, 6)),
        nn.Conv2d(8, 4, 1),
        nn.Conv2d(4, 6, 3, padding=1, groups=2),
        nn.Conv2d(6, 1, 3, padding=1),
        nn.Conv2d(1, 5, 3, padding=1, bias=False),
        nn.Flatten(),
        nn.Linear(5 * 6 * 6, 10),
    ).to(memory_format=torch.channels_last)  # type: ignore[call-overload, no-any-return]


def halves(dtype: torch.dtype = torch.bfloat16) -> list[nn.Parameter]:
    """The halved network's weights, and those of a 1-D convolution."""
    model = nn.ModuleList([layers(), nn.Conv1d(2, 3, 3)])
    halve(model, dtype)
    return [p for p in model.parameters() if p.dtype == dtype]


def gradient(p: Tensor, memory: torch.memory_format = torch.preserve_format) -> Tensor:
    """Small whole numbers: every sum and half of them is exact in either precision."""
    return torch.randint_like(p, -4, 5, memory_format=memory)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16], ids=str)
def test_only_layers_that_multiply_matrices_are_halved(dtype: torch.dtype) -> None:
    model = layers()
    halve(model, dtype)
    for module in model:
        wanted = dtype if isinstance(module, nn.Conv2d | nn.Linear) else torch.float32
        for tensor in (*module.parameters(), *module.buffers()):
            assert tensor.dtype == wanted or not tensor.is_floating_point(), module


def test_full_precision_halves_nothing() -> None:
    model = layers()
    before = [p.clone() for p in model.parameters()]
    halve(model, torch.float32)
    assert all(torch.equal(a, b) for a, b in zip(before, model.parameters(), strict=True))


def test_weights_keep_their_values_and_their_layout() -> None:
    weights = halves()
    before = [(p.detach().clone(), p.stride()) for p in weights]
    made = HalfWeights(weights)
    assert len(weights) > 8
    for p, (value, strides) in zip(weights, before, strict=True):
        assert torch.equal(p, value)
        assert p.stride() == strides
        assert p.dtype == torch.bfloat16
    images = [p for p in weights if p.dim() == 4]
    assert len(images) == 5
    assert all(p.is_contiguous(memory_format=torch.channels_last) for p in images)
    assert sum(p.numel() for p in weights) == len(made.copy) == len(made.master)
    assert made.master.dtype == torch.float32


def test_widened_weights_are_those_of_the_optimizer_in_their_layout() -> None:
    weights = halves()
    before = [(p.detach().float(), p.stride()) for p in weights]
    half = HalfWeights(weights)
    half.master += 1e-5  # which is lost in half precision
    half.spread()
    half.widen()
    for p, (value, strides) in zip(weights, before, strict=True):
        assert (p.dtype, p.stride()) == (torch.float32, strides)
        assert torch.equal(p, value + 1e-5)


def test_weights_lie_in_one_stretch_of_memory_without_overlapping() -> None:
    weights = halves()
    made = HalfWeights(weights)
    made.copy.copy_(torch.arange(len(made.copy)))
    first = made.copy.data_ptr()
    for p in weights:
        assert first == p.data_ptr()
        first += 2 * p.numel()
    with torch.no_grad():
        for i, p in enumerate(weights):
            p.fill_(i)
    numbered = torch.cat([torch.full((p.numel(),), i) for i, p in enumerate(weights)])
    assert torch.equal(made.copy.long(), numbered)


@pytest.mark.parametrize("memory", [torch.preserve_format, torch.contiguous_format], ids=str)
def test_a_step_is_that_of_every_tensor_on_its_own(memory: torch.memory_format) -> None:
    weights = halves()
    masters = [p.detach().float() for p in weights]
    made = HalfWeights(weights)
    for _ in range(3):
        for p, master in zip(weights, masters, strict=True):
            p.grad = gradient(p, memory)
            master -= 0.25 * p.grad.float()
        made.collect()
        assert made.master.grad is not None
        with torch.no_grad():
            made.master -= 0.25 * made.master.grad
        made.spread()
        for p, master in zip(weights, masters, strict=True):
            assert torch.equal(p, master.bfloat16())


def test_steps_too_small_for_half_precision_add_up() -> None:
    weights = [nn.Parameter(torch.ones(2, 3, 3, 3, dtype=torch.bfloat16))]
    made = HalfWeights(weights)
    small = 2.0**-10  # the next bfloat16 after 1 is 2⁻⁷ away
    for _ in range(16):
        made.master += small
        made.spread()
    assert torch.equal(weights[0], torch.full_like(weights[0], 1 + 16 * small))


def test_the_optimizer_moves_them_as_it_moves_single_precision() -> None:
    torch.manual_seed(1)
    weights = halves()
    masters = [p.detach().float() for p in weights]
    made = HalfWeights(weights)
    settings = {"lr": 0.1, "momentum": 0.9, "weight_decay": 0.01, "nesterov": True}
    together = torch.optim.SGD([made.master], **settings)  # type: ignore[arg-type]
    alone = torch.optim.SGD(masters, **settings)  # type: ignore[arg-type]
    for _ in range(4):
        for p, master in zip(weights, masters, strict=True):
            p.grad = gradient(p)
            master.grad = p.grad.float()
        made.collect()
        together.step()
        made.spread()
        alone.step()
    for p, master in zip(weights, masters, strict=True):
        # Half a unit in the last place of bfloat16.
        torch.testing.assert_close(p.float(), master, rtol=2.0**-8, atol=1e-6)
    assert made.master.abs().max() > 1


def test_gradients_of_a_backward_pass_are_collected() -> None:
    model = layers()
    halve(model, torch.bfloat16)
    weights = [p for p in model.parameters() if p.dtype == torch.bfloat16]
    made = HalfWeights(weights)

    class Wide(nn.Module):
        def __init__(self, inner: nn.Module) -> None:
            super().__init__()
            self.inner = inner

        def forward(self, x: Tensor) -> Tensor:
            return self.inner(x.float()).bfloat16()  # type: ignore[no-any-return]

    model[1] = Wide(model[1])
    x = torch.randn(4, 3, 8, 8, dtype=torch.bfloat16)
    model(x.contiguous(memory_format=torch.channels_last)).float().square().sum().backward()
    made.collect()
    assert made.master.grad is not None
    parts = made.master.grad.split([p.numel() for p in weights])
    for p, part in zip(weights, parts, strict=True):
        assert p.grad is not None
        order = (0, 2, 3, 1) if p.dim() == 4 else tuple(range(p.dim()))
        assert torch.equal(part, p.grad.float().permute(order).flatten())
        assert part.abs().max() > 0


@pytest.mark.parametrize(
    "memory",
    [
        torch.contiguous_format,
        pytest.param(torch.channels_last),
    ],
    ids=str,
)
def test_a_weight_without_a_gradient_does_not_move(memory: torch.memory_format) -> None:
    weights = [
        nn.Parameter(torch.randn(4, 3, 3, 3).bfloat16().contiguous(memory_format=memory)),
        nn.Parameter(torch.randn(5, 4, 1, 1).bfloat16().contiguous(memory_format=memory)),
        nn.Parameter(torch.randn(7).bfloat16()),
    ]
    made = HalfWeights(weights)
    before = [p.detach().clone() for p in weights]
    for p in weights:
        p.grad = torch.ones_like(p)
    made.collect()
    weights[0].grad = weights[2].grad = None
    made.collect()
    assert made.master.grad is not None
    with torch.no_grad():
        made.master -= made.master.grad
    made.spread()
    for p, value, moved in zip(weights, before, (0, 1, 0), strict=True):
        assert torch.equal(p, (value.float() - moved).bfloat16())

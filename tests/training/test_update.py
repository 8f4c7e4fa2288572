"""A step of descent: the optimizer's own, to the last bit."""

import copy

import torch
from torch import nn

from pangaea.training.update import update


def trained(quick: bool, *, nesterov: bool, idle: bool = False) -> list[torch.Tensor]:
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 3), nn.Tanh(), nn.Linear(3, 2))
    rate = torch.tensor(0.1)
    groups = [
        {"params": [model[0].weight, model[2].weight], "weight_decay": 1e-2},
        {"params": [model[0].bias, model[2].bias], "weight_decay": 0.0},
    ]
    optimizer = torch.optim.SGD(groups, lr=rate, momentum=0.9, nesterov=nesterov, fused=True)
    for p in model.parameters():
        optimizer.state[p]["momentum_buffer"] = torch.zeros_like(p)
    step = update(optimizer) if quick else optimizer.step
    for i in range(5):
        rate.fill_(0.1 / (i + 1))  # as a schedule does
        optimizer.zero_grad()
        model(torch.randn(8, 4)).square().sum().backward()
        if idle:
            model[0].bias.grad = None
        step()
    return copy.deepcopy([*model.parameters()])


def test_it_is_the_optimizers_own() -> None:
    for nesterov in (False, True):
        for mine, theirs in zip(
            trained(True, nesterov=nesterov), trained(False, nesterov=nesterov), strict=True
        ):
            assert torch.equal(mine, theirs)


def test_parameters_without_a_gradient_stay() -> None:
    mine, theirs = (trained(quick, nesterov=True, idle=True) for quick in (True, False))
    for a, b in zip(mine, theirs, strict=True):
        assert torch.equal(a, b)

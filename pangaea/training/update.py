"""A step of stochastic gradient descent, without what `SGD.step` does around it.

Its walk through groups and states takes three quarters of its time for a small network on a CPU.
"""

from collections.abc import Callable

import torch

_SETTINGS = ("lr", "momentum", "weight_decay", "dampening", "nesterov", "maximize")


def update(optimizer: torch.optim.SGD) -> Callable[[], None]:
    """What `optimizer.step` does, once every parameter has its momentum."""
    groups = [
        (
            group["params"],
            [optimizer.state[p]["momentum_buffer"] for p in group["params"]],
            {name: group[name] for name in _SETTINGS},
        )
        for group in optimizer.param_groups
    ]

    @torch.no_grad()
    def step() -> None:
        gradients = [[p.grad for p in parameters] for parameters, _, _ in groups]
        if any(g is None for each in gradients for g in each):
            optimizer.step()
            return
        for (parameters, momenta, settings), each in zip(groups, gradients, strict=True):
            torch._fused_sgd_(parameters, each, momenta, is_first_step=False, **settings)

    return step

"""A network's forward and backward passes as CUDA graphs, where it can be recorded."""

import warnings
from typing import Any

import torch
from torch import Tensor, nn


def graphed(model: nn.Module, inputs: Any) -> bool:
    """Record the passes of a training step; the network is as before where that is impossible.

    Every batch must then have this one's shape. Judging goes on without graphs.
    """
    example = inputs if isinstance(inputs, tuple) else (inputs,)
    if not all(isinstance(tensor, Tensor) and tensor.is_cuda for tensor in example):
        return False
    kept = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    device = example[0].device
    noise, host_noise = torch.cuda.get_rng_state(device), torch.get_rng_state()
    forward = model.forward
    model.train()
    recorded = not _looks(model, example)
    if recorded:
        try:
            torch.cuda.make_graphed_callables(model, example, allow_unused_input=True)
        except Exception:  # it takes no tensor as they are
            model.forward = forward
            recorded = False
            _recover()
    torch.cuda.synchronize(device)
    # The passes that recording takes leave no trace.
    with torch.no_grad():
        for name, tensor in model.state_dict().items():
            tensor.copy_(kept[name])
    for parameter in model.parameters():
        parameter.grad = None
    torch.cuda.set_rng_state(noise, device)
    torch.set_rng_state(host_noise)
    return recorded


def _looks(model: nn.Module, example: tuple[Tensor, ...]) -> bool:
    """Does the network look at its values? No graph can, and a recording that fails breaks more."""
    mode = torch.cuda.get_sync_debug_mode()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # once, that the mode is a prototype
        torch.cuda.set_sync_debug_mode("error")
    try:
        model(*example)
    except Exception:
        return True
    finally:
        torch.cuda.set_sync_debug_mode(mode)
    return False


def _recover() -> None:
    """A recording that failed leaves torch's noise as if it went on; one that ends mends that."""
    with torch.cuda.graph(torch.cuda.CUDAGraph()):
        torch.zeros(1, device="cuda")

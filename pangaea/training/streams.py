"""CUDA streams for runs side by side, each handed on to a later run when its own has ended.

A new one keeps 64 MB of workspace for itself as long as the process lives.
"""

import torch

_idle: dict[torch.device, list[torch.cuda.Stream]] = {}


def take(device: torch.device) -> torch.cuda.Stream:
    idle = _idle.get(device)
    return idle.pop() if idle else torch.cuda.Stream(device)  # type: ignore[no-untyped-call]


def give_back(device: torch.device, stream: torch.cuda.Stream) -> None:
    _idle.setdefault(device, []).append(stream)

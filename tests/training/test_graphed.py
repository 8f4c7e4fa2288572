"""What can be told of recorded passes without a GPU; the rest is in tests/gpu."""

import warnings

import pytest
import torch
from torch import nn

from pangaea.training.graphed import _looks


class Modes:
    """torch's mode in which an operation that waits for the GPU is an error."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.mode: int | str = 0
        monkeypatch.setattr(torch.cuda, "get_sync_debug_mode", lambda: self.mode)
        monkeypatch.setattr(torch.cuda, "set_sync_debug_mode", self.set)

    def set(self, mode: int | str) -> None:
        self.mode = mode
        if mode:
            warnings.warn("a prototype", UserWarning, stacklevel=2)


def test_that_torchs_mode_is_a_prototype_stops_nobody_and_the_mode_does_not_stay(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    modes = Modes(monkeypatch)
    seen = []

    class Network(nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            seen.append(modes.mode)
            return x

    assert not _looks(Network(), (torch.ones(2),))  # warnings are errors in these tests
    assert seen == ["error"]
    assert modes.mode == 0


def test_a_network_that_fails_in_that_mode_looks_at_its_values(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    modes = Modes(monkeypatch)
    network = nn.Linear(3, 2)
    assert _looks(network, (torch.ones(2),))  # of the wrong width
    assert modes.mode == 0

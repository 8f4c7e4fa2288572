"""A stream whose run has ended serves the next one."""

from itertools import count

import pytest
import torch

from pangaea.training import streams

FIRST, SECOND = (torch.device("cuda", i) for i in range(2))


@pytest.fixture(autouse=True)
def _new_streams(monkeypatch: pytest.MonkeyPatch) -> None:
    numbers = count()
    monkeypatch.setattr(torch.cuda, "Stream", lambda device: f"{device} {next(numbers)}")
    monkeypatch.setattr(streams, "_idle", {})


def test_runs_side_by_side_have_streams_of_their_own() -> None:
    assert [streams.take(FIRST) for _ in range(3)] == ["cuda:0 0", "cuda:0 1", "cuda:0 2"]


def test_what_was_given_back_is_taken_again_on_its_own_device_alone() -> None:
    stream = streams.take(FIRST)
    streams.give_back(FIRST, stream)
    assert streams.take(SECOND) == "cuda:1 1"
    assert streams.take(FIRST) is stream
    assert streams.take(FIRST) == "cuda:0 2"

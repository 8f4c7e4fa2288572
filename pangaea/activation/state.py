"""What a state says of its function: its text, as a tensor of bytes that any format can hold."""

from typing import Any

import torch
from torch import Tensor

KEY = "_extra_state"  # torch's name for what is neither parameter nor buffer
_DIM = "; channel_dim="
_LONGEST = 200  # characters shown of a text from a file


def written(text: str, channel_dim: int = 1) -> Tensor:
    """The text, and the dimension of the channels where it is not the usual one.

    As floats, so that whoever averages states can average this one.
    """
    if channel_dim != 1:
        text += f"{_DIM}{channel_dim}"
    return torch.tensor(list(text.encode()), dtype=torch.float32, device="cpu")


def read(state: Any) -> tuple[str, int]:
    """The text and the dimension; also of bytes that somebody averaged or cast with the weights."""
    try:
        whole = bytes(round(value) for value in state.flatten().tolist()).decode()
        text, _, dim = whole.partition(_DIM)
        return text, int(dim or 1)
    except (AttributeError, NotImplementedError, OverflowError, TypeError, ValueError):
        return "(unreadable)", 1


def shown(text: str) -> str:
    """A text from a file, inert and short."""
    text = text if text.isprintable() else repr(text)
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"

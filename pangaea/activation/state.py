"""What a state says of its function: its text, as a tensor of bytes that any format can hold."""

from typing import Any

import torch
from torch import Tensor

KEY = "_extra_state"  # torch's name for what is neither parameter nor buffer
_LONGEST = 200  # characters shown of a text from a file


def written(text: str) -> Tensor:
    return torch.tensor(list(text.encode()), dtype=torch.uint8, device="cpu")


def read(state: Any) -> str:
    """The text; also of bytes that somebody cast to floats with the weights."""
    try:
        return bytes(int(value) for value in state.flatten().tolist()).decode()
    except (AttributeError, NotImplementedError, OverflowError, TypeError, ValueError):
        return "(unreadable)"


def shown(text: str) -> str:
    """A text from a file, inert and short."""
    text = text if text.isprintable() else repr(text)
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"

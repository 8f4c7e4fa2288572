"""A small language model: bytes of Python source, predicted by a causal transformer."""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from pangaea.data.python_source import digest, symbols, windows
from pangaea.functions.expression import Function
from pangaea.functions.learnable import Learnable
from pangaea.networks.layers import ActivationFactory
from pangaea.networks.transformer import Transformer
from pangaea.tasks.embedded import EmbeddedTask
from pangaea.tasks.goal import minimize
from pangaea.training.fit import AdamRecipe, Batches

BYTES = 256
STEPS = 20  # of an epoch
_AT_ONCE = 64  # windows that are judged in one go
# The baseline's best: 3.04, 2.80, 2.72 and 3.22 bits at 4e-3, 8e-3, 1.6e-2 and 3.2e-2 (3 seeds).
_SMALL = AdamRecipe(epochs=50, rate=1.6e-2, weight_decay=0.1, betas=(0.9, 0.95), judge_every=10)
_LARGE = replace(_SMALL, epochs=100, rate=1e-3)


@dataclass(frozen=True, kw_only=True)
class Charlm(EmbeddedTask):
    """A transformer of some size; `gated`: the function is the gate of its feed-forward layers."""

    name: str
    full: AdamRecipe = _SMALL
    search_epochs: int = 20
    context: int = 64
    batch: int = 8
    width: int = 48
    heads: int = 4
    blocks: int = 2
    judged: int = 512  # windows of validation or test data
    gated: bool = False
    fast_on_gpu: bool = False
    precision: str | None = "fp32"

    # All bytes alike cost 8 bits each; counting single bytes alone, about 4.7.
    goal = minimize("bits per byte", failure=8.0, threshold=5.0, digits=3)

    @property
    def baseline(self) -> str:  # type: ignore[override]
        return "swish(x)" if self.gated else "gelu(x)"

    @property
    def defaults(self) -> Mapping[str, Any]:  # type: ignore[override]
        """Minutes on two cores for the small ones."""
        candidates = 300 if self.fast_on_gpu else 100
        return {"strategy": "thrifty", "candidates": candidates, "population": 20, "sample": 5}

    def build(self, function: Function | Learnable, activation: ActivationFactory) -> nn.Module:
        return Transformer(
            activation,
            symbols=BYTES,
            context=self.context,
            width=self.width,
            heads=self.heads,
            blocks=self.blocks,
            gated=self.gated,
        )

    def batches(self, generator: torch.Generator, device: torch.device) -> Batches:
        return _Windows(symbols("training").to(device), (self.batch, self.context + 1), generator)

    def loss(self, model: nn.Module, batch: Tensor) -> Tensor:
        """Nats for a byte, each predicted from those before it in its window."""
        logits = model(batch[:, :-1]).float()
        return F.cross_entropy(logits.flatten(0, 1), batch[:, 1:].flatten())

    def score(self, model: nn.Module, part: str, device: torch.device) -> float:
        held_out = windows(part, self.context + 1, self.judged).to(device)
        nats = [
            float(self.loss(model, some)) * len(some) for some in torch.split(held_out, _AT_ONCE)
        ]
        return sum(nats) / self.judged / math.log(2)

    def about(self) -> dict[str, Any]:
        return super().about() | {"digest": digest()}


class _Windows:
    """Stretches from anywhere in the text, drawn anew for every step."""

    def __init__(self, text: Tensor, shape: tuple[int, int], generator: torch.Generator) -> None:
        self.text, self.shape, self.generator = text, shape, generator
        self.places = torch.arange(shape[1], device=text.device)

    def __len__(self) -> int:
        return STEPS

    def __iter__(self) -> Iterator[Tensor]:
        count, length = self.shape
        starts = torch.randint(len(self.text) - length, (STEPS, count, 1), generator=self.generator)
        for some in starts.to(self.text.device):
            yield self.text[some + self.places].long()


_TASKS = {
    task.name: task
    for task in (
        Charlm(name="charlm"),
        Charlm(name="charlm-gated", gated=True),
        Charlm(
            name="charlm-large",
            full=_LARGE,
            search_epochs=40,
            context=256,
            batch=64,
            width=384,
            heads=6,
            blocks=6,
            judged=1024,
            fast_on_gpu=True,
            precision=None,
        ),
    )
}


def names() -> tuple[str, ...]:
    return tuple(_TASKS)


def find(name: str) -> Charlm | None:
    return _TASKS.get(name)

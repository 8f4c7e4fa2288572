"""A small causal transformer: pre-norm, with learnt places."""

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from pangaea.networks.layers import ActivationFactory


class Attention(nn.Module):
    """Every place looks at itself and what is before it."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.inputs = nn.Linear(width, 3 * width, bias=False)
        self.output = nn.Linear(width, width, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        parts = self.inputs(x).unflatten(-1, (3, self.heads, -1)).permute(2, 0, 3, 1, 4)
        query, key, value = parts.unbind(0)
        seen = F.scaled_dot_product_attention(query, key, value, is_causal=True)
        y: Tensor = self.output(seen.transpose(1, 2).flatten(-2))
        return y


class FeedForward(nn.Module):
    """The function between two linear layers."""

    def __init__(self, width: int, hidden: int, activation: ActivationFactory) -> None:
        super().__init__()
        self.inputs = nn.Linear(width, hidden, bias=False)
        self.activation = activation((hidden,))
        self.output = nn.Linear(hidden, width, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        y: Tensor = self.output(self.activation(self.inputs(x)))
        return y


class Gated(FeedForward):
    """The function as a gate (Shazeer, arXiv:2002.05202); with Swish it is SwiGLU."""

    def __init__(self, width: int, hidden: int, activation: ActivationFactory) -> None:
        super().__init__(width, hidden, activation)
        self.gated = nn.Linear(width, hidden, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        y: Tensor = self.output(self.activation(self.inputs(x)) * self.gated(x))
        return y


class Block(nn.Module):
    def __init__(self, width: int, heads: int, activation: ActivationFactory, gated: bool) -> None:
        super().__init__()
        self.norms = nn.ModuleList(nn.LayerNorm(width) for _ in range(2))
        self.attention = Attention(width, heads)
        # Two thirds of the hidden units, so that a gate costs nothing.
        self.feed_forward = (
            Gated(width, 8 * width // 3, activation)
            if gated
            else FeedForward(width, 4 * width, activation)
        )

    def forward(self, x: Tensor) -> Tensor:
        x = x + self.attention(self.norms[0](x))
        y: Tensor = x + self.feed_forward(self.norms[1](x))
        return y


class Transformer(nn.Module):
    """Logits for what comes next, at every place."""

    def __init__(
        self,
        activation: ActivationFactory,
        *,
        symbols: int,
        context: int,
        width: int,
        heads: int,
        blocks: int,
        gated: bool = False,
    ) -> None:
        super().__init__()
        self.symbols = nn.Embedding(symbols, width)
        self.places = nn.Parameter(torch.zeros(context, width))
        self.blocks = nn.Sequential(
            *(Block(width, heads, activation, gated) for _ in range(blocks))
        )
        self.norm = nn.LayerNorm(width)
        self.output = nn.Linear(width, symbols, bias=False)
        self._initialise(blocks)

    def _initialise(self, blocks: int) -> None:
        """Layers keep the size of what they read; all branches together, that of the stream."""
        for name, module in self.named_modules():
            if isinstance(module, nn.Linear):
                shares = 2 * blocks if name.endswith(".output") else 1
                nn.init.normal_(module.weight, std=(module.in_features * shares) ** -0.5)
        nn.init.zeros_(self.output.weight)  # at first every symbol is as likely as another

    def forward(self, symbols: Tensor) -> Tensor:
        x = self.symbols(symbols) + self.places[: symbols.shape[-1]]
        y: Tensor = self.output(self.norm(self.blocks(x)))
        return y

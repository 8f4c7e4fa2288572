"""Batches: the samples on the device once, each epoch shuffled and augmented in a few kernels."""

import math

import torch
import torch.nn.functional as F
from torch import Tensor

from pangaea.data.sets import Normalization, TestData, TrainingData, ValidationData

# Images augmented at once: enough to fill a GPU, and 34 MB of indices.
_CHUNK = 4096


class TrainingBatches:
    """A new shuffled and augmented epoch at a time, as (steps, batch, …) tensors that stay put.

    The last batch is filled up from the beginning of the epoch, so that all are of one size.
    Images stand channels last in memory; the network gets them as (batch, C, H, W) views.
    """

    def __init__(
        self,
        data: TrainingData,
        normalization: Normalization,
        dtype: torch.dtype,
        *,
        batch: int,
        pad: int = 0,
        padding: str = "zeros",
        flip: bool = False,
    ) -> None:
        self.pad, self.flip = pad, flip
        self.samples = len(data)
        self.batch = min(batch, self.samples)
        self.steps = math.ceil(self.samples / self.batch)
        self.images = data.inputs.dim() == 4
        inputs = normalization.apply(data.inputs, dtype)
        if self.images:
            self.side = inputs.shape[2] + 2 * pad, inputs.shape[3] + 2 * pad
            self.size = inputs.shape[2], inputs.shape[3]
            # Padded after normalising, so the border is the mean colour where images are centred.
            mode = "constant" if padding == "zeros" else padding
            inputs = F.pad(inputs, (pad,) * 4, mode).permute(0, 2, 3, 1).contiguous()
        self._source, self._source_labels = inputs, data.labels
        shape = (*self.size, inputs.shape[3]) if self.images else inputs.shape[1:]
        count = self.steps * self.batch
        self._inputs = torch.empty((count, *shape), dtype=dtype, device=inputs.device)
        self._labels = torch.empty(count, dtype=torch.int64, device=inputs.device)
        self.inputs = self._inputs.view(self.steps, self.batch, *shape)
        self.labels = self._labels.view(self.steps, self.batch)

    def refill(self, generator: torch.Generator) -> None:
        """Fill the tensors with the next epoch."""
        order = torch.randperm(self.samples, generator=generator, device=self._source.device)
        order = torch.cat([order, order])[: len(self._labels)]
        torch.index_select(self._source_labels, 0, order, out=self._labels)
        if not self.images:
            torch.index_select(self._source, 0, order, out=self._inputs)
            return
        for first in range(0, len(order), _CHUNK):
            some = order[first : first + _CHUNK]
            self._inputs[first : first + _CHUNK] = self._augmented(some, generator)

    def _augmented(self, order: Tensor, generator: torch.Generator) -> Tensor:
        device, (height, width) = self._source.device, self.size

        def draw(high: int) -> Tensor:
            return torch.randint(high, (len(order), 1), generator=generator, device=device)

        rows = draw(2 * self.pad + 1) + torch.arange(height, device=device)
        across = torch.arange(width, device=device).expand(len(order), width)
        if self.flip:
            across = torch.where(draw(2) == 1, width - 1 - across, across)
        columns = draw(2 * self.pad + 1) + across
        places = order[:, None, None] * (self.side[0] * self.side[1])
        places = places + rows[:, :, None] * self.side[1] + columns[:, None, :]
        pixels = self._source.view(-1, self._source.shape[-1])
        return pixels.index_select(0, places.view(-1)).view(len(order), height, width, -1)

    def as_input(self, batch: Tensor) -> Tensor:
        """A stored batch as the network wants it."""
        return batch.permute(0, 3, 1, 2) if self.images else batch


def judging_batches(
    data: ValidationData | TestData, normalization: Normalization, dtype: torch.dtype
) -> list[tuple[Tensor, Tensor]]:
    """The samples as they are, in batches of a thousand."""
    inputs = normalization.apply(data.inputs, dtype)
    if inputs.dim() == 4:
        inputs = inputs.contiguous(memory_format=torch.channels_last)
    pairs = zip(torch.split(inputs, 1000), torch.split(data.labels, 1000), strict=True)
    return list(pairs)

"""How the parameters of the functions in a network move, epoch by epoch."""

from itertools import takewhile

import torch
from torch import Tensor, nn

from pangaea.activation.module import Activation


class ParameterMeans:
    """The mean of each parameter in each layer, kept on the device until the training has ended."""

    def __init__(self, model: nn.Module) -> None:
        self._layers = [m for m in model.modules() if isinstance(m, Activation)]
        self.names = self._layers[0].parameter_names if self._layers else ()
        self.epochs: list[Tensor] = []  # parameter × layer each, the first before the training

    def note(self) -> None:
        if self.names:
            with torch.no_grad():
                self.epochs.append(torch.stack([self._means(name) for name in self.names]))

    def _means(self, name: str) -> Tensor:
        return torch.stack([getattr(layer, name).mean() for layer in self._layers])

    def counts(self) -> list[int]:
        """How many values a parameter has in each layer."""
        return [getattr(layer, self.names[0]).numel() for layer in self._layers if self.names]

    def table(self) -> dict[str, list[list[float]]]:
        """By parameter, then by epoch: the layers' means, as long as all are finite."""
        epochs = torch.stack(self.epochs).cpu() if self.epochs else ()
        finite = takewhile(lambda means: bool(means.isfinite().all()), epochs)
        rows = [means.tolist() for means in finite]
        return {name: [row[i] for row in rows] for i, name in enumerate(self.names)}

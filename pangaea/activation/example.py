"""A model called with an example, and left as it was."""

from collections.abc import Mapping
from typing import Any

from torch import Tensor, nn

from pangaea.activation.observation import Observation, tensors
from pangaea.activation.untouched import untouched
from pangaea.errors import PangaeaError


class Example:
    """What a model is called with once: a tensor, a tuple of arguments or a dict of named ones."""

    def __init__(self, model: nn.Module, example: Any) -> None:
        self.model = model
        self.args: tuple[Any, ...] = ()
        self.kwargs: dict[str, Any] = {}
        if isinstance(example, Mapping):
            self.kwargs = dict(example)
        elif isinstance(example, tuple | list):
            self.args = tuple(example)
        else:
            self.args = (example,)

    def outputs(self, training: bool, observation: Observation | None = None) -> list[Tensor]:
        """Every tensor that the model returns, the model left as it was."""
        args, kwargs = _copied(self.args), _copied(self.kwargs)
        with untouched(self.model):
            self.model.train(training)
            if observation is None:
                outputs = self.model(*args, **kwargs)
            else:
                with observation:
                    outputs = self.model(*args, **kwargs)
                observation.finish(outputs)
            return [tensor.detach().clone() for tensor in tensors(outputs)]

    def references(self) -> dict[bool, list[Tensor]]:
        """The outputs in evaluation and in training, as far as the model can do both."""
        results: dict[bool, list[Tensor]] = {}
        failure = None
        for training in (False, True):
            try:
                results[training] = self.outputs(training)
            except Exception as error:
                failure = error
        if not results:
            reason = " ".join(str(failure).split()) or "no reason given"
            raise PangaeaError(
                f"the model cannot be called with the example: {type(failure).__name__}: {reason}"
            ) from failure
        return results


def _copied(value: Any) -> Any:
    if isinstance(value, Tensor):
        return value.detach().clone().requires_grad_(value.requires_grad)
    if isinstance(value, tuple | list) and not hasattr(value, "_fields"):
        return type(value)(map(_copied, value))
    if type(value) is dict:
        return {name: _copied(part) for name, part in value.items()}
    return value


def equal(before: list[Tensor], after: list[Tensor]) -> bool:
    """Bit for bit, a NaN being a NaN; tensors without values by their shapes."""
    return len(before) == len(after) and all(
        a.shape == b.shape
        and a.dtype == b.dtype
        and (a.is_meta or bool(((a == b) | ((a != a) & (b != b))).all()))
        for a, b in zip(before, after, strict=True)
    )

"""What a training run gives: plain data, whatever happened."""

from dataclasses import asdict, dataclass, field
from typing import Any


@dataclass(kw_only=True)
class TrainingResult:
    """Accuracies are percentages. A curve's point is what an epoch ended with."""

    task: str
    function: str
    scope: str | None
    seed: int
    data: str  # what `accuracy` was measured on: validation or test
    accuracy: float | None = None  # of the last epoch; None for a run that failed
    failure: str | None = None  # diverged, exploded, out of memory, untrained
    detail: str | None = None
    loss: list[float] = field(default_factory=list)  # on the training data, by epoch
    training: list[float] = field(default_factory=list)  # accuracy on it, by epoch
    validation: dict[int, float] = field(default_factory=dict)  # epoch to accuracy
    parameters: dict[str, list[list[float]]] = field(default_factory=dict)
    """Each activation parameter's mean, by epoch (the first before training) and layer."""
    seconds: float = 0.0
    peak_memory: int | None = None  # bytes
    device: str = "cpu"

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)

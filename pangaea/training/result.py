"""What a training run gives: plain data, whatever happened."""

from dataclasses import asdict, dataclass, field, replace
from typing import Any


@dataclass(kw_only=True, repr=False)
class TrainingResult:
    """A run that ended: its score, or why there is none. Curves have the ends of epochs."""

    task: str
    function: str
    scope: str | None
    budget: int
    seed: int
    part: str  # of the data, on which `score` was measured: validation or test
    score: float | None = None  # of the last epoch; None for a run that failed
    failure: str | None = None  # diverged, exploded, out of memory, untrained
    detail: str | None = None
    values: dict[str, float] = field(default_factory=dict)  # what else was measured, by name
    loss: list[float] = field(default_factory=list)  # on the training data, by epoch
    training: list[float] = field(default_factory=list)  # score on it, by epoch
    validation: dict[int, float] = field(default_factory=dict)  # epoch to score
    test: dict[int, float] = field(default_factory=dict)  # the same, where it was asked for
    parameters: dict[str, list[list[float]]] = field(default_factory=dict)
    """Each activation parameter's mean, by epoch (the first before training) and layer, as long as
    it was finite."""
    counts: list[int] = field(default_factory=list)  # of these parameters, by layer
    seconds: float = 0.0
    peak_memory: int | None = None  # bytes
    device: str = "cpu"
    model: Any = field(default=None, compare=False)  # the trained network, if it was asked for

    def __repr__(self) -> str:
        score = f"failed: {self.failure}" if self.score is None else f"{self.score:.6g}"
        return (
            f"TrainingResult({self.function!r} on {self.task}, budget {self.budget}, seed "
            f"{self.seed}: {self.part} score {score})"
        )

    def as_dict(self) -> dict[str, Any]:
        """Plain data, so without the network."""
        plain = asdict(replace(self, model=None))
        del plain["model"]
        return plain

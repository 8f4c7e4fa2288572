"""A plain training loop for any network: AdamW or SGD with a warm-up and a cosine.

It knows nothing of tasks: a network, batches and a loss in; curves, or why it failed, out.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any, Protocol, Self

import numpy as np
import torch
from torch import Tensor, nn

from pangaea.activation.module import parameter_groups
from pangaea.errors import PangaeaError
from pangaea.training.means import ParameterMeans
from pangaea.training.run import EXPLODED, LOOK_EVERY

Loss = Callable[[nn.Module, Any], Tensor]  # the network and a batch in, what is minimised out


class Batches(Protocol):
    """An epoch's batches, each time it is walked through; a `DataLoader` is one."""

    def __len__(self) -> int: ...
    def __iter__(self) -> Iterator[Any]: ...


_TINY = math.ulp(0.0)
_RANGES = {
    "rate": (_TINY, math.inf, "a learning rate above 0"),
    "warmup": (0, 1, "a part of the steps, from 0 to below 1"),
    "weight_decay": (0, math.inf, "a number from 0"),
    "clip": (_TINY, math.inf, "the largest norm of the gradients, above 0, or None for no limit"),
    "momentum": (0, 1, "a number from 0 to below 1"),
}


@dataclass(frozen=True, kw_only=True)
class CosineRecipe(ABC):
    """How a network is fitted, as plain data: the rate rises, then falls along a cosine."""

    epochs: int
    rate: float
    warmup: float = 0.1  # the part of the steps in which the rate rises, before the cosine
    weight_decay: float = 0.0
    clip: float | None = 1.0  # the largest norm of the gradients
    judge_every: int = 1  # epochs between two points of the validation curve

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            if isinstance(value, np.generic):
                object.__setattr__(self, name, value.item())
        if isinstance(self.epochs, bool) or not isinstance(self.epochs, int) or self.epochs < 1:
            raise PangaeaError(f"a recipe needs at least one epoch, got {self.epochs!r}")
        for name, (least, most, meaning) in _RANGES.items():
            value = getattr(self, name, None)
            if value is not None and not (isinstance(value, int | float) and least <= value < most):
                raise PangaeaError(f"{name} is {meaning}, got {value!r}")

    def rate_at(self, share: float) -> float:
        """The learning rate when this part of the training is done."""
        if share < self.warmup:
            return self.rate * share / self.warmup
        return self.rate * (1 + math.cos(math.pi * (share - self.warmup) / (1 - self.warmup))) / 2

    def compressed(self, epochs: int) -> Self:
        """The whole schedule in so many epochs: compressed, never cut off."""
        ratio = min(1.0, epochs / self.epochs)
        return replace(self, epochs=epochs, judge_every=max(1, round(self.judge_every * ratio)))

    @abstractmethod
    def optimizer(self, groups: list[dict[str, Any]]) -> torch.optim.Optimizer:
        """What moves these groups of parameters."""


@dataclass(frozen=True, kw_only=True)
class AdamRecipe(CosineRecipe):
    betas: tuple[float, float] = (0.9, 0.999)

    def optimizer(self, groups: list[dict[str, Any]]) -> torch.optim.Optimizer:
        return torch.optim.AdamW(groups, lr=self.rate, betas=self.betas, fused=True)


@dataclass(frozen=True, kw_only=True)
class SGDRecipe(CosineRecipe):
    momentum: float = 0.9

    def optimizer(self, groups: list[dict[str, Any]]) -> torch.optim.Optimizer:
        nesterov = self.momentum > 0
        return torch.optim.SGD(
            groups, lr=self.rate, momentum=self.momentum, nesterov=nesterov, fused=True
        )


@dataclass(kw_only=True)
class Course:
    """What a training was like; its fields are those of a `TrainingResult`."""

    loss: list[float] = field(default_factory=list)  # by epoch
    validation: dict[int, float] = field(default_factory=dict)  # epoch to score
    parameters: dict[str, list[list[float]]] = field(default_factory=dict)
    counts: list[int] = field(default_factory=list)
    failure: str | None = None
    detail: str | None = None

    def fail(self, reason: str, detail: str) -> None:
        self.failure, self.detail = reason, detail

    def healthy(self, value: float, what: str, *, most: float = math.inf) -> bool:
        """Is the value finite and sane? If not, the training has failed."""
        if math.isfinite(value) and abs(value) <= most:
            return True
        self.fail("exploded" if math.isfinite(value) else "diverged", f"{what} was {value:.4g}")
        return False


def fit(
    model: nn.Module,
    batches: Batches,
    loss: Loss,
    recipe: CosineRecipe,
    *,
    judge: Callable[[], float] | None = None,
    tell: Callable[[float], None] = lambda share: None,
) -> Course:
    """Train a network; `judge` gives its score now, `tell` is told what part is done.

    Whatever is wrong with a function (infinite values, no second derivative where the loss wants
    one, no memory for it) is a failure in the course; what `tell` raises passes through.
    """
    course, means = Course(), ParameterMeans(model)
    try:
        _epochs(course, means, model, batches, loss, recipe, judge, tell)
    except torch.OutOfMemoryError as error:
        course.fail("out of memory", ". ".join(str(error).split(". ")[:2]))
    except RuntimeError as error:
        if (reason := _of_the_function(str(error))) is None:
            raise
        course.fail(reason, str(error).split("\n")[0])
    course.parameters, course.counts = means.table(), means.counts()
    return course


def _of_the_function(message: str) -> str | None:
    """Torch's ways to say that a function cannot be trained here."""
    if "can't allocate memory" in message:
        return "out of memory"
    missing = "derivative for" in message and "is not implemented" in message
    if missing or "marked with @once_differentiable" in message:
        return "not differentiable"
    return None


def _epochs(
    course: Course,
    means: ParameterMeans,
    model: nn.Module,
    batches: Batches,
    loss: Loss,
    recipe: CosineRecipe,
    judge: Callable[[], float] | None,
    tell: Callable[[float], None],
) -> None:
    optimizer = recipe.optimizer(parameter_groups(model, recipe.weight_decay))
    device = next(model.parameters()).device
    steps = len(batches)
    means.note()
    for epoch in range(1, recipe.epochs + 1):
        model.train()
        total = torch.zeros((), device=device)
        for step, batch in enumerate(batches, 1):
            share = (epoch - 1 + (step - 1) / steps) / recipe.epochs
            for group in optimizer.param_groups:
                group["lr"] = recipe.rate_at(share)
            total += _step(model, loss(model, batch), optimizer, recipe.clip)
            if step % LOOK_EVERY[device.type] == 0 or step == steps:
                what = f"the loss after {step} steps of epoch {epoch}"
                if not course.healthy(total.item() / step, what, most=EXPLODED):
                    return
                tell(share)
        course.loss.append(total.item() / steps)
        means.note()
        if judge is not None and (epoch % recipe.judge_every == 0 or epoch == recipe.epochs):
            model.eval()
            score = judge()
            if not course.healthy(score, f"the validation score after epoch {epoch}"):
                return
            course.validation[epoch] = score


def _step(
    model: nn.Module, loss: Tensor, optimizer: torch.optim.Optimizer, clip: float | None
) -> Tensor:
    optimizer.zero_grad()
    loss.backward()  # type: ignore[no-untyped-call]
    if clip is not None:
        nn.utils.clip_grad_norm_(model.parameters(), clip)
    optimizer.step()
    return loss.detach()

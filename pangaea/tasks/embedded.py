"""Tasks of a few seconds that are not about images: a network, its data, its loss, its score."""

import time
from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import asdict
from functools import cached_property
from typing import Any, cast

import torch
from torch import Tensor, nn

from pangaea.activation.module import Activation, Scope
from pangaea.errors import PangaeaError, UnknownNameError
from pangaea.functions.catalog import resolve
from pangaea.functions.expression import Function
from pangaea.functions.learnable import Learnable
from pangaea.networks.layers import ActivationFactory, Features
from pangaea.tasks.task import PARTS, Task, Tell
from pangaea.training.fit import AdamRecipe, Batches, Course, fit
from pangaea.training.how import How
from pangaea.training.result import TrainingResult
from pangaea.training.start import derived_seed, device_name, peak_memory
from pangaea.training.train import choose_device, choose_precision, surroundings


class EmbeddedTask(Task):
    """A network around a function, batches, a loss, and a score on each part of the data."""

    full: AdamRecipe  # a smaller budget is the same schedule compressed
    search_epochs: int
    fast_on_gpu = False
    precision: str | None = "fp32"  # unless somebody asks for another; None: the device's

    @property
    def budgets(self) -> Mapping[str, int]:  # type: ignore[override]
        return {"search": self.search_epochs, "full": self.full.epochs}

    @abstractmethod
    def build(self, function: Function | Learnable, activation: ActivationFactory) -> nn.Module:
        """The network; every `activation(shape)` in it is a module with the function."""

    @abstractmethod
    def batches(self, generator: torch.Generator, device: torch.device) -> Batches:
        """What is trained on, in the generator's order."""

    @abstractmethod
    def loss(self, model: nn.Module, batch: Any) -> Tensor:
        """What is minimised."""

    @abstractmethod
    def score(self, model: nn.Module, part: str, device: torch.device) -> float:
        """The goal's value on one part of the data."""

    def train(
        self,
        function: str,
        scope: str | None,
        budget: int,
        seed: int,
        part: str,
        tell: Tell,
        how: How,
    ) -> TrainingResult:
        started = time.perf_counter()
        if part not in PARTS:
            raise UnknownNameError("part of the data", part, PARTS)
        if isinstance(seed, bool) or not isinstance(seed, int) or seed < 0:
            raise PangaeaError(f"a seed is a whole number from 0, got {seed!r}")
        recipe = self.full.compressed(self.budget(budget))
        device = choose_device(how.device)
        with surroundings(device):
            model, course, score, values = self._fitted(
                function, scope, seed, part, recipe, tell, device, how.precision
            )
        return TrainingResult(
            task=self.name,
            function=str(resolve(function)),
            scope=scope,
            budget=budget,
            seed=seed,
            part=part,
            score=score,
            values=values,
            seconds=time.perf_counter() - started,
            peak_memory=peak_memory(device),
            device=device_name(device),
            model=model.eval() if how.keep_model else None,
            **vars(course),
        )

    def _fitted(
        self,
        function: str,
        scope: str | None,
        seed: int,
        part: str,
        recipe: AdamRecipe,
        tell: Tell,
        device: torch.device,
        precision: str | None,
    ) -> tuple[nn.Module, Course, float | None, dict[str, float]]:
        """The network, how it went, its score on this part, and a test's on validation data."""
        dtype = choose_precision(precision or self.precision, device)
        resolved = resolve(function)

        def activation(shape: Features) -> Activation:
            return Activation(resolved, cast("Scope | None", scope), shape, channel_dim=-1)

        torch.manual_seed(derived_seed(seed, 0))
        model = self.build(resolved, activation).to(device)
        order = torch.Generator().manual_seed(derived_seed(seed, 1))
        torch.manual_seed(derived_seed(seed, 2))  # dropout draws from the global generator

        def score(part: str) -> float:
            with torch.no_grad(), torch.autocast(device.type, dtype, dtype != torch.float32):
                return self.score(model, part, device)

        def loss(model: nn.Module, batch: Any) -> Tensor:
            with torch.autocast(device.type, dtype, dtype != torch.float32):
                return self.loss(model, batch)

        batches = self.batches(order, device)
        course = fit(model, batches, loss, recipe, judge=lambda: score("validation"), tell=tell)
        if course.failure is not None:
            return model, course, None, {}
        validation = course.validation[recipe.epochs]
        if part == "validation":
            return model, course, validation, {}
        test = score("test")
        sound = course.healthy(test, "the test score")
        return model, course, test if sound else None, {"validation": validation}

    @cached_property
    def parameters(self) -> int:
        """Learnable numbers of the network with the baseline."""
        baseline = resolve(self.baseline)
        with torch.device("meta"):  # of which only sizes are asked
            model = self.build(baseline, lambda shape: Activation(baseline, shape=shape))
        return sum(p.numel() for p in model.parameters())

    def about(self) -> dict[str, Any]:
        return super().about() | {"recipe": asdict(self.full)}

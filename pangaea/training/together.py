"""Several seeds of one function trained as one, for small networks on the CPU.

A small network spends its time starting kernels, not in them. With the seeds' weights stacked and
the network mapped over them, a kernel serves all seeds. Each seed has the weights and the order of
samples that it has alone, so its result is the same but for rounding.
"""

import math
import time
from collections.abc import Callable, Sequence

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.func import functional_call, stack_module_state, vmap

from pangaea.activation.module import Activation, Scope, Spec, resolve
from pangaea.training import start
from pangaea.training.batches import TrainingBatches, judging_batches
from pangaea.training.recipes import Recipe
from pangaea.training.result import TrainingResult
from pangaea.training.run import EXPLODED
from pangaea.training.tasks import Task

# Ten seeds of 40 epochs, one core: 1.5 times the speed of one after another for ReLU.
AT_ONCE = 10
# With larger inputs a network's own arithmetic outweighs what is saved.
MAX_INPUTS = 256


class Together:
    """One network for each seed, all taking the same step at the same time."""

    def __init__(
        self,
        task: Task,
        function: Spec,
        recipe: Recipe,
        seeds: Sequence[int],
        *,
        scope: Scope | None,
        data: str,
    ) -> None:
        self.recipe = recipe
        device = torch.device("cpu")
        training, validation, test, normal = start.parts(task, recipe, device, data == "test")
        models = []
        for seed in seeds:
            torch.manual_seed(start.stream(seed, 0))
            models.append(task.build(function, scope))
        self.model = models[0]
        self.parameters, self.buffers = stack_module_state(models)
        self.batches = [TrainingBatches(training, normal, recipe, torch.float32) for _ in seeds]
        self.generators = [torch.Generator().manual_seed(start.stream(seed, 1)) for seed in seeds]
        self.validation = judging_batches(validation, normal, torch.float32)
        self.test = judging_batches(test, normal, torch.float32) if test is not None else None
        self.results = [
            TrainingResult(
                task=task.name, function=str(resolve(function)), scope=scope, seed=seed, data=data
            )
            for seed in seeds
        ]
        self.optimizer = self._optimizer()
        torch.manual_seed(start.stream(seeds[0], 2))
        self._note_parameters()

    def _optimizer(self) -> torch.optim.Optimizer:
        names = {id(p): name for name, p in self.model.named_parameters()}
        groups = start.groups(self.model, self.recipe)
        for group in groups:
            group["params"] = [self.parameters[names[id(p)]] for p in group["params"]]
        return torch.optim.SGD(
            groups, lr=0.1, momentum=self.recipe.momentum, nesterov=self.recipe.nesterov, fused=True
        )

    def _activations(self) -> dict[str, Activation]:
        return {n: m for n, m in self.model.named_modules() if isinstance(m, Activation)}

    def _logits(self, inputs: Tensor, in_dim: int | None) -> Tensor:
        def one(parameters: dict[str, Tensor], buffers: dict[str, Tensor], x: Tensor) -> Tensor:
            y: Tensor = functional_call(self.model, (parameters, buffers), (x,))
            return y

        mapped = vmap(one, in_dims=(0, 0, in_dim), randomness="different")
        logits: Tensor = mapped(self.parameters, self.buffers, inputs)
        return logits

    def train(self, report: Callable[[float], None]) -> list[TrainingResult]:
        started = time.perf_counter()
        for epoch in range(self.recipe.epochs):
            for batches, generator in zip(self.batches, self.generators, strict=True):
                batches.refill(generator)
            if not self._epoch(epoch):
                break
            report((epoch + 1) / self.recipe.epochs)
        if self.test is not None:
            for result, accuracy in zip(self.results, self._accuracies(self.test), strict=True):
                result.accuracy = None if result.failure else accuracy
        for result in self.results:
            if not result.failure and result.training[-1] < self.recipe.valid_above:
                ended = f"training accuracy ended at {result.training[-1]:.2f}%"
                result.failure, result.detail, result.accuracy = "untrained", ended, None
            # Shared evenly: what a seed would have cost cannot be told apart.
            result.seconds = (time.perf_counter() - started) / len(self.results)
            result.peak_memory = start.peak_memory(torch.device("cpu"))
        return self.results

    def _epoch(self, epoch: int) -> bool:
        """Train an epoch; False once every seed has failed."""
        steps = self.batches[0].steps
        losses, correct = torch.zeros(len(self.results)), torch.zeros(len(self.results))
        self.model.train()
        for step in range(steps):
            for group in self.optimizer.param_groups:
                constant, now = group["constant"], self.recipe.rate_at(epoch + step / steps)
                group["lr"] = now if constant is None else constant
            inputs = torch.stack([b.as_input(b.inputs[step]) for b in self.batches])
            labels = torch.stack([b.labels[step] for b in self.batches])
            logits = self._logits(inputs, 0)
            each = F.cross_entropy(logits.flatten(0, 1), labels.flatten(), reduction="none")
            loss = each.view(labels.shape).mean(1)
            self.optimizer.zero_grad(set_to_none=True)
            loss.sum().backward()  # type: ignore[no-untyped-call]
            self.optimizer.step()
            losses += loss.detach()
            correct += (logits.argmax(2) == labels).float().mean(1)
            if not self._healthy((losses / (step + 1)).tolist(), epoch * steps + step + 1, epoch):
                return False
        self._note_epoch(epoch + 1, (losses / steps).tolist(), (100 * correct / steps).tolist())
        return True

    def _healthy(self, losses: list[float], at: int, epoch: int) -> bool:
        for result, loss in zip(self.results, losses, strict=True):
            if result.failure is None and not (math.isfinite(loss) and loss <= EXPLODED):
                result.failure = "exploded" if math.isfinite(loss) else "diverged"
                result.detail = f"the loss was {loss:.4g} after {at} steps (epoch {epoch + 1})"
                result.accuracy = None
        return any(result.failure is None for result in self.results)

    def _note_epoch(self, epoch: int, losses: list[float], correct: list[float]) -> None:
        last = epoch == self.recipe.epochs
        judged = last or epoch % self.recipe.judge_every == 0
        accuracies = self._accuracies(self.validation) if judged else [0.0] * len(self.results)
        self._note_parameters()
        for i, result in enumerate(self.results):
            if result.failure is None:
                result.loss.append(losses[i])
                result.training.append(correct[i])
                if judged:
                    result.validation[epoch] = accuracies[i]
                    result.accuracy = accuracies[i]

    def _accuracies(self, batches: list[tuple[Tensor, Tensor]]) -> list[float]:
        self.model.eval()
        with torch.no_grad():
            correct = sum((self._logits(x, None).argmax(2) == y).sum(1) for x, y in batches)
        total = sum(len(labels) for _, labels in batches)
        assert isinstance(correct, Tensor)
        return (100 * correct.double() / total).tolist()

    def _note_parameters(self) -> None:
        layers = self._activations()
        for name in next(iter(layers.values())).parameter_names if layers else ():
            stacked = [self.parameters[f"{layer}.{name}"].detach() for layer in layers]
            means = torch.stack([p.flatten(1).mean(1) if p.dim() > 1 else p for p in stacked], 1)
            for result, row in zip(self.results, means.tolist(), strict=True):
                if result.failure is None:
                    result.parameters.setdefault(name, []).append(row)


def worthwhile(task: Task, seeds: Sequence[int]) -> bool:
    """Is training these seeds together faster than one after another?"""
    return len(seeds) > 2 and math.prod(task.data_set.shape) <= MAX_INPUTS

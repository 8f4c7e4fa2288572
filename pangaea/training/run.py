"""One training run, taken a step at a time, so that several can share a GPU."""

import contextlib
import math
import time
from collections.abc import Iterator
from typing import Any, Protocol

import torch
from torch import Tensor, nn

from pangaea.activation.module import FunctionLike, Scope
from pangaea.activation.normalized import fuse
from pangaea.data.batches import TrainingBatches, judging_batches
from pangaea.data.sets import DataSet
from pangaea.functions.catalog import resolve
from pangaea.training import start, streams
from pangaea.training.half import HalfWeights, halve
from pangaea.training.means import ParameterMeans
from pangaea.training.recipes import Recipe
from pangaea.training.result import TrainingResult
from pangaea.training.update import update

# The loss of a network that still learns is below 20; beyond this it never comes back.
EXPLODED = 1e4
# A look at the loss makes the host wait for the GPU: every 32 steps it costs nothing measurable.
LOOK_EVERY = {"cuda": 32, "cpu": 1}
# Numbers that go into the network in a run, below which torch's operators in a captured step are
# done before a new function's kernels are compiled. The default task on an H200, sixteen runs at
# once: 49 a second without kernels, 16 with them (`benchmarks/small_runs.py`).
_SMALL = 10**8
_WARMUP_STEPS = 3  # before a graph is captured: libraries choose their algorithms then


class Subject(Protocol):
    """What is trained: a network around a function, data, and what is asked of its outputs."""

    @property
    def name(self) -> str: ...
    @property
    def data_set(self) -> DataSet: ...

    def build(self, function: FunctionLike, scope: Scope | None) -> nn.Module: ...

    def loss(self, outputs: Tensor, targets: Tensor) -> Tensor:
        """The mean over a batch of what is minimised."""

    def total(self, outputs: Tensor, targets: Tensor) -> Tensor:
        """The sum over a batch of that of which the score is the mean."""


class Training:
    """A network in training: `advance` takes a step, until it is `done`."""

    def __init__(
        self,
        subject: Subject,
        function: FunctionLike,
        recipe: Recipe,
        seed: int,
        *,
        scope: Scope | None = None,
        part: str = "validation",
        device: torch.device,
        dtype: torch.dtype,
        compiled: bool = False,
    ) -> None:
        self.subject, self.recipe, self.seed, self.device = subject, recipe, seed, device
        self.result = TrainingResult(
            task=subject.name,
            function=str(resolve(function)),
            scope=scope,
            budget=recipe.epochs,
            seed=seed,
            part=part,
            device=start.device_name(device),
        )
        self._started = time.perf_counter()
        self.stream = streams.take(device) if device.type == "cuda" else None
        with self._context():
            training, validation, test, normal = start.parts(
                subject.data_set, recipe, device, part == "test"
            )
            torch.manual_seed(start.derived_seed(seed, 0))
            model = subject.build(function, scope)
            self.model = model.to(device, memory_format=torch.channels_last)  # type: ignore[call-overload]
            halve(self.model, dtype)
            large = recipe.epochs * training.inputs.numel() > _SMALL
            fuse(self.model, self.stream is not None, kernels=large or self.stream is None)
            self._forward = torch.compile(self.model) if compiled else self.model
            self.batches = TrainingBatches(
                training,
                normal,
                dtype,
                batch=recipe.batch,
                pad=recipe.pad,
                padding=recipe.padding,
                flip=recipe.flip,
            )
            self._validation = judging_batches(validation, normal, dtype)
            self._test = judging_batches(test, normal, dtype) if test is not None else None
            self._prepare()
        self.epoch = self.at = 0
        self.done = False
        self._order = self.generator.get_state()
        self._graph: torch.cuda.CUDAGraph | None = None

    def _prepare(self) -> None:
        recipe, device = self.recipe, self.device
        self.generator = torch.Generator(device).manual_seed(start.derived_seed(self.seed, 1))
        # Dropout draws from the global generator.
        torch.manual_seed(start.derived_seed(self.seed, 2))
        self._weights = list(self.model.parameters())
        groups = start.groups(self.model, recipe)
        self._half = []
        for group in groups:
            half = [p for p in group["params"] if p.dtype != torch.float32]
            if half:
                self._half.append(HalfWeights(half))
                others = [p for p in group["params"] if p.dtype == torch.float32]
                group["params"] = [self._half[-1].master, *others]
        steps, total = self.batches.steps, self.batches.steps * recipe.epochs
        rates = torch.tensor([recipe.rate_at(i / steps) for i in range(total)], device=device)
        self.rates = rates.float()
        # The rate is a tensor on the device, so that a captured step can change it.
        self.rate = torch.zeros((), device=device)
        for group in groups:
            constant = group["constant"]
            group["lr"] = self.rate if constant is None else torch.tensor(constant, device=device)
        self.optimizer = torch.optim.SGD(
            groups, lr=self.rate, momentum=recipe.momentum, nesterov=recipe.nesterov, fused=True
        )
        for group in self.optimizer.param_groups:
            for p in group["params"]:
                self.optimizer.state[p]["momentum_buffer"] = torch.zeros_like(p)
        quick = device.type == "cpu" and recipe.momentum > 0
        self._update = update(self.optimizer) if quick else self.optimizer.step
        self.taken = torch.zeros(1, dtype=torch.int64, device=device)  # steps so far
        self.place = torch.zeros(1, dtype=torch.int64, device=device)  # step within the epoch
        self.loss = torch.zeros((), device=device)
        self.total = torch.zeros((), dtype=torch.float64, device=device)
        self._means = ParameterMeans(self.model)
        self._means.note()

    @contextlib.contextmanager
    def _context(self) -> Iterator[None]:
        if self.stream is None:
            yield
        else:
            with torch.cuda.stream(self.stream):
                yield

    def advance(self) -> None:
        """Take one step, with what belongs before the first and after the last of an epoch."""
        if self.at == 0:
            self._begin_epoch()
        with self._context():
            if self._graph is None:
                self._body()
            else:
                self._graph.replay()
        self.at += 1
        if (self.at % LOOK_EVERY[self.device.type] == 0 or self._full()) and not self._healthy():
            return
        if self._full():
            self._end_epoch()
            self.at = 0

    @property
    def share(self) -> float:
        """What part of the training is done."""
        if self.done:
            return 1.0
        return (self.epoch + self.at / self.batches.steps) / self.recipe.epochs

    def _full(self) -> bool:
        return self.at == self.batches.steps

    def _begin_epoch(self) -> None:
        with self._context():
            self._order = self.generator.get_state()
            self.batches.refill(self.generator)
            for counter in (self.place, self.loss, self.total):
                counter.zero_()
            self._ready()

    def _ready(self) -> None:
        self.model.train()
        if self.stream is not None and self._graph is None:
            self._capture()

    def _body(self) -> None:
        """One step: everything on the device, nothing that depends on the host."""
        inputs = self.batches.inputs.index_select(0, self.place)[0]
        labels = self.batches.labels.index_select(0, self.place)[0]
        self.rate.copy_(self.rates.index_select(0, self.taken)[0])
        outputs = self._forward(self.batches.as_input(inputs)).float()
        loss = self.subject.loss(outputs, labels)
        self._forget()
        loss.backward()  # type: ignore[no-untyped-call]
        for weights in self._half:
            weights.collect()
        self._update()
        for weights in self._half:
            weights.spread()
        with torch.no_grad():
            self.loss += loss
            self.total += self.subject.total(outputs, labels)
            self.place += 1
            self.taken += 1

    def _forget(self) -> None:
        """Drop the gradients, without a walk through the modules in every step."""
        for weight in self._weights:
            weight.grad = None

    def _capture(self) -> None:
        """Record the step as a CUDA graph; the steps tried before leave no trace."""
        kept, noise = [t.clone() for t in self._state()], self._noise_state()
        for _ in range(_WARMUP_STEPS):
            self.place.zero_()  # an epoch that is nearly over has no three steps left
            self.taken.zero_()
            self._body()
        self._forget()
        torch.cuda.current_stream().synchronize()
        self._graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self._graph, stream=self.stream):
            self._body()
        with torch.no_grad():
            for tensor, before in zip(self._state(), kept, strict=True):
                tensor.copy_(before)
        self._set_noise_state(noise)

    def _state(self) -> list[Tensor]:
        """Everything that a step changes."""
        momentum = [state["momentum_buffer"] for state in self.optimizer.state.values()]
        masters = [weights.master for weights in self._half]
        model = [*self.model.parameters(), *masters, *self.model.buffers()]
        return [*model, *momentum, self.taken, self.place, self.loss, self.total, self.rate]

    def _healthy(self) -> bool:
        """Has the loss stayed finite and sane in this epoch? If not, the run ends here."""
        with self._context():
            loss = self.loss.item() / self.at
        if math.isfinite(loss) and loss <= EXPLODED:
            return True
        at = self.epoch * self.batches.steps + self.at
        self.fail(
            "exploded" if math.isfinite(loss) else "diverged",
            f"the loss was {loss:.4g} after {at} steps (epoch {self.epoch + 1})",
        )
        return False

    def fail(self, reason: str, detail: str) -> None:
        self.result.failure, self.result.detail, self.result.score = reason, detail, None
        self.close()

    def _end_epoch(self) -> None:
        with self._context():
            count = self.batches.steps * self.batches.batch
            self.result.loss.append(self.loss.item() / self.batches.steps)
            self.result.training.append(self.total.item() / count)
            self._means.note()
            self.epoch += 1
            last = self.epoch == self.recipe.epochs
            if last or self.epoch % self.recipe.judge_every == 0:
                self.result.validation[self.epoch] = self._score(self._validation)
                if self._test is not None and self.recipe.test_curve:
                    self.result.test[self.epoch] = self._score(self._test)
            if last:
                self._finish()

    def _finish(self) -> None:
        self.result.score = self.result.validation[self.epoch]
        if self._test is not None:
            self.result.values["validation"] = self.result.score
            self.result.score = self._score(self._test)
        if self.result.training[-1] < self.recipe.valid_above:
            self.fail("untrained", f"the training score ended at {self.result.training[-1]:.2f}")
        else:
            self.close()

    def close(self) -> None:
        """Note what is still on the device, and let it go."""
        self.result.counts, self.result.parameters = self._means.counts(), self._means.table()
        self.result.seconds = self._elapsed()
        self.result.peak_memory = start.peak_memory(self.device)
        self.done, self._graph = True, None
        if self.stream is not None:
            streams.give_back(self.device, self.stream)

    def trained(self) -> nn.Module:
        """The network in float32, without what made its training fast; nothing trains it on."""
        if self.stream is not None:
            self.stream.synchronize()
        for weights in self._half:
            weights.widen()
        fuse(self.model, False)
        self._forget()
        model: nn.Module = self.model.eval()
        return model

    def _elapsed(self) -> float:
        return time.perf_counter() - self._started

    def checkpoint(self) -> dict[str, Any]:
        """All that is needed to go on from here."""
        with self._context():
            seconds = self.result.seconds if self.done else self._elapsed()
            return {
                "epoch": self.epoch,
                "at": self.at,
                "order": self._order if self.at else self.generator.get_state(),
                "state": [t.detach().cpu() for t in self._state()],
                "means": [t.cpu() for t in self._means.epochs],
                "noise": self._noise_state(),
                "result": self.result.as_dict() | {"seconds": seconds},
            }

    def restore(self, saved: dict[str, Any]) -> None:
        """Go on from a checkpoint of the same run, in the middle of an epoch or between two."""
        self.epoch, self.at = saved["epoch"], saved["at"]
        if not (0 <= self.epoch <= self.recipe.epochs and 0 <= self.at <= self.batches.steps):
            raise ValueError(f"step {self.at} of epoch {self.epoch} is not of this run")
        self.result = TrainingResult(**saved["result"])
        if not isinstance(self.result.score, float | None):
            raise TypeError(f"the score is a {type(self.result.score).__name__}")
        self._started -= self.result.seconds
        with self._context(), torch.no_grad():
            for tensor, before in zip(self._state(), saved["state"], strict=True):
                if tensor.shape != before.shape:  # `copy_` would spread one value over many
                    raise ValueError(f"a tensor has the shape {tuple(before.shape)}")
                tensor.copy_(before)
        if self.result.score is not None or self.result.failure is not None:
            self._started, self.done = time.perf_counter() - self.result.seconds, True
            return
        with self._context(), torch.no_grad():
            self.generator.set_state(saved["order"])
            self._means.epochs = [t.to(self.device) for t in saved["means"]]
            if self.at:
                self._order = saved["order"]
                self.batches.refill(self.generator)
            self._set_noise_state(saved["noise"])
        if self.at:  # between two epochs there are no batches yet to capture a step with
            with self._context():
                self._ready()

    def _noise_state(self) -> Tensor:
        return (
            torch.get_rng_state() if self.stream is None else torch.cuda.get_rng_state(self.device)
        )

    def _set_noise_state(self, state: Tensor) -> None:
        if self.stream is None:
            torch.set_rng_state(state)
        else:
            torch.cuda.set_rng_state(state, self.device)

    def _score(self, batches: list[tuple[Tensor, Tensor]]) -> float:
        self.model.eval()
        total = torch.zeros((), dtype=torch.float64, device=self.device)
        with torch.no_grad():
            for inputs, labels in batches:
                total += self.subject.total(self.model(inputs), labels)
        return total.item() / sum(len(labels) for _, labels in batches)

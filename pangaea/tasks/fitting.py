"""A task from a model, data, a loss and a metric: our loop does the rest."""

import copy
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal

import torch
from torch import Tensor, nn
from torch.nn.parameter import UninitializedBuffer, UninitializedParameter

from pangaea.activation.module import Activation, FunctionLike
from pangaea.activation.surgery import replace_activations
from pangaea.data.given import GivenBatches, given_batches, moved, size_of
from pangaea.errors import PangaeaError, UnknownNameError
from pangaea.locating import signature
from pangaea.tasks.answer import number, short
from pangaea.tasks.goal import Goal, minimize
from pangaea.tasks.own import Maker, OwnTask
from pangaea.tasks.task import Tell
from pangaea.training.fit import AdamRecipe, CosineRecipe, SGDRecipe, fit
from pangaea.training.graphed import graphed
from pangaea.training.how import How
from pangaea.training.start import derived_seed
from pangaea.training.train import choose_precision

_OPTIMIZERS = ("adamw", "sgd")


def fit_task(
    name: str,
    *,
    model: Any,
    train: Any,
    validation: Any,
    test: Any = None,
    loss: Callable[[Any, Any], Tensor],
    metric: Callable[[Tensor, Tensor], Any] | None = None,
    goal: Goal | None = None,
    budgets: Mapping[str, int] | None = None,
    baseline: FunctionLike = "relu",
    optimizer: Literal["adamw", "sgd"] = "adamw",
    rate: float = 1e-3,
    batch: int = 128,
    weight_decay: float = 0.01,
    momentum: float = 0.9,
    warmup: float = 0.1,
    clip: float | None = 1.0,
    graphs: bool = False,
    **more: Any,
) -> OwnTask:
    """A task of one's own without a training loop of one's own.

    `model` is a builder, `build(activation)`, which gives a network; or a network, or a builder
    without parameters, whose activations are replaced. A network that is given is copied with its
    weights. The data is a pair (x, y), a `Dataset` or a `DataLoader`. `loss(outputs, y)` is
    minimised; the score is `metric(outputs, y)` of all outputs together, or else the mean loss.
    Budgets are in epochs; with `graphs` passes are CUDA graphs where the network allows it; `more`
    are options of `Task`.
    """
    if metric is not None and goal is None:
        raise PangaeaError(
            "a metric needs a goal: goal=maximize('accuracy') or goal=minimize('error')"
        )
    _check_call("loss", loss)
    if metric is not None:
        _check_call("metric", metric)
    if optimizer not in _OPTIMIZERS:
        raise UnknownNameError("optimizer", str(optimizer), _OPTIMIZERS)
    if isinstance(batch, bool) or not isinstance(batch, int) or batch < 1:
        raise PangaeaError(f"a batch has at least one sample, got {batch!r}")
    schedule = {"rate": rate, "weight_decay": weight_decay, "warmup": warmup, "clip": clip}
    full = budgets.get("full") if isinstance(budgets, Mapping) else None
    epochs = full if isinstance(full, int) and full > 0 else 1  # what is wrong, `Task` says
    shared: dict[str, Any] = schedule | {"epochs": epochs, "judge_every": max(1, epochs // 10)}
    recipe: CosineRecipe = (
        AdamRecipe(**shared) if optimizer == "adamw" else SGDRecipe(momentum=momentum, **shared)
    )
    return OwnTask(
        name,
        _Fit(_build(model), train, validation, test, loss, metric, recipe, batch, graphs),
        goal=minimize("loss") if goal is None else goal,
        baseline=baseline,
        budgets=budgets,
        recipe={"optimizer": optimizer, "batch": batch} | asdict(recipe),
        **more,
    )


def _check_call(what: str, function: Any) -> None:
    """Can it be called with outputs and targets?"""
    if not callable(function):
        raise PangaeaError(f"a {what} is a function of outputs and targets, got {function!r}")
    if isinstance(function, type) and issubclass(function, nn.Module):
        name = function.__name__
        raise PangaeaError(f"a {what} is a function of outputs and targets: {name}(), not {name}")
    try:
        called = signature(function)
    except (TypeError, ValueError):  # something built in does not say
        return
    try:
        called.bind(None, None)
    except TypeError:
        raise PangaeaError(
            f"a {what} is called as {what}(outputs, targets), but yours takes {called}"
        ) from None


Build = Callable[[Maker, Any], nn.Module]


@dataclass
class _Fit:
    """The training function of such a task."""

    build: Build
    training: Any
    validation: Any
    test: Any
    loss: Callable[[Any, Any], Tensor]
    metric: Callable[[Tensor, Tensor], Any] | None
    recipe: CosineRecipe
    batch: int
    graphs: bool  # record the passes through the network on a GPU, if they can be

    def __call__(
        self,
        activation: Maker,
        budget: int,
        seed: int,
        part: str,
        tell: Tell,
        how: How,
        device: torch.device,
    ) -> dict[str, Any]:
        order = torch.Generator().manual_seed(derived_seed(seed, 1))
        batches = given_batches(self.training, self.batch, device, order)
        dtype = choose_precision(how.precision, device)
        half = torch.autocast(device.type, dtype, dtype != torch.float32, cache_enabled=False)
        model = self._model(activation, batches, device, half)

        def loss(model: nn.Module, batch: tuple[Any, Any]) -> Tensor:
            with half:
                value = self.loss(_outputs(model, batch[0]), batch[1])
            if not isinstance(value, Tensor) or value.numel() != 1:
                raise PangaeaError(f"a loss returns a tensor of one number, got {short(value)}")
            return value

        def score(data: Any) -> float:
            model.eval()
            with torch.no_grad(), half:
                return self._score(model, given_batches(data, self.batch, device))

        course = fit(
            model,
            batches,
            loss,
            self.recipe.compressed(budget),
            judge=lambda: score(self.validation),
            tell=tell,
        )
        answer: dict[str, Any] = dict(vars(course))
        if course.failure is None:
            answer["score"] = course.validation[budget]
            if part == "test" and self.test is not None:
                answer["test"] = score(self.test)
        return answer | {"model": model.eval()} if how.keep_model else answer

    def _model(
        self,
        activation: Maker,
        batches: GivenBatches,
        device: torch.device,
        half: torch.autocast,
    ) -> nn.Module:
        """The network, whole and on the device."""
        inputs, _ = next(iter(batches))
        model = self.build(activation, inputs).to(device)
        if isinstance(self.loss, nn.Module):
            self.loss.to(device)
        lazy = (UninitializedParameter, UninitializedBuffer)
        if any(isinstance(tensor, lazy) for tensor in (*model.parameters(), *model.buffers())):
            with torch.no_grad():
                _outputs(model.eval(), inputs)  # shapes that only an input tells
        if self.graphs and batches.even and device.type == "cuda":
            with half:
                graphed(model, inputs)
        return model

    def _score(self, model: nn.Module, batches: GivenBatches) -> float:
        outputs, targets, total, count = [], [], 0.0, 0
        for batch in batches:
            output = _outputs(model, batch[0])
            if self.metric is None:
                total += float(self.loss(output, batch[1])) * size_of(batch)
                count += size_of(batch)
            elif isinstance(output, Tensor) and isinstance(batch[1], Tensor):
                outputs.append(output.float() if output.is_floating_point() else output)
                targets.append(batch[1])
            else:
                raise PangaeaError(
                    f"a metric is given tensors, but the model's output is a "
                    f"{type(output).__name__} and the target a {type(batch[1]).__name__}: leave "
                    "the metric out, and the loss is the score"
                )
        if self.metric is None:
            return total / count
        value = self.metric(torch.cat(outputs), torch.cat(targets))
        score = number(value)
        if score is None:
            raise PangaeaError(f"a metric returns a number, got {short(value)}")
        return score


def _outputs(model: nn.Module, inputs: Any) -> Any:
    if isinstance(inputs, Mapping):
        return model(**inputs)
    return model(*inputs) if isinstance(inputs, tuple) else model(inputs)


def _build(model: Any) -> Build:
    """What makes the network: from a builder with the activation, or by surgery on a model."""
    if isinstance(model, nn.Module):
        return _Operated(model)
    if not callable(model):
        raise PangaeaError(
            "a model is a torch.nn.Module, or a function build(activation) that returns one, got "
            f"{type(model).__name__}"
        )
    try:
        parameters = signature(model).parameters.values()
    except (TypeError, ValueError):
        parameters = {}.values()
    needed = [p for p in parameters if p.default is p.empty and p.kind not in (2, 4)]
    if len(needed) > 1:
        raise PangaeaError(
            "a model's builder is called as build(activation), but yours needs "
            f"{', '.join(p.name for p in needed)}"
        )
    takes = bool(needed) or any(p.name == "activation" for p in parameters)
    return _Built(model) if takes else _Operated(model)


@dataclass
class _Built:
    builder: Callable[[Maker], Any]

    def __call__(self, activation: Maker, inputs: Any) -> nn.Module:
        model = _checked(self.builder(activation))
        if not any(isinstance(module, Activation) for module in model.modules()):
            raise PangaeaError(
                f"the {type(model).__name__} that build(activation) made has no activation() in "
                "it: put one wherever the function belongs"
            )
        return model


@dataclass
class _Operated:
    model: Any  # itself, or what makes it

    def __call__(self, activation: Maker, inputs: Any) -> nn.Module:
        whole = isinstance(self.model, nn.Module)
        model = _checked(copy.deepcopy(self.model) if whole else self.model())
        example = moved(inputs, next(iter(model.parameters())).device)
        replace_activations(model, activation.function, activation.scope, example)
        return model


def _checked(model: Any) -> nn.Module:
    if not isinstance(model, nn.Module):
        raise PangaeaError(
            f"a model's builder returns a torch.nn.Module, got {type(model).__name__}"
        )
    return model

"""Tasks: a network, a data set and its recipes. What a function is judged on."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import torch
from torch import nn

from pangaea.activation.module import Activation, Scope, Spec, resolve
from pangaea.data.sets import DataSet, data_set
from pangaea.errors import PangaeaError, UnknownNameError
from pangaea.networks import network, networks
from pangaea.training.recipes import Recipe, recipes

DEFAULT = "mnist1d"


@dataclass(frozen=True, kw_only=True)
class Task:
    name: str
    network: str
    data_set: DataSet
    recipes: Mapping[str, Recipe]

    def recipe(self, recipe: Recipe | str, epochs: int | None = None) -> Recipe:
        """A recipe by its name, compressed to so many epochs if these are given."""
        if not isinstance(recipe, Recipe):
            if recipe not in self.recipes:
                raise UnknownNameError("recipe", str(recipe), self.recipes)
            recipe = self.recipes[recipe]
        return recipe if epochs is None else recipe.compressed(epochs)

    def build(self, function: Spec, scope: Scope | None = None) -> nn.Module:
        """The network with the function in place of every ReLU."""
        resolved = resolve(function)
        return network(
            self.network,
            lambda shape: Activation(resolved, scope, shape),
            classes=self.data_set.classes,
            shape=self.data_set.shape,
        )

    @cached_property
    def _plain(self) -> nn.Module:
        with torch.random.fork_rng(devices=[]):
            return self.build("relu").eval()

    @cached_property
    def parameters(self) -> int:
        """Learnable numbers of the network with ReLU."""
        return sum(p.numel() for p in self._plain.parameters())

    @cached_property
    def multiplications(self) -> int:
        """Multiplications for one input on its way through the network."""
        total = 0

        def count(module: nn.Module, _: object, output: torch.Tensor) -> None:
            nonlocal total
            if isinstance(module, nn.Conv1d | nn.Conv2d | nn.Linear):
                total += output[0].numel() * module.weight[0].numel()

        hooks = [m.register_forward_hook(count) for m in self._plain.modules()]
        with torch.no_grad():
            self._plain(torch.zeros(1, *self.data_set.shape))
        for hook in hooks:
            hook.remove()
        return total


def task(name: "Task | str") -> Task:
    """A task by its name: `mnist1d`, or `<network>/<data set>`."""
    if isinstance(name, Task):
        return name
    if not isinstance(name, str):
        raise PangaeaError(f"a task is a name such as {DEFAULT}, got {type(name).__name__}")
    if name == DEFAULT:
        return Task(
            name=name,
            network="small-cnn",
            data_set=data_set("mnist1d"),
            recipes=recipes("small-cnn"),
        )
    net, _, data = name.partition("/")
    if data not in _IMAGES or net == "small-cnn":
        raise UnknownNameError("task", name, tasks())
    found = Task(name=name, network=net, data_set=data_set(data), recipes=recipes(net))
    if name not in tasks():
        try:
            _ = found.parameters  # any valid depth or width will do
        except UnknownNameError:
            raise UnknownNameError("task", name, tasks()) from None
    return found


_IMAGES = ("cifar10", "cifar100")


def tasks() -> tuple[str, ...]:
    """The names of the tasks: the default, and the paper's networks on CIFAR."""
    paper = [name for name in networks() if name != "small-cnn"]
    return (DEFAULT, *(f"{net}/{data}" for data in reversed(_IMAGES) for net in paper))

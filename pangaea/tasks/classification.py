"""Classification of a data set by one of the networks: the paper's tasks, and the default one."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from typing import Any, cast

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from pangaea.activation.module import Activation, FunctionLike, Scope
from pangaea.data.sets import DataSet, data_set, data_sets
from pangaea.errors import PangaeaError, UnknownNameError
from pangaea.functions.catalog import resolve
from pangaea.networks import network, networks, recipe_of, takes
from pangaea.networks.choices import AS_HERE, Choices
from pangaea.tasks.goal import Goal, maximize
from pangaea.tasks.task import DEFAULT, Task, Tell
from pangaea.tasks.variants import VARIANTS, halved, varied
from pangaea.training.how import How
from pangaea.training.recipes import RECIPES, Recipe, pau
from pangaea.training.result import TrainingResult
from pangaea.training.train import train_seeds

_DEFAULT_NETWORK = "small-cnn"
_IMAGES = ("cifar100", "cifar10")
_THRESHOLD = 20.0  # the paper's V, in percent
_COARSE_EFFORT = 0.5  # of the time that whole images take, on an H200 (results/rank-audit.json)


@dataclass(frozen=True, kw_only=True)
class Classification(Task):
    """A network, a data set and a recipe."""

    name: str
    network: str
    data_set: DataSet
    full: Recipe  # a smaller budget is the same schedule compressed
    search_epochs: int
    choices: Choices = AS_HERE
    coarse: int = 0  # epochs up to which it trains on images of half the height and width

    baseline = "relu(x)"

    @property
    def goal(self) -> Goal:  # type: ignore[override]
        chance = 100 / self.data_set.classes
        return maximize("accuracy", unit="%", failure=chance, threshold=_THRESHOLD, digits=2)

    @property
    def budgets(self) -> Mapping[str, int]:  # type: ignore[override]
        return {"search": self.search_epochs, "full": self.full.epochs}

    @property
    def defaults(self) -> Mapping[str, Any]:  # type: ignore[override]
        """Minutes on two cores for the default task, instead of a thousand GPU runs."""
        if self.network != _DEFAULT_NETWORK:
            return {}
        return {"strategy": "choosy", "candidates": 120, "population": 20, "sample": 5}

    @property
    def fast_on_gpu(self) -> bool:  # type: ignore[override]
        return self.network != _DEFAULT_NETWORK

    @property
    def drops_failures(self) -> bool:  # type: ignore[override]
        return self.full.valid_above > 0

    @property
    def recipes(self) -> Mapping[str, Recipe]:
        """`full` (the paper's final training), `search` (compressed) and `pau`."""
        return {
            "full": self.full,
            "search": self.full.compressed(self.search_epochs),
            "pau": pau(self.full),
        }

    def with_recipe(self, recipe: Recipe | str) -> "Classification":
        """The same network and data with another full recipe, such as `pau`."""
        if isinstance(recipe, Recipe):
            return replace(self, full=recipe)
        self.recipe(recipe)
        return varied(self, "pau") if recipe == "pau" else self

    def recipe(self, recipe: Recipe | str, epochs: int | None = None) -> Recipe:
        """A recipe by its name, compressed to so many epochs if these are given."""
        if not isinstance(recipe, Recipe):
            if recipe not in self.recipes:
                raise UnknownNameError("recipe", str(recipe), self.recipes)
            recipe = self.recipes[recipe]
        return recipe if epochs is None else recipe.compressed(epochs)

    def prepare(self) -> None:
        if not self.data_set.here():
            self.data_set.load()

    def train(
        self,
        function: FunctionLike,
        scope: str | None,
        budget: int,
        seed: int,
        part: str,
        tell: Tell,
        how: How,
    ) -> TrainingResult:
        return self.train_seeds(function, scope, budget, [seed], part, tell, how)[0]

    def train_seeds(
        self,
        function: FunctionLike,
        scope: str | None,
        budget: int,
        seeds: Sequence[int],
        part: str,
        tell: Tell,
        how: How,
    ) -> list[TrainingResult]:
        """Several at once on a GPU."""
        recipe = self.full if budget == self.full.epochs else self.full.compressed(budget)
        task = self
        if budget <= self.coarse:  # with half the border that random crops are taken from
            task = replace(self, data_set=halved(self.data_set), coarse=0)
            recipe = replace(recipe, pad=recipe.pad // 2)
        return train_seeds(
            task,
            function,
            recipe,
            seeds,
            scope=cast("Scope | None", scope),
            part=part,
            how=how,
            progress=tell,
        )

    def effort(self, budget: int) -> float:
        return budget * (_COARSE_EFFORT if budget <= self.coarse else 1)

    def about(self) -> dict[str, Any]:
        return super().about() | {"recipe": asdict(self.full), "choices": asdict(self.choices)}

    # What is trained.

    def build(self, function: FunctionLike, scope: Scope | None = None) -> nn.Module:
        """The network with the function in place of every ReLU."""
        resolved = resolve(function)
        model = network(
            self.network,
            lambda shape: Activation(resolved, scope, shape),
            classes=self.data_set.classes,
            shape=self.data_set.shape,
        )
        return self.choices.apply(model)

    def loss(self, outputs: Tensor, targets: Tensor) -> Tensor:
        return F.cross_entropy(outputs, targets)

    def total(self, outputs: Tensor, targets: Tensor) -> Tensor:
        return 100 * (outputs.argmax(1) == targets).sum()

    @cached_property
    def _plain(self) -> nn.Module:
        with torch.device("meta"):  # of which only shapes are asked
            return self.build(self.baseline).eval()

    @cached_property
    def parameters(self) -> int:
        """Learnable numbers of the network with the baseline."""
        return sum(p.numel() for p in self._plain.parameters())

    @property
    def layers(self) -> int:
        """Convolutions and linear layers of the network."""
        return len(self._weighted)

    @property
    def _weighted(self) -> list[nn.Module]:
        kinds = nn.Conv1d | nn.Conv2d | nn.Linear
        return [module for module in self._plain.modules() if isinstance(module, kinds)]

    @cached_property
    def multiplications(self) -> int:
        """Multiplications for one input on its way through the network."""
        total = 0

        def count(module: nn.Module, _: object, output: torch.Tensor) -> None:
            nonlocal total
            total += output[0].numel() * cast("Tensor", module.weight)[0].numel()

        hooks = [module.register_forward_hook(count) for module in self._weighted]
        with torch.no_grad():
            self._plain(torch.zeros(1, *self.data_set.shape, device="meta"))
        for hook in hooks:
            hook.remove()
        return total


def names() -> tuple[str, ...]:
    """The default task, and every listed network on the data sets whose inputs it takes."""
    sets = dict.fromkeys((*_IMAGES, *data_sets()))
    pairs = ((net, data) for data in sets for net in networks() if _fit(net, data))
    return (DEFAULT, *(f"{net}/{data}" for net, data in pairs))


def _fit(net: str, data: str) -> bool:
    """Does the network take these inputs, and is the pair not the default task itself?"""
    return takes(net, data_set(data).shape) and (net, data) != (_DEFAULT_NETWORK, DEFAULT)


def find(name: str) -> Classification | None:
    """`mnist1d` or `<network>/<data set>` with any valid depth or width, and variants behind it."""
    plain, variants = _apart(name)
    net, _, data = (_DEFAULT_NETWORK, "", DEFAULT) if plain == DEFAULT else plain.partition("/")
    try:
        if plain != DEFAULT and not _fit(net, data):
            return None
        recipe, search_epochs = RECIPES[recipe_of(net)]
        task = Classification(
            name=plain,
            network=net,
            data_set=data_set(data),
            full=recipe,
            search_epochs=search_epochs,
        )
        if plain not in names():
            _ = task.parameters  # a depth that does not exist is said now
    except UnknownNameError:
        return None
    for variant in variants:
        task = varied(task, variant)
    return task


def _apart(name: str) -> tuple[str, list[str]]:
    """A task's plain name, and the variants that stand behind it."""
    parts = name.split("/")
    count = next((i for i, part in enumerate(parts) if i and part in VARIANTS), len(parts))
    plain, variants = "/".join(parts[:count]), parts[count:]
    known = all(variant in VARIANTS for variant in variants)
    return (plain, variants) if known else (name, [])


def recipes(net: str) -> Mapping[str, Recipe]:
    """A network's recipes by their names."""
    task = find(DEFAULT if net == _DEFAULT_NETWORK else f"{net}/{_IMAGES[0]}")
    if task is None:
        raise PangaeaError(f"no network is called {net!r}")
    return task.recipes

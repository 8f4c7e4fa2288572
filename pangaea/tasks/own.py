"""The user's own training function as a task."""

import inspect
import shutil
import time
from collections.abc import Callable, Mapping
from typing import Any, cast

import torch

from pangaea.activation.module import Activation, FunctionLike, Scope
from pangaea.errors import PangaeaError, UnknownNameError
from pangaea.functions.catalog import resolve
from pangaea.locating import signature, user_code_error
from pangaea.tasks.answer import take
from pangaea.tasks.goal import Goal
from pangaea.tasks.task import PARTS, Task, Tell
from pangaea.training.how import How
from pangaea.training.result import TrainingResult
from pangaea.training.start import device_name, peak_memory, seeded
from pangaea.training.train import choose_device, surroundings

Train = Callable[..., Any]
_NEEDED = ("activation", "budget", "seed")
_OFFERED = (*_NEEDED, "part", "tell", "how", "device", "scope")
# Of a search that people wait for: the paper's has five times as many candidates.
_DEFAULTS = {"strategy": "thrifty", "candidates": 200, "population": 20, "sample": 5}


class Maker:
    """`activation()` makes a module with the function that is tried, one for each place.

    `shape` and `channel_dim` are those of `Activation`. `function` and `scope` say what is tried.
    """

    def __init__(self, function: str, scope: str | None) -> None:
        self.function = function
        self.scope = cast("Scope | None", scope)

    def __call__(
        self, shape: int | tuple[int, ...] | None = None, channel_dim: int | None = None
    ) -> Activation:
        if isinstance(shape, torch.Tensor):
            raise PangaeaError(
                "activation() makes a module, which is then called: act = activation(), act(x)"
            )
        return Activation(self.function, self.scope, shape, channel_dim)


class OwnTask(Task):
    """`train(activation, budget, seed)` gives a score, or a dict with `score`, `test` and more.

    It is called by these names, and gets whichever of `part`, `tell`, `how`, `device` and `scope`
    it has parameters for. Every generator is seeded before it.
    """

    def __init__(
        self,
        name: str,
        train: Train,
        *,
        goal: Goal,
        baseline: FunctionLike = "relu",
        budgets: Mapping[str, int] | None = None,
        unit: str = "epochs",
        prepare: Callable[[], object] | None = None,
        defaults: Mapping[str, Any] | None = None,
        recipe: Mapping[str, Any] | None = None,
        fast_on_gpu: bool = True,
    ) -> None:
        """`prepare` brings the data before several workers want it; `recipe` is kept as it is."""
        if not isinstance(name, str) or not name.strip() or ":" in name:
            raise PangaeaError(f"a task's name is a text without a colon, got {name!r}")
        if not isinstance(goal, Goal):
            raise PangaeaError(
                "a task's goal is maximize(…) or minimize(…), such as minimize('validation loss'), "
                f"got {goal!r}"
            )
        self.name, self.goal, self.unit = name, goal, unit
        self.baseline = str(resolve(baseline))
        self.budgets = _budgets(budgets)
        for value in self.budgets.values():
            self.budget(value)
        if self.budgets["search"] > self.budgets["full"]:
            raise PangaeaError(
                f"a search trains no longer than in full: its budget is {self.budgets['search']} "
                f"{self.unit}, the full one {self.budgets['full']}"
            )
        self.defaults = _DEFAULTS | dict(defaults or {})
        self.fast_on_gpu = fast_on_gpu
        self._train, self._prepare, self._recipe = train, prepare, recipe
        self._wanted = _wanted(train)

    def prepare(self) -> None:
        if self._prepare is not None:
            try:
                self._prepare()
            except Exception as error:
                raise user_code_error("prepare() failed", error, self.name) from error

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
        if part not in PARTS:
            raise UnknownNameError("part of the data", part, PARTS)
        if isinstance(seed, bool) or not isinstance(seed, int) or seed < 0:
            raise PangaeaError(f"a seed is a whole number from 0, got {seed!r}")
        device = choose_device(how.device)
        result = TrainingResult(
            task=self.name,
            function=function,
            scope=scope,
            budget=budget,
            seed=seed,
            part=part,
            device=device_name(device),
        )
        offered = {
            "activation": Maker(function, scope),
            "budget": self.budget(budget),
            "seed": seed,
            "part": part,
            "tell": tell,
            "how": how,
            "device": device,
            "scope": scope,
        }
        started = time.perf_counter()
        with surroundings(device), seeded(seed):
            answer = self._answer({name: offered[name] for name in self._wanted}, how)
        result.seconds, result.peak_memory = time.perf_counter() - started, peak_memory(device)
        take(answer, result, self.goal)
        if how.keep_model and isinstance(answer, Mapping):
            result.model = answer.get("model")
        return result

    def _answer(self, given: Mapping[str, Any], how: How) -> Any:
        """What the user's code returns; what goes wrong in it is theirs."""
        if torch.cuda.is_initialized():  # type: ignore[no-untyped-call]
            torch.cuda.reset_peak_memory_stats()
        try:
            return self._train(**given)
        except torch.OutOfMemoryError as error:
            told = ". ".join(str(error).split(". ")[:2])  # with the memory asked for
            return {"failure": "out of memory", "detail": told}
        except (Exception, SystemExit) as error:
            function = given["activation"].function
            raise user_code_error(f"train failed with {function}", error, self.name) from error
        finally:
            if how.passing and how.checkpoints is not None:
                shutil.rmtree(how.checkpoints, ignore_errors=True)

    def about(self) -> dict[str, Any]:
        return super().about() | ({} if self._recipe is None else {"recipe": dict(self._recipe)})


def _wanted(train: Any) -> tuple[str, ...]:
    """The names by which a train function is called, of those that are offered."""
    if not callable(train):
        raise PangaeaError(f"a task's train is a function, got {type(train).__name__}")
    try:
        called = signature(train)
    except (TypeError, ValueError):
        raise PangaeaError(
            f"a task's train is a function with the parameters {', '.join(_NEEDED)}, got {train!r}"
        ) from None
    kinds = {p.kind for p in called.parameters.values()}
    everything = inspect.Parameter.VAR_KEYWORD in kinds
    named = {
        name: p
        for name, p in called.parameters.items()
        if p.kind in (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
    }
    missing = [name for name in _NEEDED if name not in named and not everything]
    if missing:
        raise PangaeaError(
            f"train is called as train(activation=…, budget=…, seed=…), but yours is "
            f"train{called}: it has no parameter {' and no '.join(missing)}"
        )
    for name, parameter in called.parameters.items():
        positional = parameter.kind is inspect.Parameter.POSITIONAL_ONLY
        unknown = name in named and name not in _OFFERED
        if (positional or unknown) and parameter.default is inspect.Parameter.empty:
            raise PangaeaError(
                f"train{called} needs {name}, which nobody gives: give it a default; what is "
                f"given by name is {', '.join(_OFFERED)}"
            )
    return tuple(name for name in _OFFERED if everything or name in named)


def _budgets(given: Any) -> dict[str, int]:
    example = 'budgets={"search": 3, "full": 20}'
    if not isinstance(given, Mapping):
        raise PangaeaError(f"a task needs its budgets, such as {example}, got {given!r}")
    if not {"search", "full"} <= set(given):
        raise PangaeaError(
            f"a task has the budgets search and full, such as {example}, "
            f"got {', '.join(map(str, given)) or 'none'}"
        )
    return dict(given)

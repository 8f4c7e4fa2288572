"""What a search is told: plain data, checked once, kept in the study."""

import json
import tomllib
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Any, get_args, get_type_hints

from pangaea.errors import PangaeaError, UnknownNameError
from pangaea.evolution import strategies
from pangaea.evolution.strategies import STRATEGIES

DEFAULT_TASK = "mnist1d"
SCOPES = ("layer", "channel", "neuron")


@dataclass(frozen=True, kw_only=True)
class Settings:
    """The paper's, as they stand; see `defaults` for those of a task."""

    task: str = DEFAULT_TASK
    strategy: str = "evolution"
    candidates: int = 1000  # C: how many functions are tried
    population: int = 64  # P
    sample: int = 16  # S
    threshold: float = 20.0  # V, in percent
    scope: str | None = None  # None: the paper's choice
    epochs: int | None = None  # the search recipe compressed to so many
    seed: int = 0
    timeout: float | None = None  # seconds for a candidate
    rerank: bool = True
    runs: int = 10  # of each of the best three on test data; 0: no test

    def __post_init__(self) -> None:
        hints = get_type_hints(type(self))
        for field in fields(self):
            object.__setattr__(
                self, field.name, _checked(field.name, getattr(self, field.name), hints)
            )
        if self.strategy not in STRATEGIES:
            raise UnknownNameError("strategy", self.strategy, STRATEGIES)
        if self.scope is not None and self.scope not in SCOPES:
            raise UnknownNameError("scope", self.scope, SCOPES)
        _ = self.evolution
        for name, least in (("candidates", 1), ("epochs", 1), ("seed", 0), ("runs", 0)):
            value = getattr(self, name)
            if value is not None and value < least:
                raise PangaeaError(f"{name} must be at least {least}, got {value}")
        if self.timeout is not None and not self.timeout > 0:
            raise PangaeaError(f"timeout must be above 0 seconds, got {self.timeout}")

    @property
    def evolution(self) -> strategies.Settings:
        return strategies.Settings(
            population=self.population, sample=self.sample, threshold=self.threshold
        )

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


# Minutes on two cores instead of a thousand GPU runs.
_DEFAULTS: Mapping[str, Mapping[str, Any]] = {
    DEFAULT_TASK: {"strategy": "thrifty", "candidates": 200, "population": 20, "sample": 5}
}


def defaults(task: str = DEFAULT_TASK) -> Settings:
    """The paper's settings, and smaller ones for the default task."""
    return Settings(task=task, **_DEFAULTS.get(task, {}))


def settings(given: Mapping[str, Any], file: Path | str | None = None) -> Settings:
    """A task's defaults, changed by what a settings file says, changed by what was given.

    `None` means not given.
    """
    said = {} if file is None else read(Path(file))
    said |= {name: value for name, value in given.items() if value is not None}
    known = {field.name for field in fields(Settings)}
    for name in said:
        if name not in known:
            raise UnknownNameError("setting", name, known)
    task = _checked("task", said.get("task", DEFAULT_TASK), get_type_hints(Settings))
    return replace(defaults(task), **said)


def read(file: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise PangaeaError(f"the settings file {file} cannot be read: {error.strerror}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise PangaeaError(f"the settings file {file} is not TOML: {error}") from None


def toml(chosen: Settings) -> str:
    """The settings as a file that `settings` reads; what is None is left out as a comment."""
    lines = []
    for name, value in chosen.as_dict().items():
        if value is None:
            lines.append(f"# {name} =")
        else:
            plain = json.dumps(value, ensure_ascii=False)
            lines.append(f"{name} = {repr(value) if isinstance(value, float) else plain}")
    return "\n".join(lines) + "\n"


def _checked(name: str, value: Any, hints: Mapping[str, Any]) -> Any:
    """The value as its type, or an error that says which type it must have."""
    allowed = get_args(hints[name]) or (hints[name],)
    if float in allowed and type(value) is int:
        return float(value)
    if type(value) not in allowed:
        kinds = {str: "a text", int: "a whole number", float: "a number", bool: "true or false"}
        wanted = next(kinds[kind] for kind in allowed if kind in kinds)
        raise PangaeaError(f"{name} must be {wanted}, got {value!r}")
    return value

"""What a search is told: plain data, checked once, kept in the study."""

import json
import math
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from pangaea.errors import PangaeaError, ParseError, UnknownNameError
from pangaea.evolution import strategies
from pangaea.functions.catalog import listed, parse
from pangaea.functions.expression import Function
from pangaea.functions.space import PRESETS, Space, space
from pangaea.settings import Declaration, Declared, checked, declarations, setting
from pangaea.study.planning import smaller
from pangaea.study.stages import TESTED
from pangaea.tasks.goal import Goal
from pangaea.tasks.task import DEFAULT, Task
from pangaea.training.how import PRECISIONS
from pangaea.wording import counted

_LARGEST_FILE, _LONGEST_LINE = 32_768, 4096  # bytes of a settings file
MOST_CANDIDATES = 10_000_000
MOST_RERANKED = 1_000
_ROUND = re.compile(r"([0-9]{1,9})(?:@([0-9]{1,9}))?")
SCOPES = ("layer", "channel", "neuron")


@dataclass(frozen=True, kw_only=True)
class Settings(Declared):
    """Of the search itself, as in the paper; those of its strategy are in `tuning`."""

    task: str = setting(
        DEFAULT, "What to search on: one of `pangaea tasks`, or your own, my_task.py:task."
    )
    candidates: int = setting(
        1000, "C: functions to try.", least=1, most=MOST_CANDIDATES, later=True
    )
    minutes: float | None = setting(
        None,
        "Time for all of it, test included: as many candidates as fit, or at most --candidates.",
        above=0,
        most=1_000_000,
        later=True,
    )
    strategy: str = setting("evolution", "How functions are proposed.", names=strategies.strategies)
    preset: str = setting("paper", "The space of functions to search.", names=lambda: PRESETS)
    start: str | None = setting(
        None, "Functions that are tried first, a warm start: swish,softplus.", several=True
    )
    operators: str | None = setting(None, "Only these operators: relu,tanh,mul.", several=True)
    exclude: str | None = setting(
        None, "None of these operators: bessel_i0e,bessel_i1e.", several=True
    )
    cost: float | None = setting(
        None,
        "Most that a function may cost, in times of the baseline: its operators, added up.",
        above=0,
    )
    scope: str | None = setting(
        None, "Where parameters are shared. Default: the paper's choice.", names=lambda: SCOPES
    )
    budget: int | None = setting(
        None,
        "How long a candidate trains, in the task's unit, such as epochs.",
        least=1,
        most=10_000_000,
        former="epochs",
    )
    seed: int = setting(0, "Of everything that is drawn.", least=0, most=2**63 - 1)
    seeds: str = setting(
        "own",
        "Of runs that are compared: each its own, or common ones, which move all alike.",
        names=lambda: ("own", "common"),
    )
    timeout: float | None = setting(
        None, "Seconds after which a candidate has failed.", above=0, most=1e9, later=True
    )
    precision: str | None = setting(
        None,
        "The numbers of the network. Default: bf16 on a GPU, fp32 elsewhere.",
        names=lambda: PRECISIONS,
    )
    rerank: bool = setting(True, "Train the best again with the full budget.", later=True)
    rounds: str = setting(
        "10,10",
        "How many of the best are trained again in each round: all ten twice, or 16,8,4,2,2. "
        "16@50,4@100,2: with a budget of 50, then 100, then the full one.",
        several=True,
        later=True,
    )
    tested: int = setting(
        TESTED, "How many of the best are tested.", least=1, most=MOST_RERANKED, later=True
    )
    runs: int = setting(
        10, "Test runs of each of these; 0 for no test.", least=0, most=100_000, later=True
    )
    against: str | None = setting(
        None,
        "More functions in the test, beside the baseline: swish,gelu.",
        several=True,
        later=True,
    )
    tuning: strategies.Settings = field(default_factory=strategies.Settings)

    def __post_init__(self) -> None:
        super().__post_init__()
        if not isinstance(self.tuning, strategies.strategy(self.strategy).settings):
            object.__setattr__(self, "tuning", strategies.strategy(self.strategy).settings())
        object.__setattr__(self, "tuning", replace(self.tuning, space=self._space()))
        self.further, self.again, self.given  # noqa: B018 (what is wrong with them is said now)

    @property
    def further(self) -> tuple[str, ...]:
        """The functions that are tested beside the baseline, by the texts that a study keeps."""
        return self._listed("against")

    @property
    def given(self) -> tuple[Function, ...]:
        """The functions of a warm start."""
        functions = tuple(map(parse, self._listed("start")))
        for function in functions:
            if self.tuning.space.levels and not self.tuning.space.holds(function):
                raise PangaeaError(
                    f"start: {function} is not a function of the space {self.preset}, whose "
                    f"functions are made of core units; see `pangaea space --preset {self.preset}`"
                )
        return functions

    def _listed(self, name: str) -> tuple[str, ...]:
        texts = getattr(self, name)
        try:
            return () if texts is None else listed(texts)
        except ParseError as error:
            raise PangaeaError(f"{name}: {texts!r} is no list of functions: {error}") from None

    @property
    def again(self) -> tuple[tuple[int, int | None], ...]:
        """How many of the best are trained again, round by round, and with what, if it is said."""
        parts = [_ROUND.fullmatch(text.strip()) for text in self.rounds.split(",", MOST_RERANKED)]
        rounds = [(int(p[1]), int(p[2]) if p[2] else None) for p in parts if p is not None]
        counts = [count for count, _ in rounds]
        budgets = [math.inf if budget is None else budget for _, budget in rounds]
        if (
            len(rounds) == len(parts) <= MOST_RERANKED
            and counts[0] <= MOST_RERANKED
            and counts == sorted(counts)[::-1]
            and budgets == sorted(budgets)
            and min(*counts, *budgets) > 0
        ):
            return tuple(rounds)
        raise PangaeaError(
            f"rounds must be numbers from 1 to {MOST_RERANKED}, none larger than the one before, "
            "such as 10,10 or 16,8,4,2,2; a budget may stand behind them, none smaller than the "
            f"one before, such as 16@50,8@100,2,2; got {self.rounds[:60]!r}"
        )

    def smaller_rounds(self, contenders: int) -> str:
        """The rounds, if the first has so many functions."""
        return ",".join(
            f"{smaller(count, contenders, self.contenders)}" + (f"@{budget}" if budget else "")
            for count, budget in self.again
        )

    @property
    def contenders(self) -> int:
        """How many of the best are trained again at least once."""
        return self.again[0][0]

    @property
    def extent(self) -> str:
        """How long the search goes on, in words."""
        tries = counted(self.candidates, "candidate")
        if self.minutes is None:
            return tries
        timed = counted(self.minutes, "minute")
        return timed if self.candidates == MOST_CANDIDATES else f"{tries} or {timed}"

    def _space(self) -> Space:
        return space(self.preset, self.operators, self.exclude)

    def oriented(self, goal: Goal) -> strategies.Settings:
        """What the strategy is told: scores in its settings so that larger is better."""
        changes: dict[str, Any] = {
            declared.name: None if value is None else goal.oriented(value)
            for declared in declarations(type(self.tuning))
            if declared.limits["score"]
            for value in (self._score(declared.name, goal),)
        }
        return replace(self.tuning, **changes)

    def _score(self, name: str, goal: Goal) -> float | None:
        value: float | None = getattr(self.tuning, name)
        return goal.threshold if value is None and name == "threshold" else value

    def get(self, name: str, default: Any = None) -> Any:
        """A setting of the search or of its strategy."""
        return getattr(self, name, getattr(self.tuning, name, default))

    def as_dict(self) -> dict[str, Any]:
        """Flat, as on the command line and in a settings file."""
        names = [d.name for d in (*declarations(Settings), *declarations(type(self.tuning)))]
        return {name: self.get(name) for name in names}


def known(strategy: str | None = None) -> dict[str, Declaration]:
    """Every setting of a search with this strategy, or with any."""
    tuned = (
        strategies.strategies().values() if strategy is None else [strategies.strategy(strategy)]
    )
    owners: list[type] = [Settings, *(one.settings for one in tuned)]
    return {d.name: d for owner in owners for d in declarations(owner)}


LATER = tuple(d for d in declarations(Settings) if d.limits["later"])
"""What may be another when a study goes on."""


def _named(given: Mapping[str, Any]) -> dict[str, Any]:
    """By the names that settings have now; None means not given."""
    former = {d.limits["former"]: d.name for d in known().values() if d.limits["former"]}
    return {former.get(name, name): value for name, value in given.items() if value is not None}


def flat(given: Mapping[str, Any]) -> Settings:
    """Settings from plain values, those of the strategy among them."""
    values = _named(given)
    name = checked(known()["strategy"], values.get("strategy", Settings.strategy))
    tuned = strategies.strategy(name).settings
    names = {d.name for d in declarations(tuned)}
    for key in values:
        if key not in known(name):
            if key in known():
                raise PangaeaError(
                    f"the strategy {name} has no setting {key}; it has "
                    f"{', '.join(sorted(names)) or 'none of its own'}"
                )
            raise UnknownNameError("setting", key, known(name))
    tuning = tuned(**{key: value for key, value in values.items() if key in names})
    return Settings(**{k: v for k, v in values.items() if k not in names}, tuning=tuning)


def settings(
    given: Mapping[str, Any], task: Task, file: Mapping[str, Any] | None = None
) -> Settings:
    """The strategy's defaults, changed by the task's, a settings file and what was given.

    A default of the task that the strategy does not know is left out.
    """
    for name in task.defaults:
        if name not in known():
            raise UnknownNameError(f"setting (a default of the task {task.name})", name, known())
    written = _named(file or {})
    values = written | _named(given)
    strategy = checked(
        known()["strategy"],
        values.get("strategy", task.defaults.get("strategy", Settings.strategy)),
    )
    if written.get("strategy", strategy) != strategy:
        values = _of_another(written, strategy) | _named(given)
    suited = {k: v for k, v in task.defaults.items() if k in known(strategy)}
    if "minutes" in values:  # decide how many, unless somebody says it
        suited["candidates"] = MOST_CANDIDATES
    defaults = strategies.strategy(strategy).defaults
    begun = flat({**defaults, **suited, "strategy": strategy, **values})
    _check_budget("budget", begun.budget, task)  # a study that was begun with more goes on
    return possible(begun, task)


def _of_another(written: Mapping[str, Any], strategy: str) -> dict[str, Any]:
    """A settings file of another strategy, without what was that one's own."""
    defaults = strategies.strategy(str(written["strategy"])).defaults
    return {
        name: value
        for name, value in written.items()
        if name in known(strategy) and (name not in defaults or value != defaults[name])
    }


def possible(settings: Settings, task: Task) -> Settings:
    """The settings, if the task can train as long as their rounds say."""
    for _, budget in settings.again:
        _check_budget("rounds", budget, task)
    return settings


def _check_budget(name: str, budget: int | None, task: Task) -> None:
    full = task.budgets["full"]
    if budget is not None and budget > full:
        raise PangaeaError(
            f"{name}: {task.name} trains for {full} {task.unit} at most, got {budget}"
        )


def read(file: Path | str) -> dict[str, Any]:
    """A settings file."""
    try:
        with Path(file).open("rb") as stream:
            content = stream.read(_LARGEST_FILE + 1)
        # A key of 15,000 parts would take the parser three seconds, one of 2,000 a twentieth.
        if len(content) > _LARGEST_FILE or max(map(len, content.split(b"\n"))) > _LONGEST_LINE:
            raise PangaeaError(
                f"the settings file {file} has more than {_LARGEST_FILE} bytes, or {_LONGEST_LINE} "
                "in a line: is it one?"
            )
        return tomllib.loads(content.decode())
    except OSError as error:
        raise PangaeaError(f"the settings file {file} cannot be read: {error.strerror}") from None
    except (ValueError, RecursionError) as error:
        raise PangaeaError(f"the settings file {file} is not TOML: {error}") from None


def toml(settings: Settings) -> str:
    """The settings as a file that `read` reads; what is None is left out as a comment."""
    lines = []
    for name, value in settings.as_dict().items():
        if value is None:
            lines.append(f"# {name} =")
        else:
            plain = json.dumps(value, ensure_ascii=False)
            lines.append(f"{name} = {repr(value) if isinstance(value, float) else plain}")
    return "\n".join(lines) + "\n"

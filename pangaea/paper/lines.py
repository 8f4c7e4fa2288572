"""Runs as lines of plain text (JSON), so that results of several machines add up in one place.

A line holds all that a run is known by (function, task, scope, budget, seed, part and recipe), what
came of it, and where it comes from: command, commit, versions. Files of lines can be joined by
`cat`; the same run twice counts once.
"""

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import asdict, fields
from functools import cache
from pathlib import Path
from typing import Any

from pangaea.errors import PangaeaError, UnknownNameError
from pangaea.files import save
from pangaea.functions.catalog import resolve
from pangaea.study import schema
from pangaea.study.origin import ORIGIN, source_of
from pangaea.study.settings import SCOPES
from pangaea.study.stages import EVALUATION, PAPER, TEST
from pangaea.study.study import Study
from pangaea.tasks.finding import built_in
from pangaea.training.recipes import Recipe
from pangaea.workers.judge import OUTSIDE

Line = dict[str, Any]

_TESTS = (PAPER.name, TEST.name, EVALUATION.name)
ASKED = ("function", "task", "scope", "budget", "seed", "part")
_CAME = ("score", "failure", "detail", "values", "seconds", "peak_memory", "device", "finished")
_SOURCE = ("recipe", *ORIGIN)


def _text(value: Any) -> bool:
    with suppress(UnicodeEncodeError):  # half a character
        return isinstance(value, str) and len(value.encode()) <= schema.LONGEST
    return False


def _number(value: Any) -> bool:
    return type(value) in (int, float) and abs(value) < schema.HUGE


def _whole_number(value: Any) -> bool:
    return type(value) is int and 0 <= value < 1 << 63


def _values(value: Any) -> bool:
    return isinstance(value, dict) and all(map(_number, value.values()))


# What a study can hold; a run need not have the others.
_KINDS: dict[str, Callable[[Any], bool]] = {
    **dict.fromkeys(("function", "task", "part"), _text),
    "budget": lambda value: _whole_number(value) and value > 0,
    "seed": _whole_number,
}
_OTHERS: dict[str, Callable[[Any], bool]] = {
    **dict.fromkeys(("failure", "detail", "device", "command", "commit", "search"), _text),
    **dict.fromkeys(("score", "seconds", "finished"), _number),
    **dict.fromkeys(("recipe", "versions"), lambda value: isinstance(value, dict)),
    "scope": SCOPES.__contains__,
    "values": _values,
    "peak_memory": _whole_number,
}


def line(row: Mapping[str, Any], source: Mapping[str, Any]) -> Line:
    """A run with its result, and where it comes from."""
    function, scope = settled(row["function"], row["scope"])
    row = {**row, "function": function, "scope": scope, "values": row.get("values") or {}}
    recipe = source.get("recipes", {}).get(recipe_key(row["task"], row["budget"]))
    known = {name: row.get(name) for name in (*ASKED, *_CAME)} | {"recipe": recipe}
    known["task"] = _whole_images(row["task"], row["budget"])
    return known | {name: source.get(name) for name in ORIGIN}


@cache
def _whole_images(task: str, budget: int) -> str:
    """Beyond its short trainings a coarse task is the one without that word."""
    parts = task.split("/")
    if "coarse" not in parts or not _known(task):
        return task
    from pangaea.tasks.classification import Classification  # a report does not wait for torch

    on = built_in(task)
    whole = isinstance(on, Classification) and budget > on.coarse
    return "/".join(part for part in parts if part != "coarse") if whole else task


@cache
def settled(function: str, scope: str | None) -> tuple[str, str | None]:
    """A function's canonical text; a scope that is its default, or means nothing, is None."""
    form = resolve(function)
    plain = not form.parameters or scope == getattr(form, "scope", "channel")
    return str(form), None if plain else scope


def recipe_key(task: str, budget: int) -> str:
    return f"{task}:{budget}"


@cache
def trained_recipe(task: str, budget: int) -> dict[str, Any] | None:
    """How a task is trained with a budget, as plain data; None if it has no recipe of ours."""
    from pangaea.tasks.classification import Classification  # a report does not wait for torch

    on = built_in(task)
    if not isinstance(on, Classification):
        return None
    return dict(json.loads(json.dumps(asdict(on.recipe("full", budget)))))


def read(path: Path | str) -> list[Line]:
    """The runs in a study, a file of lines, or one that `benchmarks/accuracy.py` wrote; each once.

    Of a study, those on test data.
    """
    path = Path(path)
    if _is_study(path):
        with Study.open(path) as study:
            return _once(of_study(study))
    text = path.read_text(encoding="utf-8", errors="replace")
    runs = _of_accuracies(text, path) if path.suffix == ".json" else _of_text(text, path)
    return _once(map(_settled, runs))


def _settled(run: Line) -> Line:
    """With the canonical text of its function; one that nobody here can read stays as it is."""
    with suppress(PangaeaError):
        function, scope = settled(run["function"], run["scope"])
        return run | {"function": function, "scope": scope}
    return run


def _once(runs: Iterable[Line]) -> list[Line]:
    by_identity: dict[tuple[Any, ...], Line] = {}
    for run in runs:
        by_identity.setdefault(identity(run), run)
    return [*by_identity.values()]


def fitting(runs: Iterable[Line]) -> tuple[list[Line], dict[str, int]]:
    """Those that stand for a run of their task today; why others do not, and how many."""
    fit: list[Line] = []
    left_out: Counter[str] = Counter()
    for run in runs:
        if (why := misfit(run)) is None:
            fit.append(run)
        else:
            left_out[why] += 1
    return fit, dict(left_out)


def _is_study(path: Path) -> bool:
    try:
        with path.open("rb") as file:
            return file.read(16) == b"SQLite format 3\0"
    except OSError as error:
        raise PangaeaError(f"{path} cannot be read: {error.strerror}") from None


def of_study(study: Study, *, curves: bool = False) -> list[Line]:
    """A study's runs on test data: the paper's experiments, evaluations, the tests of a search.

    Without those that came to nothing through no fault of the function.
    """
    return [
        run | {"curves": study.curves(number)} if curves else run
        for number, run in _numbered(study)
    ]


def _numbered(study: Study) -> Iterator[tuple[int, Line]]:
    """Each with the number that it has in the study."""
    sources = study.noted("sources", [])
    for row in study.runs():
        if row["stage"] in _TESTS and row["part"] == PAPER.part and row["failure"] not in OUTSIDE:
            yield row["run"], line(row, _source_of(study, row, sources))


@contextmanager
def curves(path: Path | str) -> Iterator[Callable[[Line], Any]]:
    """What gives the curves of a run in a file: one after the other, for they may be gigabytes."""
    if not _is_study(Path(path)):
        yield lambda run: run.get("curves")
        return
    with Study.open(path) as study:
        numbers = {identity(run): number for number, run in _numbered(study)}
        yield lambda run: study.curves(numbers[identity(run)])


def _source_of(
    study: Study, row: Mapping[str, Any], sources: list[dict[str, Any]]
) -> dict[str, Any]:
    """Where a result comes from, and the recipe: that of the study's task if none is named."""
    source = source_of(study, row["position"], sources)
    if "recipes" in source:
        return source
    recipe = study.task.get("recipe")
    full = None if recipe is None else Recipe(**_fitting(recipe))
    trained = None if full is None else asdict(full.compressed(row["budget"]))
    key = recipe_key(row["task"], row["budget"])
    return source | {"recipes": {key: json.loads(json.dumps(trained))}}


def _fitting(recipe: Mapping[str, Any]) -> dict[str, Any]:
    known = {field.name for field in fields(Recipe)}
    return {k: tuple(v) if isinstance(v, list) else v for k, v in recipe.items() if k in known}


def _of_text(text: str, path: Path) -> Iterator[Line]:
    for number, part in enumerate(text.split("\n"), 1):
        if not part.strip():
            continue
        try:
            known = json.loads(part)
        except (ValueError, RecursionError):
            if number == text.count("\n") + 1:
                return  # cut off while it was written
            raise PangaeaError(f"{path}, line {number}, is not JSON") from None
        if (wrong := _wrong(known)) is not None:
            raise PangaeaError(f"{path}, line {number}, is not a run: {wrong}")
        yield {**dict.fromkeys((*ASKED, *_CAME, *_SOURCE)), **known}


def _wrong(known: Any) -> str | None:
    """Why a line is not a run; None if it is one."""
    if not isinstance(known, dict):
        return f"it has no fields, but is {known!r}"
    for name, right in (_KINDS | _OTHERS).items():
        value = known.get(name)
        if not right(value) and (value is not None or name in _KINDS):
            return f"its {name} is {value!r}"
    if (known.get("score") is None) is (known.get("failure") is None):
        return "it has neither a score nor a failure, or both"
    return None


def _of_accuracies(text: str, path: Path) -> list[Line]:
    with suppress(ValueError, TypeError, KeyError, AttributeError):
        runs = [*_accuracies(json.loads(text))]
        if not any(map(_wrong, runs)):
            return runs
    raise PangaeaError(f"{path} is no study, no file of runs, and not of benchmarks/accuracy.py")


def _accuracies(known: Mapping[str, Any]) -> Iterator[Line]:
    """Of a time in which a score was called accuracy, and its part of the data `data`."""
    for run in (run for judged in known["functions"] for run in judged["runs"]):
        yield {
            **{name: run.get(name) for name in (*ASKED, *_CAME)},
            "budget": known["recipe"]["epochs"],
            "part": run.get("part", run.get("data")),
            "score": run.get("score", run.get("accuracy")),
            "values": {"validation": [*run["validation"].values()][-1]}
            if run["validation"]
            else {},
            **{name: known.get(name) for name in _SOURCE},
        }


def write(path: Path | str, lines: Iterable[Line]) -> int:
    """A file of lines, whole or not at all; returns how many."""
    texts = [json.dumps(line, ensure_ascii=False) for line in lines]
    save(Path(path), "".join(f"{text}\n" for text in texts))
    return len(texts)


def identity(run: Mapping[str, Any]) -> tuple[Any, ...]:
    """What makes a run the same as another."""
    recipe = None if run["recipe"] is None else json.dumps(_whole(run["recipe"]), sort_keys=True)
    return (*(run[name] for name in ASKED), recipe)


def _whole(recipe: Mapping[str, Any]) -> dict[str, Any]:
    """With the defaults of what it does not name, for it may be older than some fields."""
    try:
        return dict(json.loads(json.dumps(asdict(Recipe(**_fitting(recipe))))))
    except TypeError:
        return dict(recipe)


@cache
def _known(task: str) -> bool:
    """Is it built in? Of another one the file would be run."""
    with suppress(UnknownNameError):
        return built_in(task) is not None
    return False


def misfit(run: Mapping[str, Any]) -> str | None:
    """Why a run stands for no run of its task today; None if it does."""
    if not _known(run["task"]):
        return f"no task is called {run['task']}"
    today = trained_recipe(run["task"], run["budget"])
    try:
        settled(run["function"], run["scope"])
    except PangaeaError:
        return f"no function is written {run['function']}"
    if run["failure"] in OUTSIDE:
        return f"came to nothing through no fault of the function ({run['failure']})"
    if run["part"] != PAPER.part:
        return f"judged on {run['part']} data"
    if today is None or run["recipe"] is None:
        return None
    then = _whole(run["recipe"])
    changed = [name for name in today if then.get(name) != today[name]]
    if changed:
        name = changed[0]
        return f"{run['task']} with {name} {then.get(name)}, which is {today[name]} here"
    return None

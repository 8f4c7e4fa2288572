"""Where results come from: the sources that a study keeps, each of the results that follow it."""

import subprocess
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from pangaea.study.study import Study

ORIGIN = ("command", "commit", "versions", "search")


def commit() -> str | None:
    """Of the checkout that this package is run from, if it is one."""
    folder = Path(__file__).parents[2]
    with suppress(OSError, subprocess.SubprocessError):
        if (folder / ".git").exists():
            told = ("git", "-C", str(folder), "describe", "--always", "--dirty", "--exclude", "*")
            return subprocess.check_output(told, text=True, stderr=subprocess.DEVNULL).strip()
    return None


def begin(study: Study, source: Mapping[str, Any]) -> None:
    """From here on results have this source; recipes of one that is the same are joined.

    A source without recipes is of runs with the recipe of the study's task.
    """
    sources = study.noted("sources", [])
    last, recipes = (sources[-1] if sources else {}), source.get("recipes", {})
    known = last.get("recipes", {})
    same = bool(sources) and all(last.get(name) == source.get(name) for name in ORIGIN)
    if same and all(known.get(k, v) == v for k, v in recipes.items()):
        if recipes:
            sources[-1] = last | {"recipes": known | recipes}
    else:
        sources.append({"after": study.last, **source})
    study.note("sources", sources)


def source_of(study: Study, position: int, sources: list[dict[str, Any]]) -> dict[str, Any]:
    """The last one that began before the result came; a search has but itself."""
    before = [source for source in sources if source["after"] < position]
    search = study.path.stem if study.proposed() else None
    itself = {"command": None, "commit": None, "versions": study.versions, "search": search}
    return before[-1] if before else itself

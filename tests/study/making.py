"""Small studies, made in a moment."""

from pathlib import Path
from typing import Any

from pangaea.study.search import search
from pangaea.study.settings import Settings
from pangaea.study.study import Study
from tests.study.judges import instant

RECIPES = {"search": {"epochs": 2}, "full": {"epochs": 4}}
RUN = {"function": "x", "seed": 0, "seconds": 1.0, "finished": 1.0}


def created(path: Path, **given: Any) -> Study:
    """A new study, to be written."""
    return Study.create(path, Settings(**{"candidates": 5} | given), RECIPES, 10)


def searched(path: Path, **given: Any) -> None:
    """A whole search, closed."""
    how = {"candidates": 6, "runs": 1, "workers": 0, "judge": instant} | given
    search("mnist1d", study=path, **how).close()

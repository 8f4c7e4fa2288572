"""Rooms of the package with a folder more, so that a test can add a file to them."""

import importlib
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pangaea import networks
from pangaea.data import sets
from pangaea.evolution import strategies


def forget() -> None:
    """What was found in the rooms is looked for again."""
    importlib.invalidate_caches()
    for remembered in (networks._known, sets.data_sets, strategies.strategies):
        remembered.cache_clear()


def extend(package: str, folder: Path) -> None:
    """The files of a folder are files of the package, from now on."""
    importlib.import_module(package).__path__.append(str(folder))
    forget()


@contextmanager
def extended(package: str, folder: Path) -> Iterator[None]:
    """The files of a folder are files of the package, for a while."""
    extend(package, folder)
    try:
        yield
    finally:
        room = importlib.import_module(package)
        room.__path__.remove(str(folder))
        for file in folder.glob("*.py"):
            sys.modules.pop(f"{package}.{file.stem}", None)
            vars(room).pop(file.stem, None)
        forget()

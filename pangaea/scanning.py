"""Rooms that are added to by adding a file: what the modules of a package declare."""

from collections.abc import Iterator
from importlib import import_module
from pkgutil import iter_modules
from types import ModuleType


def modules(package: str) -> Iterator[ModuleType]:
    """Every module that lies in a package's folder, in the order of their names."""
    folders = import_module(package).__path__
    for name in sorted(module.name for module in iter_modules(folders)):
        yield import_module(f"{package}.{name}")

"""Objects by where they stand: `file.py:name` or `module:name`."""

import importlib
import importlib.util
import socket
import sys
import traceback
from functools import cache
from pathlib import Path
from types import ModuleType

from pangaea.errors import PangaeaError, UnknownNameError

_LOADING: list[Path] = []


def locate(text: str) -> object:
    """The object of this name in a file or module, which is loaded once in a process."""
    place, _, name = text.rpartition(":")
    if not place or not name:
        raise PangaeaError(f"{text!r} is not file.py:name or module:name")
    module = _file(Path(place).expanduser().resolve()) if place.endswith(".py") else _module(place)
    if not hasattr(module, name):
        public = [key for key in vars(module) if not key.startswith("_")]
        raise UnknownNameError(f"object in {place}", name, public)
    value: object = getattr(module, name)
    return value


def settled(text: str) -> str:
    """The same place from any working directory: a file's whole path."""
    place, colon, name = text.rpartition(":")
    if colon and place.endswith(".py"):
        return f"{Path(place).expanduser().resolve()}:{name}"
    return text


@cache
def _file(path: Path) -> ModuleType:
    if not path.is_file():
        raise PangaeaError(f"there is no file {path} on {socket.gethostname()}")
    name = f"pangaea_{abs(hash(str(path))):x}_{path.stem}"
    specification = importlib.util.spec_from_file_location(name, path)
    if specification is None or specification.loader is None:
        raise PangaeaError(f"{path} cannot be loaded as Python")
    module = importlib.util.module_from_spec(specification)
    sys.modules[name] = module
    if str(path.parent) not in sys.path:  # its neighbours, as for a script
        sys.path.insert(0, str(path.parent))
    _LOADING.append(path)
    try:
        specification.loader.exec_module(module)
    except (Exception, SystemExit) as error:
        del sys.modules[name]
        raise _theirs(str(path), error) from error
    finally:
        _LOADING.pop()
    return module


def loading() -> Path | None:
    """The file that is being loaded now."""
    return _LOADING[-1] if _LOADING else None


def _module(name: str) -> ModuleType:
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name is not None and name.startswith(error.name):
            raise PangaeaError(
                f"there is no module {name} here: name a file such as my_task.py:task, or put its "
                "folder on PYTHONPATH"
            ) from None
        raise _theirs(name, error) from error
    except (Exception, SystemExit) as error:
        raise _theirs(name, error) from error


def _theirs(place: str, error: BaseException) -> PangaeaError:
    """An error of the user's own code, with the line of it."""
    frames = traceback.extract_tb(error.__traceback__)
    line = next((f.lineno for f in reversed(frames) if f.filename == place), None)
    where = "" if line is None else f", line {line}"
    if isinstance(error, PangaeaError):
        return PangaeaError(f"{place}{where}: {error}")
    return PangaeaError(f"{place} cannot be loaded: {type(error).__name__}: {error}{where}")

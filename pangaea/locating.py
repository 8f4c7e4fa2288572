"""Objects of the user's by where they stand, `file.py:name` or `module:name`; how to call them."""

import importlib
import importlib.util
import inspect
import socket
import sys
import traceback
from functools import cache
from hashlib import sha256
from pathlib import Path
from types import ModuleType
from typing import Any

from pangaea.errors import PangaeaError, UnknownNameError, UserCodeError

_LOADING: list[Path] = []
_OURS = Path(__file__).parent


def locate(text: str) -> Any:
    """The object that `file.py:name` or `module:name` names; its code runs once in a process."""
    where, colon, name = text.rpartition(":")
    if not colon or not where or not name:
        raise PangaeaError(f"{text!r} names nothing: write file.py:name or module:name")
    if where.endswith(".py"):
        path = Path(where).expanduser().resolve()
        if not path.is_file():
            raise PangaeaError(f"there is no file {where} on {socket.gethostname()}")
        module = _from_file(path)
    else:
        module = _from_module(where)
    value: Any = module
    for part in name.split("."):
        if not hasattr(value, part):
            known = _names(module)
            if not known:
                raise PangaeaError(f"there is nothing in {where}, and so no {name}")
            raise UnknownNameError(f"object in {where}", name, known)
        value = getattr(value, part)
    return value


def signature(function: Any) -> inspect.Signature:
    """How to call it. From Python 3.14 on its annotations may name what only type checkers see."""
    if sys.version_info >= (3, 14):
        from annotationlib import Format

        return inspect.signature(function, annotation_format=Format.FORWARDREF)
    return inspect.signature(function)


def settled(text: str) -> str:
    """The same place from any working directory: a file by its whole path."""
    where, colon, name = text.rpartition(":")
    if colon and where.endswith(".py"):
        return f"{Path(where).expanduser().resolve()}:{name}"
    return text


def _names(module: ModuleType) -> list[str]:
    """What the module makes public, other modules aside."""
    members = vars(module).items()
    return [n for n, v in members if not n.startswith("_") and not isinstance(v, ModuleType)]


@cache
def _from_file(path: Path) -> ModuleType:
    # Two files of one name are two modules; the same file is the same in every process.
    name = f"{path.stem}_{sha256(str(path).encode()).hexdigest()[:8]}"
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    if str(path.parent) not in sys.path:  # its neighbours, now and later, as for a script
        sys.path.insert(0, str(path.parent))
    _LOADING.append(path)
    try:
        spec.loader.exec_module(module)
    except (Exception, SystemExit) as error:
        del sys.modules[name]
        raise PangaeaError(user_error(error, path.name)) from error
    finally:
        _LOADING.pop()
    return module


def loading() -> Path | None:
    """The file whose code runs now because something in it was asked for."""
    return _LOADING[-1] if _LOADING else None


def _from_module(name: str) -> ModuleType:
    folder = str(Path.cwd())
    sys.path.insert(0, folder)
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name is not None and (name == error.name or name.startswith(error.name + ".")):
            raise PangaeaError(
                f"there is no module {name}, here or installed; a file is named file.py:name"
            ) from error
        raise PangaeaError(user_error(error, name)) from error
    except (Exception, SystemExit) as error:
        raise PangaeaError(user_error(error, name)) from error
    finally:
        sys.path.remove(folder)


def user_error(error: BaseException, where: str) -> str:
    """A sentence on an error in the user's own code: what it was, and the line."""
    reason = " ".join(str(error).split())
    if isinstance(error, SyntaxError) and error.filename is not None:
        place = f"{Path(error.filename).name}, line {error.lineno}"
        return f"{where} is not Python: {error.msg} ({place}: {(error.text or '').strip()})"
    if not _theirs(error):
        return reason
    last = _theirs(error)[-1]
    place = f" ({Path(last.filename).name}, line {last.lineno}: {last.line})"
    if Path(last.filename).is_relative_to(_OURS):
        place = ""  # our call of something that cannot be called so
    return f"the code of {where} fails: {type(error).__name__}: {reason}{place}"


def user_code_error(doing: str, error: BaseException, where: str) -> UserCodeError:
    """An error in the user's own code while something was done with it, with their traceback."""
    theirs = _theirs(error)
    if not theirs:
        return UserCodeError(f"{doing}: {error}", user_error(error, where))
    lines = traceback.format_list(theirs) + traceback.format_exception_only(error)
    return UserCodeError(f"{doing}:\n\n{''.join(lines).rstrip()}", user_error(error, where))


def _theirs(error: BaseException) -> list[traceback.FrameSummary]:
    """The lines outside torch, Python and ourselves are where the user can do something.

    There are none where a sentence of ours is about what they gave us, such as their data.
    """
    frames = [*traceback.extract_tb(error.__traceback__)]
    outside = [f for f in frames if not Path(f.filename).is_relative_to(_OURS)]
    theirs = [f for f in frames if not _is_library(f.filename)]
    return theirs if theirs or isinstance(error, PangaeaError) else outside or frames


def _is_library(filename: str) -> bool:
    library = Path(importlib.util.__file__).parents[1]
    path = Path(filename)
    return (
        filename.startswith("<")
        or "site-packages" in path.parts
        or path.is_relative_to(library)
        or path.is_relative_to(_OURS)
    )

"""The kernels of the CPU: compiled once by the system's C compiler, kept on disk, loaded.

A machine without a compiler, or whose CPU cannot do what the kernels need, goes without them.
"""

import contextlib
import ctypes
import functools
import hashlib
import os
import platform
import shlex
import shutil
import stat
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from pangaea.activation.cpu import fits
from pangaea.files import cache_folder, replacing

# Infinity and NaN keep their meaning; what is left out is C's account of errors. Integers may wrap
# around where a lane is not used.
_FLAGS = (
    *("-O3", "-march=native", "-fno-math-errno", "-fno-trapping-math", "-fwrapv"),
    *("-std=gnu11", "-fPIC", "-shared"),
)
_SOURCES = ("program.c", "functions.h", "units.h", "operators.h")
_SECONDS = 120.0  # 1.3 s are usual


@functools.cache
def library() -> ctypes.CDLL | None:
    """The kernels of the activation functions, or none where they cannot be had."""
    texts = {name: Path(__file__).with_name(name).read_text("utf-8") for name in _SOURCES}
    # Nothing is contracted that is not written so: u·v − u·v is 0.
    kernels = compiled(texts | {"fits.h": fits.header()}, "-ffp-contract=off")
    return None if kernels is None else _declared(kernels)


def compiled(texts: Mapping[str, str], *flags: str) -> ctypes.CDLL | None:
    """The library of these files, of which the first includes the others; none without compiler."""
    # Whatever is wrong with the compiler or the disk, torch's operators do the same.
    with contextlib.suppress(OSError, subprocess.SubprocessError):
        compiler = _compiler()
        if compiler is None:
            return None
        command = [*compiler, *_FLAGS, *flags]
        path = _folder() / f"{_key(command, texts)}.so"
        if not _ours(path):
            _compile(command, texts, path)
        return ctypes.CDLL(str(path))
    return None


def _compiler() -> list[str] | None:
    """The one that CC names, as usual, or the system's."""
    named = shlex.split(os.environ.get("CC", ""))
    names = named[:1] or ("cc", "gcc", "clang")
    path = next(filter(None, map(shutil.which, names)), None)
    return None if path is None or sys.platform == "win32" else [path, *named[1:]]


def _key(command: Sequence[str], texts: Mapping[str, str]) -> str:
    """Of everything that the library depends on: text, compiler, and what this CPU can do."""
    cpu = [platform.machine(), platform.processor()]
    with contextlib.suppress(OSError):
        lines = Path("/proc/cpuinfo").read_text("utf-8").splitlines()
        cpu += sorted({line for line in lines if line.startswith(("flags", "Features", "model"))})
    file = Path(command[0]).stat()
    facts = [*command, file.st_size, file.st_mtime_ns, *cpu, *texts.values()]
    return hashlib.sha256(repr(facts).encode()).hexdigest()[:32]


def _compile(command: Sequence[str], texts: Mapping[str, str], path: Path) -> None:
    with tempfile.TemporaryDirectory() as folder:
        for name, text in texts.items():
            Path(folder, name).write_text(text, "utf-8")
        whole = [*command, "-o", "kernels.so", next(iter(texts))]
        subprocess.run(whole, cwd=folder, check=True, capture_output=True, timeout=_SECONDS)
        with replacing(path) as file:  # processes that start at once do not see half of it
            os.fchmod(file.fileno(), 0o600)  # whatever the umask: what others may write is not ours
            file.write(Path(folder, "kernels.so").read_bytes())


def _folder() -> Path:
    """Where compiled kernels are kept: nobody else can put anything there."""
    with contextlib.suppress(OSError, RuntimeError):
        folder = cache_folder() / "kernels"
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        if _ours(folder):
            return folder
    return Path(_temporary().name)


@functools.cache
def _temporary() -> tempfile.TemporaryDirectory[str]:
    """For this process alone."""
    return tempfile.TemporaryDirectory(prefix="pangaea-kernels-")


def _ours(path: Path) -> bool:
    """Is it there, not a link, this user's, and can nobody else write to it?"""
    try:
        status = path.lstat()
    except OSError:
        return False
    shared = status.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
    return status.st_uid == os.getuid() and not shared and not stat.S_ISLNK(status.st_mode)


def _declared(kernels: ctypes.CDLL) -> ctypes.CDLL:
    pointer, long, number = ctypes.c_void_p, ctypes.c_long, ctypes.c_int
    program, where = (pointer, number), (long, long, long, pointer, number, long, long)
    kernels.forward.argtypes = (*program, pointer, pointer, *where)
    kernels.backward.argtypes = (*program, pointer, pointer, pointer, pointer, *where)
    kernels.operator_name.restype = ctypes.c_char_p
    return kernels


def operators(kernels: ctypes.CDLL) -> dict[str, int]:
    """The numbers of the operators, by their names."""
    numbers: dict[str, int] = {}
    while name := kernels.operator_name(len(numbers)):
        numbers[name.decode()] = len(numbers)
    return numbers

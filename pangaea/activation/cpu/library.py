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
from collections.abc import Sequence
from pathlib import Path

from pangaea.activation.cpu import fits
from pangaea.files import cache_folder, replacing

# Infinity and NaN keep their meaning; what is left out is C's account of errors. Nothing is
# contracted that is not written so, and integers may wrap around where a lane is not used.
_FLAGS = (
    *("-O3", "-march=native", "-ffp-contract=off", "-fno-math-errno", "-fno-trapping-math"),
    *("-fwrapv", "-std=gnu11", "-fPIC", "-shared"),
)
_SOURCES = ("program.c", "functions.h", "units.h", "operators.h")
_SECONDS = 120.0  # 1.3 s are usual


@functools.cache
def library() -> ctypes.CDLL | None:
    """The kernels, or none where they cannot be had."""
    # Whatever is wrong with the compiler or the disk, the operators in torch do the same.
    with contextlib.suppress(OSError, subprocess.SubprocessError, AttributeError):
        compiler = _compiler()
        return None if compiler is None else _declared(_loaded(compiler))
    return None


def _compiler() -> list[str] | None:
    """The one that CC names, as usual, or the system's."""
    named = shlex.split(os.environ.get("CC", ""))
    names = named[:1] or ("cc", "gcc", "clang")
    path = next(filter(None, map(shutil.which, names)), None)
    return None if path is None or sys.platform == "win32" else [path, *named[1:]]


def _loaded(compiler: Sequence[str]) -> ctypes.CDLL:
    texts = {name: Path(__file__).with_name(name).read_text("utf-8") for name in _SOURCES}
    texts["fits.h"] = fits.header()
    path = _folder() / f"{_key(compiler, texts)}.so"
    if not _ours(path):
        _compile(compiler, texts, path)
    return ctypes.CDLL(str(path))


def _key(compiler: Sequence[str], texts: dict[str, str]) -> str:
    """Of everything that the library depends on: text, compiler, and what this CPU can do."""
    cpu = [platform.machine(), platform.processor()]
    with contextlib.suppress(OSError):
        lines = Path("/proc/cpuinfo").read_text("utf-8").splitlines()
        cpu += sorted({line for line in lines if line.startswith(("flags", "Features", "model"))})
    file = Path(compiler[0]).stat()
    facts = [*compiler, file.st_size, file.st_mtime_ns, *_FLAGS, *cpu, *texts.values()]
    return hashlib.sha256(repr(facts).encode()).hexdigest()[:32]


def _compile(compiler: Sequence[str], texts: dict[str, str], path: Path) -> None:
    with tempfile.TemporaryDirectory() as folder:
        for name, text in texts.items():
            Path(folder, name).write_text(text, "utf-8")
        command = [*compiler, *_FLAGS, "-o", "kernels.so", "program.c"]
        subprocess.run(command, cwd=folder, check=True, capture_output=True, timeout=_SECONDS)
        with replacing(path) as file:  # processes that start at once do not see half of it
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
        found = path.lstat()
    except OSError:
        return False
    shared = found.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
    return found.st_uid == os.getuid() and not shared and not stat.S_ISLNK(found.st_mode)


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

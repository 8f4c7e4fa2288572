"""Bytes of the Python standard library's own source: text that is on every machine.

The files exist in Python 3.11 to 3.14. What they say differs from one release to the next, so
scores are to be compared under one `digest` alone.
"""

import hashlib
import sysconfig
from functools import cache
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from pangaea.errors import PangaeaError

FILES = {
    "training": (
        *("argparse.py", "ast.py", "base64.py", "calendar.py", "codecs.py", "configparser.py"),
        *("contextlib.py", "csv.py", "dataclasses.py", "difflib.py", "doctest.py", "enum.py"),
        *("fractions.py", "ftplib.py", "functools.py", "gettext.py", "gzip.py", "heapq.py"),
        *("imaplib.py", "inspect.py", "ipaddress.py", "locale.py", "mailbox.py", "mimetypes.py"),
        *("optparse.py", "os.py", "pdb.py", "pickle.py", "pickletools.py", "platform.py"),
        *("plistlib.py", "poplib.py", "pprint.py", "profile.py", "pydoc.py", "random.py"),
        *("selectors.py", "shutil.py", "site.py", "smtplib.py", "socket.py", "socketserver.py"),
        *("statistics.py", "subprocess.py", "tarfile.py", "textwrap.py", "threading.py"),
        *("timeit.py", "tokenize.py", "trace.py", "typing.py", "uuid.py", "weakref.py"),
    ),
    "validation": ("cmd.py", "fileinput.py", "pkgutil.py", "tempfile.py", "traceback.py"),
    "test": ("bdb.py", "compileall.py", "netrc.py", "pstats.py", "ssl.py", "wave.py"),
}


@cache
def text(part: str) -> bytes:
    """The files of one part, one after another."""
    return b"".join(_read(name) for name in FILES[part])


@cache
def digest() -> str:
    """What tells one release's files from another's."""
    return hashlib.sha256(
        b"".join(hashlib.sha256(text(part)).digest() for part in FILES)
    ).hexdigest()


def symbols(part: str) -> Tensor:
    """The bytes of one part as numbers."""
    return torch.from_numpy(np.frombuffer(text(part), dtype=np.uint8).copy())


def windows(part: str, length: int, count: int) -> Tensor:
    """Stretches (count, length) that lie evenly in one part."""
    values = symbols(part)
    starts = torch.linspace(0, len(values) - length, count).long()
    return values[starts[:, None] + torch.arange(length)].long()


def _read(name: str) -> bytes:
    path = Path(sysconfig.get_path("stdlib"), name)
    try:
        return path.read_bytes().replace(b"\r\n", b"\n")
    except OSError as error:
        raise PangaeaError(
            f"{path} cannot be read ({error.strerror or error}): this Python comes without the "
            "source of its standard library; use one from python.org or your system's packages"
        ) from error

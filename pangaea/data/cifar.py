"""CIFAR-10 and CIFAR-100 in their official binary layout: rows of labels and 3072 bytes."""

import errno
import hashlib
import shutil
import tarfile
import tempfile
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from http.client import HTTPException, IncompleteRead
from io import BufferedRandom
from pathlib import Path
from urllib.error import HTTPError
from urllib.request import urlopen

import numpy as np

from pangaea.data.sets import Arrays, DataSet, Pair
from pangaea.errors import PangaeaError
from pangaea.files import are_here, data_folder, replacing

SHAPE = (3, 32, 32)
_CHUNK = 2**18
_PATIENCE_SECONDS = 30.0  # with a server that says nothing


@dataclass(frozen=True, kw_only=True)
class Archive:
    """One release: where it is published, and the rows of each file in it."""

    name: str
    url: str
    md5: str
    folder: str
    train: Mapping[str, int]
    test: Mapping[str, int]
    label_bytes: int  # the last of them is the label
    classes: int

    @property
    def files(self) -> tuple[str, ...]:
        """All of them, as they lie in the data folder."""
        return tuple(f"{self.folder}/{file}" for file in (*self.train, *self.test))

    def path(self, file: str) -> Path:
        """Where a file of this archive is expected."""
        return data_folder() / self.folder / file

    def size(self, rows: int) -> int:
        """The bytes of a file with that many rows."""
        return rows * (self.label_bytes + 3072)

    @property
    def by_hand(self) -> str:
        """What a person can do where the download does not work."""
        return (
            f"download {self.url} elsewhere and unpack it in {data_folder()}, "
            f"or set PANGAEA_DATA to the folder that holds {self.folder}"
        )


def load(archive: Archive) -> Arrays:
    """The images and labels, downloaded first where they are not here."""
    if not are_here(archive.files):
        download(archive)
    return Arrays(train=_read(archive, archive.train), test=_read(archive, archive.test))


def download(archive: Archive) -> None:
    """Puts the archive's files in the data folder, each only when it is whole."""
    try:
        data_folder().mkdir(parents=True, exist_ok=True)
        # A file without a name: whoever is killed half-way leaves nothing behind.
        with tempfile.TemporaryFile(dir=data_folder()) as packed:
            _fetch(archive, packed)
            _unpack(archive, packed)
    except OSError as error:
        raise PangaeaError(
            f"{archive.name} cannot be written to {data_folder()}: {error.strerror or error}; "
            + (
                "make 400 MB of room there, or set PANGAEA_DATA to another folder"
                if error.errno in (errno.ENOSPC, errno.EDQUOT)
                else "set PANGAEA_DATA to a folder that may be written"
            )
        ) from error


def _fetch(archive: Archive, packed: BufferedRandom) -> None:
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TransferSpeedColumn

    columns = ("{task.description}", BarColumn(), DownloadColumn(), TransferSpeedColumn())
    with Progress(*columns, console=Console(stderr=True, emoji=False), transient=True) as progress:
        bar = progress.add_task(f"Downloading {archive.name}", total=None)
        for chunk, total in _received(archive):
            packed.write(chunk)
            progress.update(bar, advance=len(chunk), total=total)
    packed.seek(0)
    digest = hashlib.file_digest(packed, partial(hashlib.md5, usedforsecurity=False)).hexdigest()
    if digest != archive.md5:
        raise PangaeaError(
            f"what came from {archive.url} is not {archive.name}: its MD5 is {digest}, not the "
            f"published {archive.md5}; try again, or {archive.by_hand}"
        )


def _received(archive: Archive) -> Iterator[tuple[bytes, int | None]]:
    """What comes, piece by piece, and how much it will be if that is known."""
    try:
        with urlopen(archive.url, timeout=_PATIENCE_SECONDS) as response:
            promised = response.headers["Content-Length"]
            total = None if promised is None else int(promised)
            size = 0
            while chunk := response.read(_CHUNK):
                size += len(chunk)
                yield chunk, total
            if total is not None and size < total:
                raise IncompleteRead(b"", total - size)
    except (OSError, HTTPException) as error:
        if isinstance(error, HTTPError):
            error.close()  # it is the answer, too
        # Why a server could not be reached is an error inside the error.
        cause = getattr(error, "reason", None)
        why = type(cause if isinstance(cause, Exception) else error).__name__
        raise PangaeaError(
            f"{archive.path(next(iter(archive.train)))} is not there, and {archive.name} could "
            f"not be downloaded ({why}){_misplaced(archive)}: {archive.by_hand}"
        ) from error


def _unpack(archive: Archive, packed: BufferedRandom) -> None:
    packed.seek(0)
    try:
        with tarfile.open(fileobj=packed, mode="r:gz") as tar:
            for file, rows in {**archive.train, **archive.test}.items():
                member = tar.getmember(f"{archive.folder}/{file}")
                content = tar.extractfile(member)
                if content is None or member.size != archive.size(rows):
                    raise PangaeaError(
                        f"{file} in {archive.url} must have {archive.size(rows):,} bytes, "
                        f"but has {member.size:,}; {archive.by_hand}"
                    )
                with replacing(archive.path(file)) as unpacked:
                    shutil.copyfileobj(content, unpacked)
    except (tarfile.TarError, KeyError, EOFError, zlib.error) as error:
        raise PangaeaError(
            f"the archive from {archive.url} cannot be unpacked: {error}; {archive.by_hand}"
        ) from error


def _misplaced(archive: Archive) -> str:
    folder, file = data_folder(), next(iter(archive.train))
    pickled = archive.folder.replace("-binary", "-python").replace("-bin", "-py")
    packed = archive.url.rpartition("/")[2]
    wrong = {
        file: f"{file} lies directly in {folder}, not in its folder {archive.folder}",
        packed: f"{packed} lies in {folder}, not yet unpacked",
        pickled: f"{folder / pickled} is the Python version, not the binary one needed here",
    }
    return "".join(f"; {text}" for name, text in wrong.items() if (folder / name).exists())


def _read(archive: Archive, files: Mapping[str, int]) -> Pair:
    images, labels = [], []
    for file, count in files.items():
        path = archive.path(file)
        try:
            content = np.fromfile(path, dtype=np.uint8)
        except OSError as error:
            raise PangaeaError(
                f"{path} cannot be read: {error.strerror or error}; "
                f"make it readable, or set PANGAEA_DATA to another folder"
            ) from error
        if content.size != archive.size(count):
            raise PangaeaError(
                f"{path} must have {archive.size(count):,} bytes, but has {content.size:,}; "
                "delete it and run again"
            )
        rows = content.reshape(count, -1)
        label = rows[:, archive.label_bytes - 1]
        if label.max() >= archive.classes:
            raise PangaeaError(
                f"{path} must have labels 0–{archive.classes - 1}, but has {label.max()}; "
                "delete it and run again"
            )
        labels.append(label)
        images.append(rows[:, archive.label_bytes :].reshape(count, *SHAPE))
    return np.concatenate(images), np.concatenate(labels).astype(np.int64)


CIFAR10_ARCHIVE = Archive(
    name="CIFAR-10",
    url="https://www.cs.toronto.edu/~kriz/cifar-10-binary.tar.gz",
    md5="c32a1d4ab5d03f1284b67883e8d87530",
    folder="cifar-10-batches-bin",
    train={f"data_batch_{i}.bin": 10_000 for i in range(1, 6)},
    test={"test_batch.bin": 10_000},
    label_bytes=1,
    classes=10,
)

CIFAR100_ARCHIVE = Archive(
    name="CIFAR-100",
    url="https://www.cs.toronto.edu/~kriz/cifar-100-binary.tar.gz",
    md5="03b5dce01913d631647c71ecec9e9cb8",
    folder="cifar-100-binary",
    train={"train.bin": 50_000},
    test={"test.bin": 10_000},
    label_bytes=2,  # coarse, then fine
    classes=100,
)

CIFAR10 = DataSet(
    name="cifar10",
    classes=10,
    shape=SHAPE,
    sizes=(45_000, 5_000, 10_000),
    validation_per_class=500,
    load=partial(load, CIFAR10_ARCHIVE),
    files=CIFAR10_ARCHIVE.files,
)

CIFAR100 = DataSet(
    name="cifar100",
    classes=100,
    shape=SHAPE,
    sizes=(45_000, 5_000, 10_000),
    validation_per_class=50,
    load=partial(load, CIFAR100_ARCHIVE),
    files=CIFAR100_ARCHIVE.files,
)

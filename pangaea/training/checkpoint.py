"""Checkpoints: written aside, synced, renamed, checksummed, the previous one kept."""

import hashlib
import io
import json
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any

import torch

from pangaea.errors import PangaeaError
from pangaea.files import replacing

_HEADER = b"pangaea checkpoint 1\n"


def check(folder: Path) -> None:
    """Raise if nothing can be kept there: before a run, not after its first two minutes."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise PangaeaError(
            f"no checkpoints can be kept in {folder}: {error.strerror or error}; choose another "
            "folder"
        ) from error


def save(path: Path, identity: dict[str, Any], state: dict[str, Any]) -> None:
    """Keep a state under `path`; the one before it stays beside it."""
    buffer = io.BytesIO()
    torch.save({"identity": json.dumps(identity, sort_keys=True), "state": state}, buffer)
    payload = buffer.getvalue()
    whole = False
    with suppress(PangaeaError):
        whole = _read(path) is not None
    try:
        if whole:  # a damaged one must not take the place of the one before it
            path.replace(_previous(path))
        with replacing(path) as file:
            file.write(_HEADER + hashlib.sha256(payload).hexdigest().encode() + b"\n")
            file.write(payload)
    except OSError as error:
        raise PangaeaError(
            f"the checkpoint {path} could not be written: {error.strerror or error}; "
            "make room there, or choose another folder, and start the same run again"
        ) from error


def load(path: Path, identity: dict[str, Any]) -> dict[str, Any] | None:
    """The last whole state kept under `path`, or None."""
    for candidate in (path, _previous(path)):
        saved = _read(candidate)
        if saved is None:
            continue
        if saved["identity"] != json.dumps(identity, sort_keys=True):
            raise PangaeaError(
                f"{candidate} belongs to another run ({saved['identity']}); choose another folder"
            )
        state = saved.get("state")
        if not isinstance(state, dict):
            raise unusable(candidate, f"its state is a {type(state).__name__}")
        return state
    return None


def remove(path: Path) -> None:
    """Leave nothing of a run's checkpoints: these two files, and their folder if it was theirs."""
    for kept in (path, _previous(path)):
        with suppress(OSError):
            kept.unlink()
    with suppress(OSError):  # whatever else is in it is not ours
        path.parent.rmdir()


def _previous(path: Path) -> Path:
    return path.with_name(path.name + ".previous")


def _read(path: Path) -> dict[str, Any] | None:
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise PangaeaError(f"{path} cannot be read: {error.strerror or error}") from error
    checksum, _, payload = content.removeprefix(_HEADER).partition(b"\n")
    whole = content.startswith(_HEADER)
    if not whole or hashlib.sha256(payload).hexdigest().encode() != checksum:
        return None  # cut off or damaged: the one before it is whole
    try:
        saved = torch.load(io.BytesIO(payload), weights_only=True, map_location="cpu")
    except Exception as error:  # whatever torch thinks of what is in it
        raise unusable(path, error) from error
    if not isinstance(saved, dict) or not isinstance(saved.get("identity"), str):
        raise unusable(path, f"it holds a {type(saved).__name__}")
    return saved


def unusable(path: Path, why: object) -> PangaeaError:
    """That a whole file has something in it that no run has written."""
    short = " ".join(ascii(str(why)).split())[1:-1][:120]
    return PangaeaError(
        f"{path} is not a checkpoint of this run ({short}): delete it, or choose another folder"
    )

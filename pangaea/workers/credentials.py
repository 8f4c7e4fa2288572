"""A key and a certificate made for one run: who has not got them, workers do not listen to."""

import contextlib
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pangaea.errors import PangaeaError


def in_memory() -> Any:
    """Dask's `Security` for processes of this machine, which are handed it by their parent."""
    from distributed.security import Security

    try:
        return Security.temporary()  # type: ignore[no-untyped-call]
    except ImportError:
        raise PangaeaError(
            "workers need the package cryptography, so that nobody else can use them: "
            "pip install cryptography, or search with --workers 0"
        ) from None


@contextlib.contextmanager
def in_files(folder: Path) -> Iterator[Any]:
    """The same for processes of other machines that see the folder; gone when the block ends."""
    from distributed.security import Security

    memory = in_memory()
    # Nobody else may enter such a folder, nor read its files.
    with tempfile.TemporaryDirectory(prefix=".pangaea-key-", dir=folder) as private:
        certificate, key = Path(private) / "cert.pem", Path(private) / "key.pem"
        for file, text in ((certificate, memory.tls_ca_file), (key, memory.tls_worker_key)):
            file.touch(mode=0o600)
            file.write_text(text)
        pairs = {
            f"tls_{role}_{part}": str(file)
            for role in ("scheduler", "worker", "client")
            for part, file in (("cert", certificate), ("key", key))
        }
        everywhere = {"require_encryption": True, "tls_ca_file": str(certificate)}
        yield Security(**everywhere, **pairs)  # type: ignore[no-untyped-call]

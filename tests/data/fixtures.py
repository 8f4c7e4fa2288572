"""The real CIFAR-100, where it is at hand beside the repository."""

import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

SHARED = Path(__file__).parents[3] / "shared" / "data"


@pytest.fixture(scope="session")
def cifar_folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A data folder with CIFAR-100 in it, one for each worker process."""
    packed = [*SHARED.glob("cifar100_*.zip"), *SHARED.glob("label_names.json")]
    if len(packed) != 4 or not (SHARED / "unpack.py").exists():
        pytest.skip(f"the real CIFAR-100 is not in {SHARED}")
    folder, zips = tmp_path_factory.mktemp("data"), tmp_path_factory.mktemp("zips")
    for path in packed:  # unpack.py writes only the data set whose zips it finds
        (zips / path.name).symlink_to(path)
    subprocess.run([sys.executable, SHARED / "unpack.py", folder, zips], check=True)
    yield folder
    shutil.rmtree(folder)  # pytest keeps the folders of three sessions: 180 MB each


@pytest.fixture(scope="session")
def cifar10_folder(cifar_folder: Path) -> Path:
    """The same folder, with CIFAR-10 in it, too."""
    packed = [*SHARED.glob("cifar10_*.zip")]
    if len(packed) != 3:
        pytest.skip(f"the real CIFAR-10 is not in {SHARED}")
    with TemporaryDirectory() as zips:
        for path in packed:
            (Path(zips) / path.name).symlink_to(path)
        subprocess.run([sys.executable, SHARED / "unpack.py", cifar_folder, zips], check=True)
    return cifar_folder

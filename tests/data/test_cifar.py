import errno
import hashlib
import io
import os
import shutil
import signal
import subprocess
import sys
import tarfile
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import numpy as np
import pytest

from pangaea.data import cifar
from pangaea.data import sets as data
from pangaea.data.cifar import CIFAR10_ARCHIVE, CIFAR100_ARCHIVE, Archive
from pangaea.errors import PangaeaError
from pangaea.files import are_here

RNG_SEED = 20


def test_a_tenth_of_the_training_images_is_held_out_as_many_of_each_class() -> None:
    for made in (cifar.CIFAR10, cifar.CIFAR100):
        assert made.sizes == (45_000, 5_000, 10_000)
        assert made.classes * (made.validation_per_class or 0) == 5_000


@dataclass
class Server:
    """A web server on this machine: what it serves, and where it stops half-way."""

    address: str = ""
    content: dict[str, bytes] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)
    half_sent: threading.Event = field(default_factory=threading.Event)
    go_on: threading.Event | None = None


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    state = Server()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            state.asked.append(self.path)
            if self.path not in state.content:
                self.send_error(404)
                return
            content = state.content[self.path]
            self.send_response(200)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content[: len(content) // 2])
            self.wfile.flush()
            state.half_sent.set()
            if state.go_on is not None and not state.go_on.wait(60):
                return
            self.wfile.write(content[len(content) // 2 :])

        def log_message(self, *arguments: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as served:
        thread = threading.Thread(target=served.serve_forever, args=(0.01,))
        thread.start()
        state.address = f"http://127.0.0.1:{served.server_port}"
        yield state
        served.shutdown()
        thread.join()


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("PANGAEA_DATA", str(tmp_path / "data"))
    return tmp_path / "data"


def rows(archive: Archive, file: str) -> bytes:
    """The rows of a file, drawn, with labels in range."""
    count = {**archive.train, **archive.test}[file]
    rng = np.random.default_rng([RNG_SEED, *file.encode()])
    content = rng.integers(0, 256, (count, archive.label_bytes + 3072), dtype=np.uint8)
    content[:, : archive.label_bytes] %= archive.classes
    return content.tobytes()


def publish(server: Server, archive: Archive, **changed: bytes | None) -> Archive:
    """A small archive like the given one, served; a file may be changed or left out."""
    small = replace(
        archive,
        train=dict.fromkeys(archive.train, 6),
        test=dict.fromkeys(archive.test, 4),
    )
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as tar:
        for file in (*small.train, *small.test, "readme.html"):
            content = b"read me" if file == "readme.html" else rows(small, file)
            content = changed.get(file.partition(".")[0], content)
            if content is not None:
                member = tarfile.TarInfo(f"{small.folder}/{file}")
                member.size = len(content)
                tar.addfile(member, io.BytesIO(content))
    name = archive.url.rpartition("/")[2]
    server.content[f"/{name}"] = packed.getvalue()
    return replace(
        small, url=f"{server.address}/{name}", md5=hashlib.md5(packed.getvalue()).hexdigest()
    )


def put(folder: Path, archive: Archive) -> Archive:
    """A small archive like the given one, in its place in the data folder."""
    small = publish(Server(), archive)
    for file in (*small.train, *small.test):
        path = folder / small.folder / file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(rows(small, file))
    return small


def everything(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


def expected(archive: Archive) -> list[str]:
    return sorted(f"{archive.folder}/{file}" for file in (*archive.train, *archive.test))


BOTH = pytest.mark.parametrize(
    "official", [CIFAR10_ARCHIVE, CIFAR100_ARCHIVE], ids=lambda a: a.name
)


@BOTH
def test_an_archive_not_here_is_downloaded_once_and_only_its_data_files_kept(
    official: Archive, server: Server, folder: Path
) -> None:
    archive = publish(server, official)
    assert not are_here(archive.files)
    first = cifar.load(archive)
    assert are_here(archive.files)
    assert everything(folder) == expected(archive)
    second = cifar.load(archive)
    assert len(server.asked) == 1
    assert np.array_equal(first.train[0], second.train[0])


@BOTH
def test_every_pixel_and_label_stands_where_the_layout_says(
    official: Archive, folder: Path
) -> None:
    archive = put(folder, official)
    arrays = cifar.load(archive)
    for (images, labels), files in ((arrays.train, archive.train), (arrays.test, archive.test)):
        raw = b"".join(rows(archive, file) for file in files)
        width = archive.label_bytes + 3072
        assert images.shape == (sum(files.values()), 3, 32, 32)
        assert images.dtype == np.uint8
        assert labels.dtype == np.int64
        for row in range(len(images)):
            assert labels[row] == raw[row * width + archive.label_bytes - 1]
            start = row * width + archive.label_bytes
            assert images[row, 0, 0, 0] == raw[start]
            assert images[row, 1, 2, 3] == raw[start + 1024 + 2 * 32 + 3]
            assert images[row].tobytes() == raw[start : start + 3072]


def test_the_published_archives_are_the_official_ones() -> None:
    sizes = {
        file: archive.size(count)
        for archive in (CIFAR10_ARCHIVE, CIFAR100_ARCHIVE)
        for file, count in {**archive.train, **archive.test}.items()
    }
    batches = [*(f"data_batch_{i}.bin" for i in range(1, 6)), "test_batch.bin"]
    assert sizes == {
        **dict.fromkeys(batches, 30_730_000),
        "train.bin": 153_700_000,
        "test.bin": 30_740_000,
    }
    for archive, url, md5 in (
        (CIFAR10_ARCHIVE, "cifar-10-binary.tar.gz", "c32a1d4ab5d03f1284b67883e8d87530"),
        (CIFAR100_ARCHIVE, "cifar-100-binary.tar.gz", "03b5dce01913d631647c71ecec9e9cb8"),
    ):
        assert archive.url == f"https://www.cs.toronto.edu/~kriz/{url}"
        assert archive.md5 == md5


def test_another_checksum_is_refused_and_nothing_kept(server: Server, folder: Path) -> None:
    archive = replace(publish(server, CIFAR100_ARCHIVE), md5="0" * 32)
    with pytest.raises(PangaeaError, match=r"MD5 is \w{32}, not the published 0{32}; try again"):
        cifar.load(archive)
    assert everything(folder) == []


@pytest.mark.parametrize("train", [b"short", None], ids=["truncated", "missing"])
def test_an_archive_with_a_wrong_file_is_refused(
    train: bytes | None, server: Server, folder: Path
) -> None:
    archive = publish(server, CIFAR100_ARCHIVE, train=train)
    with pytest.raises(PangaeaError, match=r"train\.bin.*(18,444 bytes, but has 5|not found)"):
        cifar.load(archive)
    assert everything(folder) == []


def test_an_archive_that_is_no_archive_is_refused(server: Server, folder: Path) -> None:
    archive = publish(server, CIFAR100_ARCHIVE)
    page = b"<html>log in first</html>"
    server.content = dict.fromkeys(server.content, page)
    archive = replace(archive, md5=hashlib.md5(page).hexdigest())
    with pytest.raises(PangaeaError, match="cannot be unpacked"):
        cifar.load(archive)
    assert everything(folder) == []


def test_a_link_in_an_archive_is_not_followed(server: Server, folder: Path, tmp_path: Path) -> None:
    archive = publish(server, CIFAR100_ARCHIVE)
    outside = tmp_path / "outside"
    outside.write_bytes(rows(archive, "train.bin"))
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as tar:
        member = tarfile.TarInfo(f"{archive.folder}/train.bin")
        member.type, member.linkname = tarfile.SYMTYPE, str(outside)
        tar.addfile(member)
    server.content = dict.fromkeys(server.content, packed.getvalue())
    with pytest.raises(PangaeaError, match="cannot be unpacked"):
        cifar.load(replace(archive, md5=hashlib.md5(packed.getvalue()).hexdigest()))
    assert everything(folder) == []


def test_without_network_one_sentence_says_what_to_do(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    # Port 9 (discard) is closed on any machine of today.
    archive = replace(CIFAR100_ARCHIVE, url="http://127.0.0.1:9/cifar-100-binary.tar.gz")
    with pytest.raises(PangaeaError) as raised:
        cifar.load(archive)
    assert str(raised.value) == (
        f"{folder}/cifar-100-binary/train.bin is not there, and CIFAR-100 could not be downloaded "
        "(ConnectionRefusedError): download http://127.0.0.1:9/cifar-100-binary.tar.gz elsewhere "
        f"and unpack it in {folder}, or set PANGAEA_DATA to the folder that holds cifar-100-binary"
    )
    assert everything(folder) == []


def test_a_page_that_is_gone_is_one_sentence(server: Server, folder: Path) -> None:
    archive = replace(CIFAR10_ARCHIVE, url=f"{server.address}/gone")
    with pytest.raises(PangaeaError, match=r"could not be downloaded \(HTTPError\)"):
        cifar.load(archive)


def test_a_download_that_breaks_off_is_one_sentence_and_leaves_nothing(
    server: Server, folder: Path
) -> None:
    archive = publish(server, CIFAR100_ARCHIVE)
    server.go_on = threading.Event()
    server.go_on.wait = lambda timeout=None: False  # type: ignore[method-assign]
    with pytest.raises(PangaeaError, match="could not be downloaded"):
        cifar.load(archive)
    assert everything(folder) == []
    server.go_on = None
    assert len(cifar.load(archive).train[1]) == 6


@BOTH
@pytest.mark.parametrize(
    ("where", "sentence"),
    [
        ("{file}", "{file} lies directly in {folder}, not in its folder {binary}"),
        ("{python}/train", "{folder}/{python} is the Python version, not the binary one needed"),
        ("{archive}", "{archive} lies in {folder}, not yet unpacked"),
    ],
)
def test_data_in_the_wrong_place_is_pointed_out(
    official: Archive, where: str, sentence: str, server: Server, folder: Path
) -> None:
    names = {
        "folder": str(folder),
        "binary": official.folder,
        "file": next(iter(official.train)),
        "python": {"CIFAR-10": "cifar-10-batches-py", "CIFAR-100": "cifar-100-python"}[
            official.name
        ],
        "archive": official.url.rpartition("/")[2],
    }
    misplaced = folder / where.format(**names)
    misplaced.parent.mkdir(parents=True)
    misplaced.touch()
    archive = replace(official, url=f"{server.address}/{names['archive']}")
    with pytest.raises(PangaeaError) as raised:
        cifar.load(archive)
    assert sentence.format(**names) in str(raised.value)


def test_a_truncated_file_is_named_and_deleting_it_mends_it(server: Server, folder: Path) -> None:
    archive = publish(server, CIFAR100_ARCHIVE)
    whole = cifar.load(archive)
    path = folder / "cifar-100-binary" / "test.bin"
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(PangaeaError) as raised:
        cifar.load(archive)
    assert str(raised.value) == (
        f"{path} must have 12,296 bytes, but has 12,295; delete it and run again"
    )
    path.unlink()
    assert np.array_equal(cifar.load(archive).test[0], whole.test[0])


@BOTH
def test_a_label_out_of_range_is_named(official: Archive, folder: Path) -> None:
    archive = put(folder, official)
    path = archive.path(next(iter(archive.train)))
    content = bytearray(path.read_bytes())
    content[archive.label_bytes - 1] = archive.classes
    path.write_bytes(content)
    with pytest.raises(PangaeaError, match=f"{path.name} must have labels 0–.*delete it"):
        cifar.load(archive)


def test_a_file_that_cannot_be_read_is_one_sentence(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    archive = put(folder, CIFAR100_ARCHIVE)

    def refuse(*arguments: object, **more: object) -> None:
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))

    monkeypatch.setattr(np, "fromfile", refuse)
    with pytest.raises(PangaeaError, match=r"train\.bin cannot be read: Permission denied; make"):
        cifar.load(archive)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may enter any folder")
def test_a_folder_that_may_not_be_entered_is_one_sentence(server: Server, folder: Path) -> None:
    archive = publish(server, CIFAR100_ARCHIVE)
    folder.mkdir()
    folder.chmod(0)
    try:
        assert not are_here(archive.files)
        with pytest.raises(PangaeaError, match=r"cannot be written .* may be written"):
            cifar.load(archive)
    finally:
        folder.chmod(0o700)


def test_a_data_folder_that_is_a_file_is_one_sentence(server: Server, folder: Path) -> None:
    folder.touch()
    archive = publish(server, CIFAR100_ARCHIVE)
    assert not are_here(archive.files)
    with pytest.raises(PangaeaError, match=f"CIFAR-100 cannot be written to {folder}: File exists"):
        cifar.load(archive)


def test_a_full_disk_is_one_sentence_and_leaves_nothing(
    server: Server, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    archive = publish(server, CIFAR100_ARCHIVE)

    def fill(source: io.BufferedReader, sink: io.BufferedWriter) -> None:
        sink.write(source.read(100))
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(shutil, "copyfileobj", fill)
    with pytest.raises(PangaeaError, match="No space left on device; make 400 MB of room"):
        cifar.load(archive)
    assert everything(folder) == []


def test_a_process_killed_while_downloading_leaves_nothing_behind(
    server: Server, folder: Path
) -> None:
    archive = publish(server, CIFAR100_ARCHIVE)
    server.go_on = threading.Event()
    script = (
        "from pangaea.data import cifar\n"
        "from pangaea.data.cifar import Archive\n"
        f"cifar.load({archive!r})\n"
    )
    with subprocess.Popen([sys.executable, "-c", script]) as process:
        assert server.half_sent.wait(60)
        process.send_signal(signal.SIGKILL)
    server.go_on.set()
    server.go_on = None
    assert everything(folder) == []
    assert not are_here(archive.files)
    assert len(cifar.load(archive).train[1]) == 6


def test_a_process_killed_while_unpacking_leaves_nothing_that_is_used(
    server: Server, folder: Path
) -> None:
    archive = publish(server, CIFAR10_ARCHIVE)
    whole = cifar.load(archive)
    # Killed in the third of six files: two whole, one aside and half-written.
    for file in list({**archive.train, **archive.test})[2:]:
        archive.path(file).unlink()
    archive.path(".data_batch_3.bin-0123").write_bytes(b"half")
    assert not are_here(archive.files)
    again = cifar.load(archive)
    assert np.array_equal(again.train[0], whole.train[0])
    assert np.array_equal(again.test[1], whole.test[1])


def test_several_downloads_at_once_do_not_disturb_each_other(server: Server, folder: Path) -> None:
    archive = publish(server, CIFAR10_ARCHIVE)
    with ThreadPoolExecutor(4) as pool:
        loaded = list(pool.map(cifar.load, [archive] * 4))
    assert all(np.array_equal(arrays.train[0], loaded[0].train[0]) for arrays in loaded)
    assert everything(folder) == expected(archive)


def test_the_download_shows_its_progress_on_standard_error(
    server: Server,
    folder: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.setenv("TTY_COMPATIBLE", "1")
    monkeypatch.setenv("FORCE_COLOR", "1")
    archive = publish(server, CIFAR100_ARCHIVE)
    cifar.load(archive)
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "Downloading CIFAR-100" in captured.err


def test_the_real_cifar100_is_the_official_one_in_the_official_order(
    cifar_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PANGAEA_DATA", str(cifar_folder))
    assert cifar.CIFAR100.here()
    assert not cifar.CIFAR10.here()
    arrays = cifar.CIFAR100.load()
    # The digests of shared/data/README.md, whose images have their channels last.
    for (images, labels), pixels, fine in (
        (arrays.train, "4e457917601a66ae", "9f11b9f97aad759b"),
        (arrays.test, "4cb8e5d9309da489", "4dad7d09c7c97d33"),
    ):
        digest = hashlib.sha256(np.ascontiguousarray(images.transpose(0, 2, 3, 1)))
        assert digest.hexdigest().startswith(pixels)
        digest = hashlib.sha256(labels.astype(np.uint8))
        assert digest.hexdigest().startswith(fine)


def test_the_real_cifar100_is_split_45000_to_5000_as_it_always_was(
    cifar_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PANGAEA_DATA", str(cifar_folder))
    training, validation = data.split(cifar.CIFAR100, seed=0)
    test = data.test_data(cifar.CIFAR100)
    assert (len(training), len(validation), len(test)) == cifar.CIFAR100.sizes
    assert validation.labels.bincount().tolist() == [50] * 100
    # A change here makes every stored study's validation accuracy mean something else.
    digest = hashlib.sha256(validation.inputs.numpy()).hexdigest()
    assert digest.startswith("c3669eafed60de0c")
    found = data.normalization(training)
    assert found.mean.flatten().tolist() == pytest.approx([0.5071, 0.4867, 0.4411], abs=1e-4)
    assert found.std.flatten().tolist() == pytest.approx([0.2673, 0.2564, 0.2763], abs=1e-4)

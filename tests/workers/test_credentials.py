"""Nobody but the driver and its workers gets in."""

import os
import ssl
import stat
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest
from distributed import Client
from distributed.security import Security

from pangaea.errors import PangaeaError
from pangaea.workers import cluster, credentials
from pangaea.workers.place import Place
from tests.study.driving import REPOSITORY
from tests.study.fixtures import ByHand


def intrusion(trace: Path, ports: list[int]) -> list[str]:
    """How each attempt of another process ended."""
    command = [sys.executable, "-m", "tests.workers.intruder", str(trace), *map(str, ports)]
    done = subprocess.run(
        command, cwd=REPOSITORY, capture_output=True, text=True, check=True, timeout=300
    )
    return done.stdout.split()


def ports_heard() -> list[int]:
    """Where the processes of a search listen."""
    return [
        connection.laddr.port
        for process in [psutil.Process(), *psutil.Process().children(recursive=True)]
        for connection in process.net_connections(kind="inet")
        if connection.status == psutil.CONN_LISTEN
    ]


@pytest.fixture(scope="module")
def local() -> Iterator[Any]:
    with cluster.client(Place(workers=1)) as client:
        yield client


@pytest.mark.usefixtures("local")
def test_another_process_cannot_run_anything_anywhere(tmp_path: Path) -> None:
    ports = ports_heard()
    assert len(ports) >= 3  # the scheduler, a worker and its nanny; and their pages
    trace = tmp_path / "trace"
    assert intrusion(trace, ports) == ["refused"] * 4 * len(ports)
    assert not trace.exists()


def test_the_same_process_gets_in_where_nobody_is_asked(tmp_path: Path, by_hand: ByHand) -> None:
    """Or the test above would show nothing."""
    trace = tmp_path / "trace"
    assert "answered" in intrusion(trace, [int(by_hand.address.rsplit(":", 1)[1])])
    assert trace.is_dir()


@pytest.mark.parametrize("protocol", ["tls", "tcp"])
def test_another_client_is_refused_with_or_without_credentials(local: Any, protocol: str) -> None:
    address = local.scheduler_info()["address"]
    assert address.startswith("tls://")
    security = Security.temporary() if protocol == "tls" else None
    stranger = address.replace("tls", protocol)
    with pytest.raises(OSError, match="://"):
        Client(stranger, loop=local.loop, security=security, timeout=1, set_as_default=False)


@pytest.mark.usefixtures("local")
def test_there_are_no_pages() -> None:
    statuses = []
    for port in ports_heard():
        try:
            urllib.request.urlopen(f"http://127.0.0.1:{port}/info/main/workers.html", timeout=5)
        except urllib.error.HTTPError as error:
            statuses.append(error.code)
        except OSError:
            pass  # it speaks TLS alone
        else:
            statuses.append(200)
    assert set(statuses) == {404}


def test_the_files_are_for_their_owner_alone_and_end_with_the_block(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        with credentials.in_files(tmp_path) as security:
            (folder,) = tmp_path.iterdir()
            modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in folder.iterdir()}
            assert modes == {"cert.pem": 0o600, "key.pem": 0o600}
            assert stat.S_IMODE(folder.stat().st_mode) == 0o700
            for role in ("scheduler", "worker", "client"):
                listening = security.get_listen_args(role)
                assert listening["ssl_context"].verify_mode == ssl.CERT_REQUIRED
                assert listening["require_encryption"]
            assert "PRIVATE KEY" not in repr(security)
    finally:
        os.umask(before)
    assert list(tmp_path.iterdir()) == []


def test_each_run_has_its_own() -> None:
    one, other = credentials.in_memory(), credentials.in_memory()
    assert one.tls_worker_key != other.tls_worker_key


def test_without_cryptography_its_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "cryptography", None)
    with pytest.raises(PangaeaError, match="pip install cryptography"):
        credentials.in_memory()


@pytest.mark.parametrize("where", [None, "slurm", "htcondor", "tls://10.0.0.1:8786"])
def test_nothing_is_said_of_places_that_ask_for_certificates(where: str | None) -> None:
    assert cluster.exposed(where) is None


@pytest.mark.parametrize("where", ["tcp://10.0.0.1:8786", "ws://10.0.0.1:8786"])
def test_a_scheduler_that_asks_nobody_is_told_of_in_one_sentence(where: str) -> None:
    sentence = cluster.exposed(where)
    assert sentence is not None
    assert f"whoever can reach {where} can run programs as you" in sentence
    assert "\n" not in sentence

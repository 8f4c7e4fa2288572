"""The live page: what is new and nothing else, for nobody but its owner, and in nobody's way."""

import contextlib
import gzip
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from pangaea.errors import PangaeaError
from pangaea.report import formats
from pangaea.report.page.dashboard import Dashboard, news
from pangaea.report.records import opened
from pangaea.study.study import Study, Wanted
from tests.study.driving import until
from tests.study_maker import Maker, make

Answer = tuple[int, dict[str, str], bytes]


@contextlib.contextmanager
def running(*paths: Path, host: str = "127.0.0.1") -> Iterator[Dashboard]:
    with Dashboard(paths, host, 0) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()


def get(server: Dashboard, path: str, **headers: str) -> Answer:
    url = f"http://127.0.0.1:{server.server_address[1]}{path}"
    try:
        with urllib.request.urlopen(
            urllib.request.Request(url, headers=headers), timeout=30
        ) as got:
            return got.status, dict(got.headers), got.read()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, dict(error.headers), error.read()


def data(server: Dashboard, since: str = "", study: int = 0) -> Any:
    status, _, body = get(server, f"/data?study={study}&since={urllib.parse.quote(since)}")
    return None if status == 204 else json.loads(body)


def test_the_page_is_the_report_and_nothing_is_sent_twice(paths: dict[str, Path]) -> None:
    with running(paths["finished"]) as server:
        status, headers, body = get(server, "/")
        assert (status, headers["Content-Type"]) == (200, "text/html; charset=utf-8")
        assert b'"live":true' in body
        whole = data(server)
        assert whole["whole"] is True
        assert len(whole["rows"]) == 60
        assert data(server, whole["tag"]) is None


def test_only_what_is_new_is_sent_of_a_study_that_grows(tmp_path: Path) -> None:
    with Maker(tmp_path / "a.study", candidates=30) as maker, running(tmp_path / "a.study") as on:
        before = data(on)
        assert before["rows"] == []
        maker.baseline()
        maker.search(10)
        first = data(on, before["tag"])
        assert len(first["rows"]) == 10
        maker.search(5)
        second = data(on, first["tag"])
        assert second["whole"] is False
        assert [row[0] for row in second["rows"]] == [11, 12, 13, 14, 15]
        assert second["headline"]["state"] == "15 of 30 candidates"
        assert data(on, second["tag"]) is None


def test_results_that_come_while_a_page_is_made_are_sent_once(tmp_path: Path) -> None:
    path = tmp_path / "a.study"
    with Maker(path, candidates=30) as maker:
        maker.baseline()
        maker.search(10)
        with opened(path) as first:
            maker.search(5)
            seen = json.loads(news([first], 0, "") or "")
        with opened(path) as second:
            second.table()
            maker.search(5)
            rest = json.loads(news([second], 0, seen["tag"]) or "")
        with opened(path) as third:
            last = json.loads(news([third], 0, rest["tag"]) or "")
    numbers = [row[0] for part in (seen, rest, last) for row in part["rows"]]
    assert numbers == list(range(1, 21))


def test_a_study_that_took_the_place_of_another_is_sent_whole(tmp_path: Path) -> None:
    path = make(tmp_path / "a.study", 8)
    with running(path) as server:
        tag = data(server)["tag"]
        path.unlink()
        assert "there is no study at" in data(server, tag)["error"]
        make(path, 20, done=12, seed=1)
        fresh = data(server, tag)
    assert fresh["whole"] is True
    assert len(fresh["rows"]) == 12


@pytest.mark.parametrize("since", ["", "x", "1/2/3,,", "9/-1", "9/²", "," * 300, "٣/٣"])
def test_a_tag_that_means_nothing_gets_the_whole_study(since: str, paths: dict[str, Path]) -> None:
    with running(paths["running"]) as server:
        assert len(data(server, since)["rows"]) == 20


def test_several_studies_can_be_asked_for(paths: dict[str, Path]) -> None:
    with running(paths["finished"], paths["running"]) as server:
        assert len(data(server, study=0)["rows"]) == 60
        assert len(data(server, study=1)["rows"]) == 20
        for wrong in ("2", "-1", "-9", "x"):
            assert get(server, f"/data?study={wrong}")[0] == 404
        assert get(server, "/../../etc/passwd")[0] == 404


def test_the_driver_writes_on_while_the_dashboard_reads(tmp_path: Path) -> None:
    path = tmp_path / "a.study"
    with running(make(tmp_path / "other.study", 5), path_of(path)) as server:
        stop = threading.Event()

        def read() -> None:
            while not stop.is_set():
                data(server, study=1)

        readers = [threading.Thread(target=read) for _ in range(2)]
        with Study.resume(path) as driver:
            for reader in readers:
                reader.start()
            slowest = 0.0
            for number in range(60):
                began = time.monotonic()
                with driver.transaction():
                    wanted = Wanted("test", None, "x", "t", None, 1, number, "test")
                    asked = driver.ask(wanted)
                    driver.record(asked.number, {"score": 1.0, "seconds": 1, "finished": 1})
                slowest = max(slowest, time.monotonic() - began)
            stop.set()
            for reader in readers:
                reader.join()
    # A reader in the way would cost the busy time-out of 30 seconds.
    assert slowest < 10
    assert not path.with_name("a.study-wal").exists()


def path_of(path: Path) -> Path:
    return make(path, 30, done=10)


def test_the_dashboard_changes_nothing(tmp_path: Path) -> None:
    path = make(tmp_path / "a.study", 10)
    before = (path.read_bytes(), path.stat().st_mtime_ns)
    with running(path) as server:
        get(server, "/")
        data(server)
    assert (path.read_bytes(), path.stat().st_mtime_ns) == before
    assert [p.name for p in tmp_path.iterdir()] == ["a.study"]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become somebody else")
def test_somebody_who_may_only_read_sees_a_running_study(tmp_path: Path) -> None:
    path = tmp_path / "a.study"
    above = [folder for folder in tmp_path.parents if folder.name.startswith(("pytest-", "popen-"))]
    for folder in (tmp_path, *above):
        folder.chmod(0o755)
    look = (
        "import os, sys; from pangaea.report.page.dashboard import Dashboard, news, opened;"
        "look = lambda: len(news([opened(sys.argv[1])], 0, ''));"
        "before = look(); os.setgid(65534); os.setuid(65534);"
        "print(os.access(sys.argv[1], os.W_OK), os.access(sys.argv[2], os.W_OK));"
        "print(Dashboard([sys.argv[1]], port=0).server_port > 0, look() == before > 1000)"
    )
    with Maker(path) as maker:
        maker.baseline()
        maker.search(5)
        for file in tmp_path.iterdir():
            file.chmod(0o644)
        seen = subprocess.run(
            [sys.executable, "-c", look, path, tmp_path],
            capture_output=True,
            text=True,
            timeout=300,
        )
    assert seen.stdout.split() == ["False", "False", "True", "True"], seen.stderr


def test_another_sites_name_for_this_machine_is_refused(paths: dict[str, Path]) -> None:
    with running(paths["empty"]) as server:
        for host in ("evil.example", "evil.example:80", "127.0.0.1.evil.example", "", "[::2]:1"):
            assert get(server, "/data", Host=host)[0] == 403, host
        for host in ("localhost", "localhost:1234", "127.0.0.1", "[::1]:99"):
            assert get(server, "/data", Host=host)[0] == 200, host


def test_beyond_this_machine_a_token_is_needed(paths: dict[str, Path]) -> None:
    with running(paths["empty"], host="0.0.0.0") as server:
        assert server.token is not None
        assert len(server.token) >= 32
        assert server.url.endswith(f"/?token={server.token}")
        for wrong in ("/", "/data", "/?token=", "/?token=x", "/?token=%C3%A9", "/nothing"):
            status, _, body = get(server, wrong)
            assert status == 403, wrong
            assert server.token.encode() not in body
        right = f"token={server.token}"
        assert get(server, f"/?{right}")[0] == 200
        assert get(server, f"/data?{right}", Host="a.example")[0] == 200
    with Dashboard([paths["empty"]], port=0) as other:
        assert other.token is None


def said(server: Dashboard, request: bytes) -> bytes:
    """What it answers to these bytes, until it closes the connection."""
    host, port = server.server_address[:2]
    with socket.create_connection((str(host), int(port)), timeout=30) as connection:
        connection.sendall(request)
        connection.shutdown(socket.SHUT_WR)
        return b"".join(iter(lambda: connection.recv(1 << 16), b""))


@pytest.mark.parametrize(
    "line",
    [
        *(
            b"",
            b"GET",
            b"nonsense",
            b"GET / HTTP/one",
            b"GET / / HTTP/1.1",
            b"\xff\xfe / HTTP/1.1 x",
        ),
        *(b"GET http://[ HTTP/1.1", b"GET / FTP/1.1", b"PUT /"),
    ],
)
def test_a_line_that_is_no_request_is_a_bad_one(line: bytes, paths: dict[str, Path]) -> None:
    with running(paths["empty"]) as server:
        answer = said(server, line + b"\r\nHost: localhost\r\n\r\n")
    assert answer.split(b"\r\n")[0].split()[:2] in ([b"HTTP/1.1", b"400"], [b"HTTP/1.0", b"400"])


def test_head_is_get_without_its_body(paths: dict[str, Path]) -> None:
    with running(paths["empty"]) as server:
        for path in ("/", "/data", "/nothing"):
            head, got = (
                said(server, f"{how} {path} HTTP/1.0\r\nHost: localhost\r\n\r\n".encode())
                for how in ("HEAD", "GET")
            )
            headers, body = got.split(b"\r\n\r\n", 1)
            plain = [line for line in head.split(b"\r\n") if not line.startswith(b"Date")]
            assert plain == [
                *(line for line in headers.split(b"\r\n") if not line.startswith(b"Date")),
                *(b"", b""),
            ]
            assert f"Content-Length: {len(body)}".encode() in headers


def test_there_are_never_more_threads_than_it_may_have(paths: dict[str, Path]) -> None:
    with running(paths["empty"]) as server, contextlib.ExitStack() as stack:
        before = threading.active_count()
        address = ("127.0.0.1", server.server_address[1])
        silent = [
            stack.enter_context(socket.create_connection(address, timeout=30)) for _ in range(60)
        ]
        answers = [connection.recv(100) for connection in silent[32:]]  # without having asked
        assert threading.active_count() - before == 32
        assert all(answer.startswith(b"HTTP/1.1 503") for answer in answers)
        for connection in silent:
            connection.close()
        until(lambda: threading.active_count() == before)
        assert get(server, "/data")[0] == 200


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "127.0.0.2", "::1", "0.0.0.0", "::"])
def test_an_address_that_it_prints_is_one_that_it_answers(
    host: str, paths: dict[str, Path]
) -> None:
    if ":" in host and not has_ipv6():
        pytest.skip("this machine has no IPv6")
    with (
        running(paths["empty"], host=host) as server,
        urllib.request.urlopen(server.url, timeout=30) as answer,
    ):
        assert answer.status == 200


def has_ipv6() -> bool:
    try:
        with socket.create_server(("::1", 0), family=socket.AF_INET6):
            return True
    except OSError:
        return False


def test_a_machine_without_a_name_prints_its_address(
    paths: dict[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(socket, "gethostname", lambda: "no-such-name.invalid")
    with Dashboard([paths["empty"]], "0.0.0.0", 0) as server:
        assert server.url.startswith("http://127.0.0.1:")


def test_another_address_of_this_machine_is_not_a_name_for_it(paths: dict[str, Path]) -> None:
    with running(paths["empty"], host="127.0.0.1") as server:
        assert get(server, "/data", Host="127.0.0.2")[0] == 403


def test_a_study_that_went_bad_is_a_page_that_says_so(tmp_path: Path) -> None:
    path = make(tmp_path / "<b>.study", 8)
    content = path.read_bytes()
    with running(path) as server:
        for bad, why in (
            (b"precious", "is not a study of pangaea"),
            (content[:5000], "is damaged"),
            (None, "there is no study at"),
        ):
            path.write_bytes(bad) if bad else path.unlink()
            status, headers, body = get(server, "/")
            assert (status, headers["Content-Type"]) == (503, "text/html; charset=utf-8")
            assert why in body.decode()
            assert b"&lt;b&gt;.study" in body
            assert b"<b>" not in body
            assert why in data(server)["error"]
        path.write_bytes(content)
        assert get(server, "/")[0] == 200


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "127.0.0.2"])
def test_on_this_machine_there_is_no_token(host: str, paths: dict[str, Path]) -> None:
    with Dashboard([paths["empty"]], host, 0) as server:
        assert server.token is None


def test_large_answers_are_compressed_for_those_who_ask(paths: dict[str, Path]) -> None:
    with running(paths["finished"]) as server:
        _, headers, packed = get(server, "/data", **{"Accept-Encoding": "gzip"})
        assert headers["Content-Encoding"] == "gzip"
        assert gzip.decompress(packed) == get(server, "/data")[2]
        assert headers["Cache-Control"] == "no-store"


def test_what_cannot_be_shown_is_said_before_anything_is_served(
    paths: dict[str, Path], tmp_path: Path
) -> None:
    with pytest.raises(PangaeaError, match="there is no study at"):
        Dashboard([tmp_path / "none.study"])
    with (
        Dashboard([paths["empty"]], port=0) as first,
        pytest.raises(PangaeaError, match=r"cannot listen on 127\.0\.0\.1:\d+: Address already"),
    ):
        Dashboard([paths["empty"]], port=first.server_address[1])


def test_ctrl_c_closes_it_cleanly(paths: dict[str, Path]) -> None:
    program = (
        "import sys; from pangaea.report.page.dashboard import serve; serve(sys.argv[1:], port=0)"
    )
    process = subprocess.Popen(
        [sys.executable, "-u", "-c", program, paths["finished"]],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    line = process.stdout.readline()
    assert line.startswith("dashboard at http://127.0.0.1:")
    with urllib.request.urlopen(line.split()[2]) as answer:
        assert answer.status == 200
    process.send_signal(signal.SIGINT)
    rest, complaints = process.communicate(timeout=300)
    assert (process.returncode, rest, complaints) == (0, "closed\n", "")


@pytest.mark.parametrize("port", [None, 0])
@pytest.mark.parametrize("host", ["nohost.invalid", "192.0.2.1"])
def test_a_host_that_is_not_here_is_a_sentence(
    host: str, port: int | None, paths: dict[str, Path]
) -> None:
    with pytest.raises(PangaeaError, match=rf"cannot listen on {host}.*of this machine"):
        Dashboard([paths["empty"]], host, port)


def test_a_study_whose_name_is_not_utf_8_is_shown(tmp_path: Path) -> None:
    path = make(tmp_path / os.fsdecode(b"\xff.study"), 10)
    with running(path) as server:
        assert data(server)["path"].endswith(r"\udcff.study")
    for kind in formats.FORMATS:
        assert formats.write([path], tmp_path / kind, kind).encode()

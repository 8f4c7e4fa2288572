"""The live page: reads studies while they grow, writes nothing, and stops nothing when closed."""

import contextlib
import errno
import gzip
import hmac
import html
import ipaddress
import json
import secrets
import socket
import sys
import threading
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from socketserver import TCPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

from pangaea.errors import PangaeaError
from pangaea.report.page import document as page
from pangaea.report.records import Snapshot, opened, tag
from pangaea.study.study import Study

PORT = 8765
_COMPRESSED = 50_000  # bytes; what is smaller is sent as it is
_NAMES = ("localhost", "127.0.0.1", "[::1]")
_AT_ONCE = 32  # connections, each with a thread; a page that is looked at has up to six
_BUSY = b"HTTP/1.1 503 Service Unavailable\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"


def serve(
    studies: Sequence[Path | str],
    host: str = "127.0.0.1",
    port: int | None = None,
    say: Callable[[str], None] = print,
) -> None:
    """Serve until Ctrl-C."""
    with Dashboard(studies, host, port) as server:
        say(f"dashboard at {server.url} (Ctrl-C closes it; a search goes on without it)")
        try:
            server.serve_forever()
        except KeyboardInterrupt:
            say("closed")


class Dashboard(ThreadingHTTPServer):
    """A server of one page and its data; beyond this machine it asks for a token."""

    daemon_threads = True
    block_on_close = False
    request_queue_size = _AT_ONCE

    def __init__(
        self, studies: Sequence[Path | str], host: str = "127.0.0.1", port: int | None = None
    ) -> None:
        self.paths = [Path(study) for study in studies]
        for path in self.paths:
            opened(path).close()  # what cannot be shown is said now
        self.token = None if _loopback(host) else secrets.token_urlsafe(24)
        self.turn = threading.Lock()  # one answer at a time: the cores belong to the search
        self._room = threading.BoundedSemaphore(_AT_ONCE)
        self.address_family = socket.AF_INET6 if ":" in host else socket.AF_INET
        try:
            super().__init__((host, PORT if port is None else port), _Answer)
        except OSError as error:
            if port is not None or error.errno != errno.EADDRINUSE:
                where = host if port is None else f"{host}:{port}"
                taken = error.errno == errno.EADDRINUSE
                remedy = "a host is a name or an address of this machine"
                if taken:
                    remedy = "choose another --port"
                raise PangaeaError(
                    f"cannot listen on {where}: {error.strerror}; {remedy}"
                ) from None
            super().__init__((host, 0), _Answer)

    def server_bind(self) -> None:
        """Without asking the network for the name of this machine, as HTTPServer does."""
        TCPServer.server_bind(self)
        self.server_name, self.server_port = str(self.server_address[0]), self.server_address[1]

    @property
    def url(self) -> str:
        host, port = str(self.server_address[0]), self.server_address[1]
        if host in ("0.0.0.0", "::"):
            host = _this_machine(host)
        query = f"?token={self.token}" if self.token else ""
        return f"http://{_bracketed(host)}:{port}/{query}"

    @property
    def names(self) -> set[str]:
        """What a browser of this machine may call it: its usual names, and the one it prints."""
        return {*_NAMES, _bracketed(str(self.server_address[0]))}

    def process_request(self, request: Any, client_address: Any) -> None:
        """In a thread, as long as there is room for one; nobody waits for room."""
        if self._room.acquire(blocking=False):
            try:
                super().process_request(request, client_address)
            except RuntimeError:  # there is room for no thread at all
                self._room.release()
                self.shutdown_request(request)
            return
        with contextlib.suppress(OSError):
            request.settimeout(0.1)
            request.sendall(_BUSY)
        self.shutdown_request(request)

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        try:
            super().process_request_thread(request, client_address)
        finally:
            self._room.release()

    def handle_error(self, request: Any, client_address: Any) -> None:
        if not isinstance(sys.exception(), ConnectionError):  # a page that was closed meanwhile
            super().handle_error(request, client_address)


def _bracketed(host: str) -> str:
    """As in an address: IPv6 stands in brackets."""
    return f"[{host}]" if ":" in host else host


def _this_machine(host: str) -> str:
    """A name under which others reach it, if it has one; its own address otherwise."""
    name = socket.gethostname()
    try:
        socket.getaddrinfo(name, None)
    except (OSError, UnicodeError):
        return "::1" if host == "::" else "127.0.0.1"
    return name


def _loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


class _Answer(BaseHTTPRequestHandler):
    server: Dashboard
    raw_requestline: bytes
    protocol_version = "HTTP/1.1"
    server_version, sys_version = "pangaea", ""
    default_request_version = "HTTP/1.0"  # of a line without one, so that it is answered in full
    timeout = 20  # seconds without a word

    def parse_request(self) -> bool:
        if self.raw_requestline.strip():
            return super().parse_request()
        self.requestline, self.command = "", ""
        self.request_version, self.close_connection = self.default_request_version, True
        self.send_error(HTTPStatus.BAD_REQUEST)
        return False

    def do_HEAD(self) -> None:
        self.do_GET()

    def do_GET(self) -> None:
        try:
            asked = urlsplit(self.path)
            query = {name: values[-1] for name, values in parse_qs(asked.query).items()}
        except ValueError:
            self._send(HTTPStatus.BAD_REQUEST, "text/plain", "This is no address.")
            return
        if not self._allowed(query.get("token", "")):
            self._send(HTTPStatus.FORBIDDEN, "text/plain", "This dashboard needs its own address.")
        elif asked.path == "/":
            self._page()
        elif asked.path == "/data":
            self._data(query)
        else:
            self._send(HTTPStatus.NOT_FOUND, "text/plain", "There is nothing here.")

    def _allowed(self, token: str) -> bool:
        if self.server.token is not None:
            return hmac.compare_digest(token.encode(), self.server.token.encode())
        # Another site's name that leads to this machine would let its pages read ours.
        host, names = self.headers.get("Host", ""), self.server.names
        return host.rsplit(":", 1)[0] in names or host in names

    def _page(self) -> None:
        try:
            with self.server.turn, ExitStack() as stack:
                text = page.document(self._studies(stack), live=True)
        except PangaeaError as error:
            self._send(
                HTTPStatus.SERVICE_UNAVAILABLE, "text/html", _SORRY % html.escape(f"{error}")
            )
            return
        self._send(HTTPStatus.OK, "text/html", text)

    def _data(self, query: dict[str, str]) -> None:
        """What is new since the page last asked, or 204."""
        try:
            number = int(query.get("study", "0"))
            path = dict(enumerate(self.server.paths))[number]
        except (ValueError, KeyError):
            self._send(HTTPStatus.NOT_FOUND, "text/plain", "There is no such study.")
            return
        try:
            since = query.get("since", "")
            with self.server.turn, ExitStack() as stack:
                if since and since == self._tag():
                    answer = None
                else:
                    answer = news(self._studies(stack), number, since)
        except PangaeaError as error:
            answer = json.dumps({"error": f"{path}: {error}"})
        if answer is None:
            self._send(HTTPStatus.NO_CONTENT, "application/json", "")
        else:
            self._send(HTTPStatus.OK, "application/json", answer)

    def _studies(self, stack: ExitStack) -> list[Snapshot]:
        return [stack.enter_context(opened(path)) for path in self.server.paths]

    def _tag(self) -> str:
        """What a page of all studies would be marked with, without reading them."""
        tags = []
        for path in self.server.paths:
            with Study.open(path, whole=False) as study:
                tags.append(tag(study))
        return ",".join(tags)

    def _send(self, status: HTTPStatus, kind: str, text: str) -> None:
        body = text.encode()
        self.send_response(status)
        if len(body) > _COMPRESSED and "gzip" in self.headers.get("Accept-Encoding", ""):
            body = gzip.compress(body, 1)
            self.send_header("Content-Encoding", "gzip")
        if status != HTTPStatus.NO_CONTENT:
            self.send_header("Content-Type", f"{kind}; charset=utf-8")
            self.send_header("Content-Length", str(len(body)))
        for name, value in _HEADERS.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        """A person asked for a dashboard, not for a log."""


# Shown in place of a study that cannot be read, until it can.
_SORRY = (
    '<!doctype html><meta charset="utf-8"><meta http-equiv="refresh" content="5">'
    "<title>pangaea</title><p>%s</p>"
)
_HEADERS = {
    "Cache-Control": "no-store",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
}


def news(studies: Sequence[Snapshot], number: int, since: str) -> str | None:
    """A study as the page shows it, of its candidates the new ones; None if nothing is new."""
    if since == page.tag(studies):
        return None
    study = studies[number]
    before = dict(part.split("/", 1) for part in since.split(",") if "/" in part)
    last = before.get(str(study.created), "")
    # Of another study, or of one that has lost runs since, the page knows nothing.
    known = int(last) if last.isdecimal() and int(last) <= study.last else 0
    return page.finite_json(page.report(study, studies, known) | {"whole": known == 0})

"""Progress: quiet lines in a file, a moving bar on a terminal."""

import io
import os
import pty
import re
import threading
from pathlib import Path
from types import SimpleNamespace

import pytest

from pangaea.report.terminal import progress


class Clock:
    """A time that passes when told to."""

    def __init__(self) -> None:
        self.now = 1000.0

    def monotonic(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    monkeypatch.setattr(progress, "time", SimpleNamespace(monotonic=made.monotonic))
    return made


def test_a_short_job_writes_nothing_to_a_file(clock: Clock) -> None:
    stream = io.StringIO()
    with progress.bar(stream, 10) as advance:
        for done in range(11):
            clock.now += 2.7
            advance(done, "relu(x)")
    assert stream.getvalue() == ""


def test_a_file_gets_a_line_every_half_minute_at_most(clock: Clock) -> None:
    stream = io.StringIO()
    with progress.bar(stream, 300) as advance:
        for second in range(1, 301):
            clock.now += 1
            advance(second, "relu(x)")
    lines = stream.getvalue().splitlines()
    assert len(lines) == 10
    assert lines[0] == "10% relu(x) (about 4 min left)"
    assert lines[4] == "50% relu(x) (about 2 min left)"
    assert lines[-1] == "100% relu(x) (about 0 s left)"


def test_a_file_gets_no_control_codes(clock: Clock) -> None:
    stream = io.StringIO()
    with progress.bar(stream, 1) as advance:
        for i in range(1, 20):
            clock.now += 31
            advance(i / 20, "[bold]α·x[/oops]")
    text = stream.getvalue()
    assert text.count("\n") == 19
    assert "[bold]α·x[/oops]" in text
    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f]", text)


def test_a_line_keeps_what_was_last_named(clock: Clock) -> None:
    stream = io.StringIO()
    with progress.bar(stream, 4) as advance:
        advance(1, "tanh(x)")
        clock.now += 60
        advance(2)
    assert stream.getvalue() == "50% tanh(x) (about 60 s left)\n"


def test_before_anything_is_done_no_time_is_guessed(clock: Clock) -> None:
    stream = io.StringIO()
    with progress.bar(stream, 4) as advance:
        clock.now += 60
        advance(0, "tanh(x)")
        assert stream.getvalue() == ""
        advance(1)
    assert stream.getvalue() == "25% tanh(x) (about 3 min left)\n"


def test_a_line_is_there_as_soon_as_it_is_written(clock: Clock, tmp_path: Path) -> None:
    path = tmp_path / "log"
    with path.open("w") as stream, progress.bar(stream, 2) as advance:
        clock.now += 40
        advance(1, "x")
        assert path.read_text() == "50% x (about 40 s left)\n"


def on_terminal(monkeypatch: pytest.MonkeyPatch, *, stop: bool = False) -> str:
    """What a terminal gets to see of a job that is half done, or breaks off there."""
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("COLUMNS", "100")
    for name in ("NO_COLOR", "FORCE_COLOR", "TTY_COMPATIBLE", "TTY_INTERACTIVE"):
        monkeypatch.delenv(name, raising=False)
    ours, theirs = pty.openpty()
    seen = bytearray()

    def read() -> None:
        while True:
            try:
                some = os.read(ours, 4096)
            except OSError:  # how Linux says that the other side is closed
                return
            if not some:
                return
            seen.extend(some)

    reader = threading.Thread(target=read)
    reader.start()
    try:
        with os.fdopen(theirs, "w") as stream, progress.bar(stream, 8) as advance:
            advance(1, "[b]α·x[/oops]")
            advance(2)
            advance(4)
            if stop:
                raise KeyboardInterrupt
    finally:
        reader.join(10)
        os.close(ours)
    return seen.decode()


def test_a_terminal_shows_how_far_and_how_long(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = on_terminal(monkeypatch)
    assert "\x1b[" in seen
    plain = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", seen)
    assert "50%" in plain
    assert re.search(r"ETA +\d:\d\d:\d\d", plain), plain
    assert "[b]α·x[/oops]" in plain


def test_a_terminal_is_left_as_it_was_found(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = on_terminal(monkeypatch)
    assert seen.rindex("\x1b[?25h") > seen.rindex("\x1b[?25l")
    assert seen.rstrip().endswith("\x1b[2K")


def test_a_terminal_is_left_as_it_was_found_after_an_interruption(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    shown: list[str] = []
    real = progress.Console

    def console(**options: object) -> object:
        made = real(**options)  # type: ignore[arg-type]
        show = made.show_cursor
        made.show_cursor = lambda on=True: shown.append("on" if on else "off") or show(on)  # type: ignore[method-assign, func-returns-value]
        return made

    monkeypatch.setattr(progress, "Console", console)
    with pytest.raises(KeyboardInterrupt):
        on_terminal(monkeypatch, stop=True)
    assert shown == ["off", "on"]

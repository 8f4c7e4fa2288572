"""`--help`: what people need first comes first, legible in sixty columns."""

import re
import sys

import pytest
import typer

from pangaea.cli import main
from pangaea.cli.app import app
from pangaea.cli.help import HEADINGS

COMMANDS = typer.main.get_command(app).commands  # type: ignore[attr-defined]


def ask(monkeypatch: pytest.MonkeyPatch, *arguments: str, width: int = 60) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setattr(sys, "argv", ["pangaea", *arguments, "--help"])
    with pytest.raises(SystemExit) as left:
        main()
    assert left.value.code == 0


@pytest.mark.parametrize("width", [40, 60, 200])
@pytest.mark.parametrize("command", [None, *COMMANDS])
def test_help_fits_and_speaks_plainly(
    command: str | None,
    width: int,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    ask(monkeypatch, *([command] if command else []), width=width)
    text = capsys.readouterr().out
    assert max(map(len, text.splitlines())) <= min(width, 100)
    assert not re.search(r"<\w+>|[│╭{}]", text)
    for option in COMMANDS[command].params if command else ():
        for name in option.opts if option.param_type_name == "option" else ():
            assert re.search(rf"(?m)^  .*{re.escape(name)}\b", text), name


def test_search_comes_first(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    ask(monkeypatch)
    lines = capsys.readouterr().out.splitlines()
    shown = [match[1] for line in lines if (match := re.match(r"  (\w+)  ", line))]
    assert shown[:3] == ["search", "resume", "top"]
    assert {*shown} == {*COMMANDS}
    assert {name for names in HEADINGS.values() for name in names} <= {*COMMANDS}


def test_options_say_what_they_take_and_what_they_are_by_default(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    ask(monkeypatch, "evaluate", width=100)
    text = capsys.readouterr().out
    assert (
        "  --runs N              Runs of each function, with different seeds. Default: 10." in text
    )
    assert re.search(r"  --compile +Compile", text)
    ask(monkeypatch, "search", width=100)
    text = capsys.readouterr().out
    assert "  --timeout NUMBER " in text
    assert "  --study FILE " in text
    assert "\nWhere it runs\n  --workers N " in text

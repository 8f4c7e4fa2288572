"""Blocks as they are run: Python in one namespace for each page, commands in its folder."""

import contextlib
import io
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import typer
import yaml
from distributed.cli.dask_scheduler import main as dask_scheduler
from distributed.cli.dask_worker import main as dask_worker

import pangaea as pg
from pangaea.cli import app, main
from tests.docs.blocks import ROOT, Block, commands
from tests.study_maker import make

PROGRAM = typer.main.get_command(app)
# What is added to a block that says it is run smaller.
SMALLER = {
    "search": ["--candidates=2", "--budget=1", "--runs=0", "--no-rerank", "--workers=0"],
    "evaluate": ["--runs=1", "--budget=1", "--workers=0"],
    "resume": ["--workers=0"],
}
SMALLER_CALLS: dict[str, dict[str, Any]] = {
    "search": {"candidates": 2, "budget": 1, "runs": 0, "rerank": False, "workers": 0},
    "evaluate": {"runs": 1, "epochs": 1},
}
STUDY = re.compile(r"[\w./-]+\.study\b")
MADE = re.compile(r"(?:--study |study=\")([\w./-]+\.study)")


def run_blocks(blocks: list[Block], monkeypatch: pytest.MonkeyPatch) -> str:
    """All blocks of a page, one after another in the folder that is current; what they print."""
    namespace: dict[str, Any] = {"__name__": "docs"}
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        for block in blocks:
            with monkeypatch.context() as patch, located(block):
                _studies(block)
                _run(block, namespace, patch)
    return printed.getvalue()


@contextlib.contextmanager
def located(block: Block) -> Iterator[None]:
    """An error says where the block stands."""
    try:
        yield
    except BaseException as error:
        error.add_note(f"in {block.name}:\n{block.text}")
        raise


def _studies(block: Block) -> None:
    """Studies that a block looks at and nobody has made before."""
    if block.how == "not run" or block.language not in ("python", "bash"):
        return
    wanted = set(STUDY.findall(block.text)) - set(MADE.findall(block.text))
    for path in map(Path, sorted(wanted)):
        if not path.exists():
            make(path, 12, population=4, sample=2)


def _run(block: Block, namespace: dict[str, Any], patch: pytest.MonkeyPatch) -> None:
    if block.language == "python":
        _python(block, namespace, patch)
    elif block.language == "yaml":
        assert yaml.safe_load(block.text)
    elif block.language == "bash":
        _bash(block, patch)
    else:
        assert block.language == "text", f"{block.name}: nobody knows what {block.language} is"


def _python(block: Block, namespace: dict[str, Any], patch: pytest.MonkeyPatch) -> None:
    code = compile(block.text, block.name, "exec")
    if named := re.match(r"# (\w+\.py)\n", block.text):
        Path(named[1]).write_text(block.text, encoding="utf-8")
    if block.how == "not run":
        return
    if block.how == "run smaller":
        for name, less in SMALLER_CALLS.items():
            patch.setattr(pg, name, _with_less(getattr(pg, name), less))
    exec(code, namespace)


def _with_less(call: Callable[..., Any], less: dict[str, Any]) -> Callable[..., Any]:
    return lambda *args, **given: call(*args, **given | less)


def _bash(block: Block, patch: pytest.MonkeyPatch) -> None:
    if block.how == "not run":
        subprocess.run(["bash", "-n"], input=block.text, text=True, check=True)
    for words in commands(block.text):
        if block.how == "not run":
            understood(words)
        elif words[0] == "pangaea":
            more = SMALLER.get(words[1], []) if block.how == "run smaller" else []
            command([*words[1:], *more], patch)
        else:
            _shell(words)


def command(words: list[str], patch: pytest.MonkeyPatch) -> None:
    """A command of ours, in this process; it must end well."""
    words, _, into = _split(words, ">")
    patch.setattr(sys, "argv", ["pangaea", *words])
    complaints = io.StringIO()
    with contextlib.ExitStack() as stack:
        if into:
            file = stack.enter_context(Path(into[0]).open("w", encoding="utf-8"))
            stack.enter_context(contextlib.redirect_stdout(file))
        stack.enter_context(contextlib.redirect_stderr(complaints))
        left = stack.enter_context(pytest.raises(SystemExit))
        main()
    assert left.value.code in (0, None), f"pangaea {shlex.join(words)}: {complaints.getvalue()}"


def _split(words: list[str], at: str) -> tuple[list[str], str, list[str]]:
    place = words.index(at) if at in words else len(words)
    return words[:place], at, words[place + 1 :]


def _shell(words: list[str]) -> None:
    """A command of somebody else's, with our Python first on the path."""
    assert words[0] not in ("pip", "make"), "say that it is not run, and why"
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        ["bash", "-c", shlex.join(words)],
        env=os.environ | {"PATH": path, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, f"{shlex.join(words)}: {done.stderr}"


def understood(words: list[str]) -> None:
    """A command's own parser knows its options and takes their values; nothing is run."""
    words = words[1:] if words[0] == "srun" else words
    name, rest = words[0], words[1:]
    if name == "pangaea":
        _parsed(PROGRAM, rest)
    elif words[:2] == ["dask", "scheduler"]:
        _parsed(dask_scheduler, rest[1:])
    elif words[:2] == ["dask", "worker"]:
        _parsed(dask_worker, rest[1:])
    elif name == "make":
        targets = re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(), re.M)
        assert set(rest) <= set(targets), f"unknown: {set(rest) - set(targets)}"


def _parsed(command: Any, words: list[str]) -> None:
    """Down to the command of a program that has several."""
    while hasattr(command, "commands"):
        assert words, "a command of pangaea is missing"
        if words[0].startswith("-"):
            assert words[0] in ("--help", "--version")
            return
        assert words[0] in command.commands, f"there is no command {words[0]}"
        command, words = command.commands[words[0]], words[1:]
    known = {option for p in command.params for option in (*p.opts, *p.secondary_opts)}
    options = {word.partition("=")[0] for word in words if word.startswith("--")}
    assert options <= known | {"--help"}, f"unknown: {options - known}"
    end = words.index("&") if "&" in words else len(words)
    command.make_context(command.name, words[:end], resilient_parsing=False)

"""What docs/cluster.md tells people to write is understood."""

import re
import shlex
from pathlib import Path
from typing import Any

import pytest
import typer
import yaml
from distributed.cli.dask_scheduler import main as dask_scheduler
from distributed.cli.dask_worker import main as dask_worker

from pangaea.cli import app
from tests.cluster.commands import Commands, jobs

TEXT = (Path(__file__).parents[2] / "docs/cluster.md").read_text(encoding="utf-8")
FILES = [yaml.safe_load(block) for block in re.findall(r"```yaml\n(.*?)```", TEXT, re.DOTALL)]
QUEUES = [(name, said) for file in FILES for name, said in file.get("jobqueue", {}).items()]
PANGAEA = typer.main.get_command(app)


def lines(program: str) -> list[list[str]]:
    """The commands of a program in the text, as words."""
    joined = TEXT.replace("\\\n", " ")
    found = re.findall(rf"^ *(?:srun )?({program} .*)$", joined, re.MULTILINE)
    return [shlex.split(line, comments=True) for line in found]


def unknown(words: list[str], command: Any) -> set[str]:
    """The options that a command does not have."""
    known = {option for p in command.params for option in (*p.opts, *p.secondary_opts)}
    return {word for word in words if word.startswith("--")} - known


def test_the_options_are_those_of_the_programs():
    for program, command in (("scheduler", dask_scheduler), ("worker", dask_worker)):
        for words in lines(f"dask {program}"):
            assert unknown(words, command) == set()
    for name in ("search", "resume"):
        for words in lines(f"pangaea {name}"):
            assert unknown(words, PANGAEA.commands[name]) == set()
    assert {len(lines(f"dask {program}")) for program in ("scheduler", "worker")} == {2}
    assert len(lines("pangaea search")) > 10


@pytest.mark.parametrize(("name", "said"), QUEUES, ids=lambda value: str(value)[:30])
def test_the_files_describe_jobs(commands: Commands, monkeypatch, tmp_path, name, said):
    monkeypatch.chdir(tmp_path)
    with jobs(name, 16, **said | {"interface": "lo"}):
        submitted = list(commands.jobs().values())
    assert len(submitted) == 16 / said["cores"]
    for text in (*said.get("job-script-prologue", ()), said.get("queue", ""), "--nthreads 1"):
        assert text in submitted[0]
    for extra in said.get("job-extra-directives", ()):
        assert extra in submitted[0]


def test_there_is_a_file_for_each_queue_and_for_certificates():
    assert [name for name, _ in QUEUES] == ["slurm", "slurm", "htcondor"]
    assert "tls" in FILES[-1]["distributed"]["comm"]

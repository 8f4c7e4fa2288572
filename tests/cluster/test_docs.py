"""The files that docs/cluster.md tells people to write are understood; its commands: tests/docs."""

import pytest
import yaml

from tests.cluster.commands import Commands, jobs
from tests.docs.blocks import ROOT, blocks

FILES = [
    yaml.safe_load(block.text)
    for block in blocks(ROOT / "docs" / "cluster.md")
    if block.language == "yaml"
]
QUEUES = [(name, said) for file in FILES for name, said in file.get("jobqueue", {}).items()]


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

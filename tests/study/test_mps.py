"""MPS, with a program in its place that writes down how it was called."""

import os
from pathlib import Path

import pytest

from pangaea.study.mps import mps


def test_where_there_is_no_mps_nothing_is_set(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    with mps() as environment:
        assert environment == {}


def test_it_runs_as_long_as_the_block(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = tmp_path / "nvidia-cuda-mps-control"
    program.write_text(
        f"""#!/bin/sh
if [ "$1" = -f ]; then
    echo $$ > {tmp_path}/pid
    while [ ! -e {tmp_path}/asked ]; do sleep 0.05; done
else
    read line; echo "$line" > {tmp_path}/asked
fi
"""
    )
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    with mps() as environment:
        folder = Path(environment["CUDA_MPS_PIPE_DIRECTORY"])
        assert folder.is_dir()
    assert (tmp_path / "asked").read_text() == "quit -t 1\n"
    assert not folder.exists()
    assert not Path(f"/proc/{(tmp_path / 'pid').read_text().strip()}").exists()

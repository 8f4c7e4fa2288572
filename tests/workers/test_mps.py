"""MPS, with programs in the place of NVIDIA's."""

import os
from pathlib import Path

import psutil
import pytest

from pangaea.workers.mps import mps, worthwhile


def program(folder: Path, name: str, script: str) -> None:
    path = folder / name
    path.write_text(f"#!/bin/sh\n{script}")
    path.chmod(0o755)


def test_where_there_is_no_mps_nothing_is_set(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    with mps() as environment:
        assert environment == {}


def test_it_runs_as_long_as_the_block(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program(
        tmp_path,
        "nvidia-cuda-mps-control",
        f"""
if [ "$1" = -f ]; then
    echo $$ > {tmp_path}/pid
    while [ ! -e {tmp_path}/asked ]; do sleep 0.05; done
else
    read line; echo "$line" > {tmp_path}/asked
fi
""",
    )
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    with mps() as environment:
        folder = Path(environment["CUDA_MPS_PIPE_DIRECTORY"])
        assert folder.is_dir()
    assert (tmp_path / "asked").read_text() == "quit -t 1\n"
    assert not folder.exists()
    assert not psutil.pid_exists(int((tmp_path / "pid").read_text()))


@pytest.mark.parametrize(
    ("memory", "workers"),
    [("143771", 4), ("24576", 2), ("8192", 1), ("143771\n24576", 2), ("[N/A]", 1), ("", 1)],
)
def test_as_many_workers_as_have_room_up_to_four(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, memory: str, workers: int
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    program(tmp_path, "nvidia-smi", f"echo '{memory}'")
    assert worthwhile() == 1
    program(tmp_path, "nvidia-cuda-mps-control", "")
    assert worthwhile() == workers


def test_one_worker_if_the_memory_is_not_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    program(tmp_path, "nvidia-cuda-mps-control", "")
    assert worthwhile() == 1
    program(tmp_path, "nvidia-smi", "echo 143771; exit 9")
    assert worthwhile() == 1

"""Several processes on one GPU at once, through NVIDIA's MPS where the machine has it.

Without it they take turns, and nothing is gained (WRN-10-4 on an H200, ms a step and candidate:
1.31 for four processes without, 0.99 with, 1.19 for one alone; `benchmarks/at_once.py`).
"""

import contextlib
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator

from pangaea.workers.worker import die_with_parent

_CONTROL = "nvidia-cuda-mps-control"
# Eight workers train hardly more candidates an hour than four: the GPU is full.
_WORKERS = 4
_MEBIBYTES = 10_000  # of the GPU's memory for each; WRN-10-4 takes 2,600
_MEMORY = ("nvidia-smi", "--query-gpu=memory.total", "--format=csv,noheader,nounits")


def worthwhile() -> int:
    """How many workers pay on each GPU of this machine, if nobody says."""
    if shutil.which(_CONTROL) is None:
        return 1
    try:
        answer = subprocess.run(_MEMORY, capture_output=True, text=True, check=True, timeout=30)
        least = min(map(int, answer.stdout.split()))
    except (OSError, subprocess.SubprocessError, ValueError):
        return 1
    return max(1, min(_WORKERS, least // _MEBIBYTES))


@contextlib.contextmanager
def mps() -> Iterator[dict[str, str]]:
    """The environment in which processes share a GPU; an empty one where they cannot."""
    if shutil.which(_CONTROL) is None:
        yield {}
        return
    with tempfile.TemporaryDirectory(prefix="pangaea-mps-", ignore_cleanup_errors=True) as folder:
        environment = {"CUDA_MPS_PIPE_DIRECTORY": folder, "CUDA_MPS_LOG_DIRECTORY": folder}
        control = subprocess.Popen(
            [_CONTROL, "-f"],
            env=os.environ | environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            preexec_fn=die_with_parent,
        )
        try:
            yield environment
        finally:
            subprocess.run(
                [_CONTROL],
                env=os.environ | environment,
                input=b"quit -t 1\n",
                capture_output=True,
                check=False,
            )
            with contextlib.suppress(subprocess.TimeoutExpired):
                control.wait(5)
            control.kill()
            control.wait()

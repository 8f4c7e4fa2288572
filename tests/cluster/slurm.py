"""A real Slurm of one node, from Debian's packages, without systemd.

It listens on the address of the machine's own name: loopback, but for containers.

`python -m tests.cluster.slurm COMMAND…` runs a command with it, for trying things out by hand.
Its configuration, state, logs and sockets are in a temporary folder; the packages stay installed.
"""

import contextlib
import os
import secrets
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator
from pathlib import Path

_SBIN = f"{os.environ['PATH']}:/usr/sbin:/sbin"
_PATIENCE_SECONDS = 120

# More processors than there may be, so that two jobs fit on any machine.
_CONFIGURATION = """
ClusterName=pangaea
SlurmctldHost={host}({address})
SlurmUser=root
SlurmctldPort={controller}
SlurmdPort={node}
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket
CommunicationParameters=NoInAddrAny,NoCtldInAddrAny
SlurmdParameters=config_overrides
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
SchedulerParameters=bf_interval=2,sched_interval=2
ReturnToService=2
KillWait=2
NodeName={host} NodeAddr={address} CPUs=4 RealMemory=8000
PartitionName=main Nodes={host} Default=YES MaxTime=INFINITE State=UP
"""


class NotHereError(Exception):
    """Why there can be no batch system on this machine."""


@contextlib.contextmanager
def slurm() -> Iterator[dict[str, str]]:
    """Slurm while the block lasts; yields the environment in which its commands work."""
    install("slurm-wlm", "munge", commands=("munged", "slurmctld", "slurmd"))
    with tempfile.TemporaryDirectory(prefix="pangaea-slurm-") as name, contextlib.ExitStack() as up:
        folder = Path(name)
        folder.chmod(0o755)
        environment = os.environ | {"PATH": _SBIN, "SLURM_CONF": str(_configured(folder))}
        for command in (
            ["munged", "--foreground", *_munge_options(folder)],
            ["slurmctld", "-D"],
            ["slurmd", "-D"],
        ):
            up.enter_context(_daemon(command, folder, environment))
        _until_idle(folder, environment)
        up.callback(_empty, environment)
        yield environment


def queued(environment: dict[str, str]) -> list[str]:
    """The jobs that wait or run."""
    return _asked(["squeue", "--noheader", "--format=%A"], environment).split()


def install(*packages: str, commands: Iterable[str]) -> None:
    """Install Debian's packages, unless the commands are there."""
    if os.geteuid() != 0:
        raise NotHereError(f"{packages[0]} needs root")
    if all(shutil.which(command, path=_SBIN) for command in commands):
        return
    if shutil.which("apt-get") is None:
        raise NotHereError(f"there is no apt-get to install {packages[0]} with")
    get = ["apt-get", "-qq", "-o", "DPkg::Lock::Timeout=120"]
    quiet = os.environ | {"DEBIAN_FRONTEND": "noninteractive"}
    for step in (["update"], ["install", "-y", "--no-install-recommends", *packages]):
        done = subprocess.run([*get, *step], env=quiet, capture_output=True, text=True)
    if done.returncode != 0:
        raise NotHereError(f"apt-get cannot install {packages[0]}: {done.stderr.strip()[-300:]}")


def _configured(folder: Path) -> Path:
    for part in ("state", "spool"):
        (folder / part).mkdir()
    key = folder / "munge.key"
    key.touch(mode=0o600)
    key.write_bytes(secrets.token_bytes(128))
    host = socket.gethostname().split(".")[0]
    try:
        address = socket.gethostbyname(host)
    except OSError:
        raise NotHereError(f"this machine's name, {host}, has no address") from None
    with socket.create_server((address, 0)) as a, socket.create_server((address, 0)) as b:
        controller, node = (place.getsockname()[1] for place in (a, b))
    written = folder / "slurm.conf"
    written.write_text(
        _CONFIGURATION.format(
            host=host, address=address, folder=folder, controller=controller, node=node
        )
    )
    return written


def _munge_options(folder: Path) -> list[str]:
    names = {"key-file": "key", "socket": "socket", "pid-file": "pid", "log-file": "log"}
    options = [f"--{option}={folder}/munge.{end}" for option, end in names.items()]
    return [*options, f"--seed-file={folder}/munge.seed"]


@contextlib.contextmanager
def _daemon(command: list[str], folder: Path, environment: dict[str, str]) -> Iterator[None]:
    with (
        (folder / f"{command[0]}.out").open("wb") as out,
        subprocess.Popen(command, env=environment, stdout=out, stderr=out) as process,
    ):
        try:
            yield
        finally:
            process.terminate()
            try:
                process.wait(timeout=10)
            except subprocess.TimeoutExpired:
                process.kill()


def _until_idle(folder: Path, environment: dict[str, str]) -> None:
    deadline = time.monotonic() + _PATIENCE_SECONDS
    while time.monotonic() < deadline:
        if _asked(["sinfo", "--noheader", "--format=%T"], environment).strip() == "idle":
            return
        time.sleep(0.1)
    said = "\n".join(log.read_text(errors="replace")[-1500:] for log in folder.glob("*.out"))
    raise RuntimeError(f"Slurm's node takes no jobs:\n{said}")


def _empty(environment: dict[str, str]) -> None:
    """A job would outlive the daemons."""
    _asked(["scancel", "--full", *queued(environment)], environment)
    deadline = time.monotonic() + _PATIENCE_SECONDS
    while queued(environment) and time.monotonic() < deadline:
        time.sleep(0.1)


def _asked(command: list[str], environment: dict[str, str]) -> str:
    return subprocess.run(command, env=environment, capture_output=True, text=True).stdout


if __name__ == "__main__":
    with slurm() as ready:
        sys.exit(subprocess.run(sys.argv[1:], env=ready).returncode)

"""A real HTCondor of one machine: Debian 13's `minicondor` in a chroot, on loopback alone.

`python -m tests.cluster.htcondor COMMAND…` runs a command with it, for trying things out by hand.
The chroot (500 MB, a minute to make) is kept in the folder for temporary files.
"""

import contextlib
import os
import shlex
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from tests.cluster.drive import REPOSITORY
from tests.cluster.slurm import NotHereError, install

ROOT = Path(tempfile.gettempdir()) / "pangaea-htcondor"
_USER = "searcher"  # HTCondor takes no jobs from root
_UID = 4321
_PATIENCE_SECONDS = 180
# Ports and patience: the rest is Debian's. Jobs see /tmp and /dev/shm as they are, for there may be
# no right to mount anything.
_CONFIGURATION = """
SHARED_PORT_PORT = {port}
COLLECTOR_HOST = 127.0.0.1:{port}
ENABLE_IPV6 = False
MOUNT_UNDER_SCRATCH =
MOUNT_PRIVATE_DEV_SHM = False
NUM_CPUS = 4
MEMORY = 8000
SCHEDD_INTERVAL = 2
NEGOTIATOR_CYCLE_DELAY = 1
NEGOTIATOR_MIN_INTERVAL = 1
"""


class Machine(NamedTuple):
    before: list[str]  # of a command that is to run there
    environment: dict[str, str]
    home: Path  # as seen there; from here, it is below ROOT

    def asked(self, *command: str) -> str:
        return subprocess.run(
            [*self.before, *command], env=self.environment, capture_output=True, text=True
        ).stdout

    def queued(self) -> list[str]:
        """The jobs that wait or run, or are on hold."""
        number = ("-format", "%d.", "ClusterId", "-format", "%d\\n", "ProcId")
        return self.asked("condor_q", *number).split()


@contextlib.contextmanager
def htcondor() -> Iterator[Machine]:
    """HTCondor while the block lasts."""
    _make_chroot()
    # Python and the package are seen in the chroot where they are here.
    seen = {REPOSITORY, Path(sys.prefix), Path(sys.base_prefix)}
    if any(place.is_relative_to("/usr") for place in seen):
        raise NotHereError("the chroot has a /usr of its own, without the Python in use")
    with socket.create_server(("127.0.0.1", 0)) as some:
        port = some.getsockname()[1]
    (ROOT / "etc/condor/config.d/99-pangaea").write_text(_CONFIGURATION.format(port=port))
    mounts = [f"mount --rbind {place} {ROOT}{place}" for place in ("/proc", "/dev")]
    for place in seen:
        (ROOT / place.relative_to("/")).mkdir(parents=True, exist_ok=True)
        mounts.append(f"mount --bind {shlex.quote(str(place))} {shlex.quote(f'{ROOT}{place}')}")
    script = " && ".join([*mounts, f"exec chroot {ROOT} condor_master -f"])
    # The mounts are seen by this process alone, and end with it.
    with subprocess.Popen(["unshare", "--mount", "sh", "-c", script]) as master:
        try:
            into = ["nsenter", f"--target={master.pid}", "--mount", "--root"]
            machine = Machine(
                [*into, f"--setuid={_UID}", f"--setgid={_UID}", "env", f"--chdir={REPOSITORY}"],
                os.environ | {"PATH": "/usr/sbin:/usr/bin:/bin", "HOME": f"/home/{_USER}"},
                Path("/home") / _USER,
            )
            _until_idle(machine)
            yield machine
            machine.asked("condor_rm", "-all")
        finally:
            master.terminate()
            with contextlib.suppress(subprocess.TimeoutExpired):
                master.wait(timeout=20)
            master.kill()


def _make_chroot() -> None:
    """Debian 13 with HTCondor, unless it is there."""
    ready = ROOT / "ready"
    if os.geteuid() != 0:
        raise NotHereError("a chroot needs root")
    if ready.exists():
        return
    install("debootstrap", commands=("debootstrap",))
    shutil.rmtree(ROOT, ignore_errors=True)
    within = ["chroot", str(ROOT), "env", "DEBIAN_FRONTEND=noninteractive"]
    for command in (
        ["debootstrap", "--variant=minbase", "trixie", str(ROOT)],
        [*within, "apt-get", "-qq", "install", "-y", "--no-install-recommends", "minicondor"],
        [*within, "useradd", "--create-home", f"--uid={_UID}", _USER],
        [*within, "chmod", "755", "/root"],  # there may be a Python below
    ):
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode != 0:
            raise NotHereError(f"{command[0]} cannot set up the chroot: {done.stderr[-300:]}")
    ready.touch()


def _until_idle(machine: Machine) -> None:
    deadline = time.monotonic() + _PATIENCE_SECONDS
    while "Unclaimed" not in machine.asked("condor_status", "-af", "State"):
        if time.monotonic() > deadline:
            raise RuntimeError(f"HTCondor takes no jobs: see {ROOT}/var/log/condor")
        time.sleep(0.2)


if __name__ == "__main__":
    with htcondor() as ready:
        sys.exit(subprocess.run([*ready.before, *sys.argv[1:]], env=ready.environment).returncode)

"""Jobs of a batch system, as far as they can be tested without one.

`test_slurm.py` and `test_htcondor.py` have real ones.
"""

import math
import re
import signal
import sys
import time

import pytest
from distributed import Client

from pangaea.errors import PangaeaError
from pangaea.workers import batch, cluster
from tests.cluster.commands import jobs


def test_htcondor_is_told_what_a_worker_needs(commands):
    with jobs("htcondor", workers=2, cores=2, memory="4 GiB"):
        (submitted,) = commands.jobs().values()
    lines = dict(line.split(" = ", 1) for line in submitted.splitlines() if " = " in line)
    assert (lines["RequestCpus"], lines["MY.DaskWorkerCores"]) == ("MY.DaskWorkerCores", "2")
    assert lines["RequestMemory"] == "floor(MY.DaskWorkerMemory / 1048576)"
    assert lines["MY.DaskWorkerMemory"] == str(4 * 1024**3)
    assert lines["Executable"] == "/bin/sh"
    assert submitted.rstrip().endswith("Queue")
    command = lines["Arguments"]
    assert command.startswith("\"-c 'export OMP_NUM_THREADS=1; export MKL_NUM_THREADS=1; ")
    assert f"; {sys.executable} -m distributed.cli.dask_worker tls://127.0.0.1:" in command
    for option in (
        "--nthreads 1",
        "--nworkers 2",
        "--nanny",
        "--preload pangaea.workers.worker",
        "--preload-nanny pangaea.workers.nanny",
        "--no-dashboard --dashboard-address 127.0.0.1:0",
        "--interface lo",
    ):
        assert option in command
    assert command.rindex("--memory-limit 0 ") > command.index("--memory-limit 2.00GiB ")


def test_slurm_is_told_what_a_worker_needs(commands):
    with jobs("slurm", cores=1, memory="2 GiB", walltime="10:00:00", queue="short"):
        (submitted,) = commands.jobs().values()
    for line in ("--cpus-per-task=1", "--mem=2G", "-t 10:00:00", "-p short"):
        assert f"#SBATCH {line}\n" in submitted
    assert "\nexport OMP_NUM_THREADS=1\n" in submitted
    assert re.search(rf"\n{sys.executable} -m .*--nthreads 1 .*--preload pangaea", submitted)


def test_what_the_configuration_says_is_kept(commands):
    said = {
        "worker-extra-args": ["--lifetime", "1h"],
        "job-script-prologue": ["module load cuda"],
        "python": "/opt/python",
    }
    with jobs("slurm", **said):
        (submitted,) = commands.jobs().values()
    assert "\nmodule load cuda\nexport OMP_NUM_THREADS=1\n" in submitted
    assert "\n/opt/python -m distributed.cli.dask_worker" in submitted
    assert "--lifetime 1h --preload pangaea.workers.worker" in submitted


@pytest.mark.parametrize(
    ("workers", "cores", "wanted"), [(None, 1, 1), (3, 1, 3), (5, 2, 3), (None, 4, 1)]
)
def test_there_are_jobs_for_as_many_workers_as_were_asked_for(commands, workers, cores, wanted):
    with jobs("slurm", workers, cores=cores):
        assert len(commands.jobs()) == wanted


def test_the_scheduler_is_where_the_configuration_says(commands):
    with jobs("slurm", **{"scheduler-options": {"port": 0, "host": "127.0.0.2"}}) as client:
        assert client.cluster.scheduler_address.startswith("tls://127.0.0.2:")
        assert client.cluster.scheduler.http_server.address == "127.0.0.1"


@pytest.mark.parametrize("name", ["slurm", "htcondor"])
def test_jobs_have_a_key_of_this_run_which_ends_with_it(commands, name, tmp_path):
    shared = tmp_path / "shared"
    shared.mkdir()
    with jobs(name, **{"shared-temp-directory": str(shared)}) as client:
        (submitted,) = commands.jobs().values()
        (folder,) = shared.iterdir()
        for option, file in (("ca-file", "cert"), ("cert", "cert"), ("key", "key")):
            assert f"--tls-{option} {folder}/{file}.pem" in submitted
        assert "--protocol tls://" in submitted
        assert "PRIVATE" not in submitted
        address = client.cluster.scheduler_address
        for stranger in (address, address.replace("tls://", "tcp://")):
            with pytest.raises((OSError, TypeError)):
                Client(stranger, loop=client.loop, timeout=1, set_as_default=False)
    assert list(shared.iterdir()) == []


def test_a_folder_that_cannot_hold_the_key_is_a_sentence(commands, tmp_path):
    nowhere = {"shared-temp-directory": str(tmp_path / "nowhere")}
    sentence = r"keeps a key for its jobs in .*nowhere, where nothing can be written"
    with pytest.raises(PangaeaError, match=sentence), jobs("slurm", **nowhere):
        pass


def test_no_job_is_left_whatever_ends_the_search(commands):
    def interrupted() -> None:
        with jobs("slurm", 2):
            assert len(commands.jobs()) == 2
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert commands.jobs() == {}


def look(client):
    """What a driver does now and then, until it has looked."""
    cluster.tend(client)
    client.cluster._next_look = math.inf
    while client.cluster._look_task is not None:
        cluster.tend(client)
        time.sleep(0.01)
    client.cluster._next_look = 0.0


@pytest.mark.parametrize("name", ["slurm", "htcondor"])
def test_a_job_that_has_ended_is_submitted_again(commands, name):
    with jobs(name, 2) as client:
        first, second = commands.jobs()
        (commands.queue / first).unlink()
        look(client)
        assert second in commands.jobs()
        assert len(commands.jobs()) == 2
        before = commands.jobs()
        look(client)
        assert commands.jobs() == before


def test_a_queue_that_does_not_answer_is_no_reason_to_submit(commands):
    with jobs("slurm", 2) as client:
        commands.write("squeue", "echo no contact >&2; exit 1")
        look(client)
        assert list(commands.jobs()) == ["1", "2"]


def test_a_driver_does_not_wait_for_a_queue_that_is_slow_to_answer(commands):
    with jobs("slurm", 2) as client:
        commands.write("squeue", "exec sleep 15")
        began = time.monotonic()
        cluster.tend(client)
        cluster.tend(client)
    assert time.monotonic() - began < 12
    assert commands.jobs() == {}


def test_a_queue_elsewhere_is_asked_where_it_is(commands):
    commands.write("condor_q", '[ "$1 $2" = "-name there" ] && ls')
    with jobs("htcondor", **{"cancel-command-extra": ["-name", "there"]}) as client:
        (number,) = commands.jobs()
        look(client)
        assert list(commands.jobs()) == [number]
        (commands.queue / number).unlink()
        look(client)
        assert len(commands.jobs()) == 1
        commands.write("condor_rm", 'rm "$3"')


def test_jobs_that_bring_no_worker_end_the_search(commands):
    with jobs("slurm", 1) as client:
        for number in ("1", "2", "3"):
            assert list(commands.jobs()) == [number]
            (commands.queue / number).unlink()
            look(client)
        (commands.queue / "4").unlink()
        with pytest.raises(PangaeaError, match=r"^Slurm's jobs end before a worker of theirs"):
            look(client)


def test_jobs_that_bring_no_worker_are_submitted_ever_more_rarely_beside_others(
    commands, monkeypatch
):
    with jobs("slurm", 2) as client:
        made = client.cluster
        working = next(name for name, job in made.workers.items() if job.job_id == "1")
        monkeypatch.setattr(type(made), "observed", {working})
        monkeypatch.setattr(batch, "_LOOK_SECONDS", 1.0)
        for number in ("2", "3", "4", "5", "6"):
            assert list(commands.jobs()) == ["1", number]
            (commands.queue / number).unlink()
            look(client)
        cluster.tend(client)
        assert 3 < made._next_look - time.monotonic() <= 4


REFUSE = "echo 'sbatch: error: no such partition' >&2; exit 1"


def test_a_refused_job_ends_the_search_if_there_is_no_other(commands):
    commands.write("sbatch", REFUSE)
    refused = r"^Slurm takes no job of this search: sbatch: error: no such partition$"
    with pytest.raises(PangaeaError, match=refused), jobs("slurm", 2):
        pass


def test_a_refused_job_is_tried_again_if_there_are_others(commands):
    accept = (commands.bin / "sbatch").read_text()
    with jobs("slurm", 2) as client:
        (commands.queue / "1").unlink()
        commands.write("sbatch", REFUSE)
        look(client)
        assert list(commands.jobs()) == ["2"]
        (commands.bin / "sbatch").write_text(accept)
        look(client)
        assert list(commands.jobs()) == ["2", "3"]


@pytest.mark.parametrize(
    ("name", "command"),
    [("slurm", "sbatch"), ("slurm", "squeue"), ("htcondor", "condor_submit")],
)
def test_a_machine_without_the_commands_is_told_so(commands, name, command):
    (commands.bin / command).unlink()
    missing = f"needs the command {command}, which is not here"
    with pytest.raises(PangaeaError, match=missing), jobs(name):
        pass


@pytest.mark.parametrize(
    ("name", "missing"), [("slurm", "cores"), ("slurm", "memory"), ("htcondor", "disk")]
)
def test_a_configuration_that_lacks_something_is_told_so(commands, name, missing):
    lacking = f"^--cluster {name} needs to know the {missing} of a job"
    with pytest.raises(PangaeaError, match=lacking), jobs(name, **{missing: None}):
        pass


@pytest.mark.parametrize(
    "said",
    [{"interface": "nowhere0"}, {"memory": "much"}, {"cores": "two"}, {"cores": 0}],
    ids=str,
)
def test_a_configuration_that_cannot_work_is_one_sentence(commands, said):
    unfit = r"^--cluster slurm is configured in a way that does not work: [^\n]*$"
    with pytest.raises(PangaeaError, match=unfit), jobs("slurm", **said):
        pass


def test_without_dask_jobqueue_its_package_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "dask_jobqueue", None)
    with pytest.raises(PangaeaError, match=r"pip install 'pangaea-search\[cluster\]'"):
        batch._kind("slurm")


def test_ctrl_c_stays_with_the_driver(commands, monkeypatch):
    """The import of dask-jobqueue takes it away."""
    for module in [name for name in sys.modules if name.startswith("dask_jobqueue")]:
        monkeypatch.delitem(sys.modules, module)
    before = signal.getsignal(signal.SIGINT)
    batch._kind("slurm")
    assert "dask_jobqueue.runner" in sys.modules
    assert signal.getsignal(signal.SIGINT) is before

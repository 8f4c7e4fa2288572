"""Searches on a real Slurm, of this machine alone: `make test-slurm`."""

import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from pangaea.study.stages import PROPOSED
from pangaea.study.study import open_study
from tests.cluster.drive import Driver, jobs_of_all, seconds_until
from tests.cluster.slurm import NotHereError, queued, slurm
from tests.task_file import SEARCH, finished, killed, pangaea, written

pytestmark = pytest.mark.slurm


@pytest.fixture(scope="module")
def machine() -> Iterator[dict[str, str]]:
    """The environment of a program that may submit jobs."""
    try:
        with slurm() as environment:
            yield environment
    except NotHereError as reason:
        pytest.skip(str(reason))


@pytest.fixture
def study(tmp_path: Path) -> Path:
    return tmp_path / "a.study"


@pytest.fixture
def drive(machine: dict[str, str], study: Path) -> Iterator[Callable[..., Driver]]:
    """Starts a search with a few settings; what is in capitals is the driver's, the rest Dask's."""
    drivers = []

    def start(**settings: object) -> Driver:
        jobs = {"cores": 1, "memory": "1GB", "interface": "lo", "log_directory": study.parent}
        jobs["shared_temp_directory"] = study.parent  # a killed driver leaves its key
        driver = {name: value for name, value in settings.items() if name.isupper()}
        jobs |= {name: value for name, value in settings.items() if not name.isupper()}
        said = {f"DASK_JOBQUEUE__SLURM__{name.upper()}": value for name, value in jobs.items()}
        said |= {"CLUSTER": "slurm"} | driver
        environment = machine | {name: str(value) for name, value in said.items()}
        drivers.append(Driver(study, environment))
        return drivers[-1]

    yield start
    for driver in drivers:
        driver.kill()


def test_a_cancelled_job_is_replaced_and_no_candidate_is_lost(machine, drive, study):
    driver = drive(WORKERS=2, CANDIDATES=30, JUDGE_SECONDS=0.5)
    *_, lost = driver.hear(6)
    subprocess.run(["scancel", lost], env=machine, check=True)
    assert driver.end() == (0, "")
    jobs = jobs_of_all(study, 30)
    assert len(set(jobs)) == 3
    assert lost not in jobs[-4:]
    assert queued(machine) == []


def test_a_job_of_two_workers_that_train_is_replaced_as_well(machine, drive, study):
    driver = drive(WORKERS=2, CANDIDATES=8, cores=2)
    (lost,) = set(driver.hear(3))
    assert queued(machine) == [lost]
    subprocess.run(["scancel", lost], env=machine, check=True)
    assert driver.end() == (0, "")
    assert len(set(jobs_of_all(study, 8))) == 2
    assert queued(machine) == []


def test_an_interrupted_search_leaves_no_job_and_goes_on_without(machine, drive, study):
    driver = drive(WORKERS=2, CANDIDATES=12, JUDGE_SECONDS=0.5)
    driver.hear(4)
    driver.process.send_signal(signal.SIGINT)
    code, errors = driver.end()
    assert code == -signal.SIGINT
    assert errors.endswith("\nKeyboardInterrupt\n")
    assert queued(machine) == []
    assert drive(WORKERS=0, JUDGE_SECONDS=0).end() == (0, "")
    assert jobs_of_all(study, 12)[-1] == "no job"


def test_a_second_ctrl_c_waits_for_no_candidate(machine, drive, study):
    driver = drive(WORKERS=1, CANDIDATES=3, JUDGE_SECONDS=1000)
    seconds_until(lambda: study.exists() and open_study(study).pending(PROPOSED) != [])
    for _ in range(2):
        driver.process.send_signal(signal.SIGINT)
        time.sleep(0.5)
    assert seconds_until(lambda: driver.process.poll() is not None) < 10
    assert queued(machine) == []


def test_no_job_outlives_a_killed_driver(machine, drive):
    """Two jobs fill the machine, so the third waits; it gives up soon after it has begun."""
    driver = drive(WORKERS=3, CANDIDATES=20, JUDGE_SECONDS=0.5, job_cpu=2, death_timeout=10)
    driver.hear(4)
    assert len(queued(machine)) == 3
    driver.kill()
    assert seconds_until(lambda: len(queued(machine)) == 1) < 10
    assert seconds_until(lambda: queued(machine) == []) < 20


def test_a_task_of_one_s_own_is_searched_on_killed_and_resumed(machine, tmp_path):
    folder = written(tmp_path / "theirs")
    jobs = {"cores": 1, "memory": "1GB", "interface": "lo", "death_timeout": 10}
    jobs |= {"log_directory": tmp_path, "shared_temp_directory": tmp_path}
    said = {f"DASK_JOBQUEUE__SLURM__{name.upper()}": str(value) for name, value in jobs.items()}
    where, path = ("--cluster", "slurm", "--workers", "2"), folder / "sine.study"
    killed(pangaea(folder, *SEARCH, *where, environment=machine | said), path)
    again = pangaea(folder, "resume", "sine.study", *where, environment=machine | said)
    finished(again, path)
    with open_study(path) as study:
        assert len({run["worker"] for run in study.runs()}) >= 3  # of the jobs of both drivers
    assert seconds_until(lambda: queued(machine) == []) < 30


def test_a_refused_job_is_told_in_one_sentence(machine, drive, study):
    driver = drive(WORKERS=1, CANDIDATES=2, JUDGE_SECONDS=1, queue="nowhere")
    code, errors = driver.end()
    assert code == 1
    assert errors.splitlines()[-1] == (
        "pangaea.errors.PangaeaError: Slurm takes no job of this search: "
        "sbatch: error: Batch job submission failed: Invalid partition name specified"
    )
    assert not study.exists()

"""Searches on a real HTCondor, of this machine alone: `make test-htcondor`."""

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.cluster.drive import Driver, jobs_of_all, seconds_until
from tests.cluster.htcondor import ROOT, Machine, htcondor
from tests.cluster.slurm import NotHereError

pytestmark = pytest.mark.htcondor


@pytest.fixture(scope="module")
def machine() -> Iterator[Machine]:
    try:
        with htcondor() as found:
            yield found
    except NotHereError as reason:
        pytest.skip(str(reason))


@pytest.fixture
def study(machine: Machine) -> Iterator[Path]:
    """As it is seen from outside."""
    folder = machine.home / "studies"
    machine.asked("mkdir", str(folder))
    seen = ROOT / folder.relative_to("/")
    yield seen / "a.study"
    shutil.rmtree(seen)


@pytest.fixture
def drive(machine: Machine, study: Path) -> Iterator[Callable[..., Driver]]:
    drivers = []

    def start(**settings: object) -> Driver:
        inside = Path("/") / study.relative_to(ROOT)
        jobs = {"cores": 1, "memory": "1GB", "disk": "100MB", "interface": "lo"}
        jobs |= {"log_directory": inside.parent / "logs", "shared_temp_directory": inside.parent}
        said = {f"DASK_JOBQUEUE__HTCONDOR__{name.upper()}": value for name, value in jobs.items()}
        said |= {"CLUSTER": "htcondor"} | settings
        environment = machine.environment | {name: str(value) for name, value in said.items()}
        drivers.append(Driver(inside, environment, machine.before))
        return drivers[-1]

    yield start
    for driver in drivers:
        driver.kill()


@pytest.mark.parametrize("lose", ["condor_rm", "condor_hold"])
def test_a_lost_job_is_replaced_and_no_candidate_is_lost(machine, drive, study, lose):
    driver = drive(WORKERS=2, CANDIDATES=40, JUDGE_SECONDS=0.5)
    driver.hear(4)
    first, _ = machine.queued()
    machine.asked(lose, first)
    assert driver.end() == (0, "")
    assert len(set(jobs_of_all(study, 40))) == 3
    assert machine.queued() == []


def test_no_job_outlives_a_killed_driver(machine, drive):
    driver = drive(WORKERS=2, CANDIDATES=20, JUDGE_SECONDS=0.5)
    driver.hear(4)
    assert len(machine.queued()) == 2
    driver.kill()
    assert seconds_until(lambda: machine.queued() == []) < 10

"""What we take from the inside of dask-jobqueue is there, and does what we take it for."""

from importlib.metadata import version

from pangaea.workers import dask_inside
from tests.cluster.commands import Commands, jobs


def lacks(name: str) -> str:
    return (
        f"dask-jobqueue {version('dask-jobqueue')} has no {name} as we know it: "
        "see pangaea/workers/dask_inside.py"
    )


def test_jobs_are_wanted_submitted_counted_and_given_up(commands: Commands) -> None:
    with jobs("slurm", 2, cores=2) as client:
        some = client.cluster
        assert dask_inside.workers_of_a_job(some) == 2, lacks("new_spec")
        (first,) = dask_inside.jobs_wanted(some)
        assert dask_inside.job_number(some, first) == "1", lacks("job_id")
        assert dask_inside.jobs_with_workers(some) == set()
        dask_inside.want_job(some)
        _, second = dask_inside.jobs_wanted(some)
        assert dask_inside.job_number(some, second) is None
        assert list(commands.jobs()) == ["1"]
        some.sync(dask_inside.submit_jobs, some)
        assert list(commands.jobs()) == ["1", "2"], lacks("SpecCluster.__await__")
        dask_inside.drop_job(some, first)
        some.sync(dask_inside.submit_jobs, some)
        assert list(commands.jobs()) == ["2"]
        assert not dask_inside.give_up_refused_jobs(some)

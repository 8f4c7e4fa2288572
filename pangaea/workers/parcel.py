"""Tasks that stand in no file, on their way to the workers of this machine.

They are written to a private file once, and read once by each worker: a task brings its data along,
which would otherwise travel with every job.
"""

import contextlib
import tempfile
from collections.abc import Iterator, Mapping
from functools import cache, partial
from pathlib import Path

from pangaea.errors import PangaeaError
from pangaea.tasks.task import Task
from pangaea.workers.judge import Job, Judge, Result, judge
from pangaea.workers.place import Place


@contextlib.contextmanager
def judging(given: Mapping[str, Task], place: Place) -> Iterator[Judge]:
    """A judge that knows these tasks, as long as the block lasts."""
    if not given:
        yield judge
    elif place.workers == 0:
        yield partial(judge, given=dict(given))
    elif place.cluster is not None:
        raise PangaeaError(
            f"the task {min(given)} is an object of this process, which workers on a cluster "
            "cannot load: put it into a file that they see, and name it as in my_task.py:task"
        )
    else:
        with tempfile.TemporaryDirectory(prefix="pangaea-task-") as folder:
            file = Path(folder) / "tasks"
            file.write_bytes(_packed(given))
            yield partial(_unpacked, str(file))


def _packed(given: Mapping[str, Task]) -> bytes:
    from distributed.protocol import pickle

    try:
        return bytes(pickle.dumps(dict(given), protocol=5))  # type: ignore[no-untyped-call]
    except Exception as error:
        raise PangaeaError(
            f"the task {min(given)} cannot be sent to worker processes ({error}): put it into a "
            "file and name it as in my_task.py:task, or search with workers=0"
        ) from None


def _unpacked(file: str, job: Job) -> Result:
    return judge(job, _read(file))


@cache
def _read(file: str) -> dict[str, Task]:
    from distributed.protocol import pickle

    tasks: dict[str, Task] = pickle.loads(Path(file).read_bytes())  # type: ignore[no-untyped-call]
    return tasks

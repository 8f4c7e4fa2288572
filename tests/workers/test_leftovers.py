"""What a task's code starts is gone with its worker, however that ends."""

import os
import signal
import subprocess
import sys
import time

import pytest

from pangaea.workers import cluster, leftovers
from pangaea.workers.place import Place
from tests.study.driving import REPOSITORY, until
from tests.workers.starting import alive, start

DRIVER = """
import time
from pangaea.workers import cluster
from pangaea.workers.place import Place
from tests.workers.starting import start
with cluster.client(Place(workers=1)) as client:
    print(*client.run(start).popitem()[1], flush=True)
    time.sleep(1000)
"""


def test_with_a_search_that_ends() -> None:
    with cluster.client(Place(workers=1)) as client:
        (numbers,) = client.run(start).values()
        assert alive(numbers) == numbers
    assert until(lambda: not alive(numbers)) < 10


def test_with_a_worker_that_crashes_and_without_harm_to_its_successor() -> None:
    with cluster.client(Place(workers=1)) as client:
        (numbers,) = client.run(start).values()
        ((address, worker),) = client.run(os.getpid).items()
        os.kill(worker, signal.SIGSEGV)
        assert until(lambda: not alive(numbers)) < 10
        until(lambda: len(now := client.nthreads()) == 1 and address not in now)
        (others,) = client.run(start).values()
        assert alive(others) == others


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_with_a_driver_whatever_ends_it(number: int) -> None:
    driver = subprocess.Popen(
        [sys.executable, "-c", DRIVER],
        cwd=REPOSITORY,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    assert driver.stdout is not None
    numbers = [int(word) for word in driver.stdout.readline().split()]
    assert len(numbers) == 4
    assert alive(numbers) == numbers
    driver.send_signal(number)
    driver.communicate()
    assert until(lambda: not alive(numbers)) < 10


WORKER = """
import os, sys, time
sys.platform = "darwin"
from pangaea.workers.leftovers import end_with_worker
end_with_worker()
print(os.getpid(), flush=True)
time.sleep(1000)
"""
PARENT = """
import subprocess, sys
subprocess.run([sys.executable, "-c", sys.argv[1]])
"""


def test_a_worker_itself_ends_with_its_parent_where_no_kernel_sees_to_it() -> None:
    parent = subprocess.Popen(
        [sys.executable, "-c", PARENT, WORKER], cwd=REPOSITORY, stdout=subprocess.PIPE, text=True
    )
    assert parent.stdout is not None
    worker = int(parent.stdout.readline())
    time.sleep(3 * leftovers._LOOK_SECONDS)
    assert alive([worker]) == [worker]
    parent.kill()
    parent.communicate()
    assert until(lambda: not alive([worker])) < 10

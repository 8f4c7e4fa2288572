"""Preloaded into the process that minds the workers of a batch job: it ends with the driver.

Dask would first wait, half a minute long, for what its workers are doing.
"""

import asyncio
import os
from typing import Any

from pangaea.workers import dask_inside

_tasks: set[asyncio.Task[None]] = set()


def dask_setup(nanny: Any) -> None:
    _tasks.add(asyncio.create_task(_leave_with_scheduler(nanny)))


async def _leave_with_scheduler(nanny: Any) -> None:
    await dask_inside.outlast_scheduler(nanny)
    print("The scheduler is gone, and its workers go with it.", flush=True)
    os._exit(0)  # the workers follow, see worker.py

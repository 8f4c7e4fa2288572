"""Another user's process, which tries to have `mkdir TRACE` run wherever something listens.

`python -m tests.workers.intruder TRACE PORT…` tries each port without credentials and with some of
its own, by the messages that workers and nannies (`run`) and a scheduler (`run_function`) obey.
"""

import asyncio
import os
import sys
from typing import Any

from distributed.core import connect
from distributed.protocol.pickle import dumps
from distributed.security import Security

_SECONDS = 2


async def _enter(port: str, security: Security | None, message: str, trace: str) -> None:
    call: dict[str, Any] = {"function": dumps(os.mkdir), "args": dumps((trace,)), "wait": True}
    how = {} if security is None else security.get_connection_args("client")
    address = f"{'tcp' if security is None else 'tls'}://127.0.0.1:{port}"
    comm = await connect(address, timeout=_SECONDS, **how)
    await comm.write({"op": message, "kwargs": dumps({}), **call})
    await comm.read()


async def _main(trace: str, ports: list[str]) -> None:
    tries = [
        asyncio.create_task(_enter(port, security, message, trace))
        for port in ports
        for security in (None, Security.temporary())
        for message in ("run", "run_function")
    ]
    await asyncio.wait(tries, timeout=2 * _SECONDS)
    answered = [one.done() and one.exception() is None for one in tries]
    print(*("answered" if yes else "refused" for yes in answered), flush=True)
    os._exit(0)  # some may hang for ever


if __name__ == "__main__":
    asyncio.run(_main(sys.argv[1], sys.argv[2:]))

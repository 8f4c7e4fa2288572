"""The command line: `pangaea COMMAND …`."""

import errno
import io
import sys

import typer

from pangaea import system
from pangaea.cli import (  # noqa: F401 (the commands)
    export,
    inspect,
    language,
    paper,
    report,
    study,
    training,
)
from pangaea.cli.app import app, nowhere
from pangaea.errors import PangaeaError, ParseError


def main() -> None:
    """Run a command; what a person got wrong is one sentence, never a traceback."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # a terminal without Greek letters shows ?
    try:
        system.check()
        app()
    except ParseError as error:
        typer.echo(f"error: not a function: {error}", err=True)
        sys.exit(2)
    except PangaeaError as error:
        typer.echo(f"error: {error}", err=True)
        sys.exit(2)
    except KeyboardInterrupt:
        sys.exit(130)
    except BrokenPipeError:
        # The reader has gone: `pangaea list | head`.
        nowhere()
        sys.exit(1)
    except OSError as error:
        if error.errno not in _FULL:
            raise
        nowhere()
        typer.echo(f"error: cannot write the output: {error.strerror}", err=True)
        sys.exit(2)


# What a disk or a device says to a writer; never a mistake of ours.
_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)

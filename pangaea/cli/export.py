"""The command that takes a function elsewhere: export."""

from pathlib import Path
from typing import Annotated

import typer

from pangaea.cli.app import app, say
from pangaea.cli.language import FunctionText
from pangaea.errors import PangaeaError
from pangaea.export import destinations

_PARAMETER = typer.Option(help="A value for it, instead of the 1 that training starts from.")


@app.command("export", context_settings={"ignore_unknown_options": True})
def export_function(
    function: FunctionText,
    to: Annotated[
        str, typer.Option("--to", metavar="TARGET", help=", ".join(destinations()) + ".")
    ],
    output: Annotated[
        Path | None, typer.Option("-o", "--output", metavar="FILE", help="Write it to a file.")
    ] = None,
    name: Annotated[str | None, typer.Option("--name", help="What to call it there.")] = None,
    alpha: Annotated[float | None, _PARAMETER] = None,
    beta: Annotated[float | None, _PARAMETER] = None,
    gamma: Annotated[float | None, _PARAMETER] = None,
) -> None:
    """Export a function: source, a graph or text that needs nothing of this package."""
    from pangaea.export import export

    values = {"alpha": alpha, "beta": beta, "gamma": gamma}
    given = {parameter: value for parameter, value in values.items() if value is not None}
    result = export(function, to, parameters=given, name=name)
    if output is not None:
        _write(output, result.encode() if isinstance(result, str) else result)
        say(f"{to} written to {output}")
    elif isinstance(result, bytes):
        raise PangaeaError(f"{to} is not text: say where to write it with -o FILE")
    else:
        typer.echo(result, nl=False)


def _write(path: Path, content: bytes) -> None:
    from pangaea.files import replacing

    try:
        if path.exists() and not path.is_file():
            # /dev/stdout or a pipe is written to, not replaced by a file.
            path.write_bytes(content)
        else:
            with replacing(path) as file:
                file.write(content)
    except OSError as error:
        raise PangaeaError(f"cannot write {path}: {error.strerror or error}") from None

"""Commands that show studies: report, dashboard."""

from pathlib import Path
from typing import Annotated

import typer

from pangaea.cli.app import app, say

Studies = Annotated[list[Path], typer.Argument(metavar="STUDY...", help="Studies' files.")]


@app.command()
def report(
    studies: Studies,
    output: Annotated[
        Path | None,
        typer.Option("-o", "--output", metavar="FILE", help="Default for HTML: report.html."),
    ] = None,
    kind: Annotated[
        str | None,
        typer.Option("--format", help="html, md, csv or json. Default: as FILE ends, or html."),
    ] = None,
    png: Annotated[
        Path | None, typer.Option(metavar="FOLDER", help="Write the figures as PNG files, too.")
    ] = None,
) -> None:
    """Write a report of studies: figures, functions, settings, in one file."""
    from pangaea.report import formats

    if kind in (None, "html") and output is None:
        output = Path("report.html")
    text = formats.write(studies, output, kind, png)
    if output is None:
        typer.echo(text, nl=False)
    else:
        say(f"report written to {output}")
    if png is not None and output is not None:
        say(f"figures written to {png}")


@app.command()
def dashboard(
    studies: Studies,
    host: Annotated[
        str, typer.Option(help="Where to listen; beyond this machine a token is asked for.")
    ] = "127.0.0.1",
    port: Annotated[
        int | None, typer.Option(min=0, max=65535, help="Default: 8765, or a free one.")
    ] = None,
) -> None:
    """Show studies live in a browser; closing it stops nothing."""
    from pangaea.report.page.dashboard import serve

    serve(studies, host, port, typer.echo)

"""Commands on functions: space, list, show."""

import json
from pathlib import Path
from typing import Annotated, Any

import typer

import pangaea
from pangaea.cli.app import app, console, say
from pangaea.errors import UnknownNameError

FunctionText = Annotated[
    str,
    typer.Argument(
        metavar="FUNCTION",
        help="An expression such as 'alpha*x - log(sigmoid(beta*x))', or a name such as relu.",
    ),
]


@app.command()
def space() -> None:
    """Show the size of the search space, as the paper counts it and as it is."""
    from pangaea.functions.space import rows
    from pangaea.report.terminal import language

    console.print(language.space_table(rows()))
    console.print()
    console.print(language.totals_table(rows()))
    say(
        "\nThe paper counts one arrangement of three binary and four unary nodes; there are five, "
        "and its total follows from the one."
    )


@app.command("list")
def list_functions(
    table: Annotated[
        str | None, typer.Option("--table", help="Only the rows of one of the paper's tables.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print as JSON.")] = False,
) -> None:
    """List the catalog: the paper's functions and baselines, with the accuracies it prints."""
    from dataclasses import asdict

    from pangaea.functions.paper import FIGURES
    from pangaea.report.terminal import language

    tables = {figure.table for figure in FIGURES}
    if table is not None and table not in tables:
        raise UnknownNameError("table", table, tables)
    figures = [figure for figure in FIGURES if table in (None, figure.table)]
    if as_json:
        typer.echo(json.dumps([asdict(figure) for figure in figures], indent=2))
        return
    console.print(language.catalog_table(figures), highlight=False)
    say(
        "\nTest accuracies in percent as the paper prints them, mean ± sample sd, n = 10 unless "
        "said; CIFAR-10 for all-cnn-c, CIFAR-100 for the others. Parameters are per channel unless "
        "said. --table NAME shows one of its tables: " + ", ".join(sorted(tables))
    )


@app.command(context_settings={"ignore_unknown_options": True})
def show(
    function: FunctionText,
    png: Annotated[
        Path | None, typer.Option("--png", metavar="FILE", help="Write the plot to a PNG file.")
    ] = None,
    alpha: Annotated[float | None, typer.Option(help="Value of alpha.")] = None,
    beta: Annotated[float | None, typer.Option(help="Value of beta.")] = None,
    gamma: Annotated[float | None, typer.Option(help="Value of gamma.")] = None,
) -> None:
    """Show a function: its forms, tree, values, slopes, bounds, kinks and a plot."""
    from pangaea.report.terminal import curve, language

    asked = {"alpha": alpha, "beta": beta, "gamma": gamma}
    f, value, slope = _evaluable(function, {k: v for k, v in asked.items() if v is not None})
    if png is not None:
        curve.png(png, value, slope, f.readable())
    console.print(language.facts_table(f, value, slope, console.width), highlight=False)
    if isinstance(f, pangaea.Function):
        console.print()
        console.print(language.tree(f), highlight=False)
    console.print()
    console.print(language.points_table(value, slope), highlight=False)
    plot = curve.terminal(value, most=console.width)
    say("\n" + (plot if png is None else f"plot written to {png}"))


def _evaluable(text: str, parameters: dict[str, float]) -> tuple[Any, Any, Any]:
    """A function with its value and slope at these parameters."""
    from pangaea.activation.names import resolve

    f: Any = resolve(text)
    for name in parameters:
        if name not in f.parameters:
            raise UnknownNameError(f"parameter of {f.readable()}", name, f.parameters)
    return f, lambda x: f(x, **parameters), lambda x: f.slope(x, **parameters)

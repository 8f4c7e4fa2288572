"""The command line: `pangaea COMMAND …`."""

import io
import json
import os
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

import pangaea
from pangaea.errors import PangaeaError, ParseError, UnknownNameError

app = typer.Typer(
    help="Find better activation functions for a neural network, automatically.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
console = Console()

FunctionText = Annotated[
    str,
    typer.Argument(
        metavar="FUNCTION",
        help="An expression such as 'alpha*x - log(sigmoid(beta*x))', or a name such as relu.",
    ),
]


def _version(asked: bool) -> None:
    if asked:
        typer.echo(f"pangaea {pangaea.__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_version, is_eager=True, help="Show the version."),
    ] = False,
) -> None:
    pass


@app.command()
def space() -> None:
    """Show the size of the search space, as the paper counts it and as it is."""
    from pangaea.functions.space import rows
    from pangaea.report import language

    console.print(language.space_table(rows()))
    console.print()
    console.print(language.totals_table(rows()))
    _say(
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
    from pangaea.report import language

    tables = {figure.table for figure in FIGURES}
    if table is not None and table not in tables:
        raise UnknownNameError("table", table, tables)
    figures = [figure for figure in FIGURES if table in (None, figure.table)]
    if as_json:
        typer.echo(json.dumps([asdict(figure) for figure in figures], indent=2))
        return
    console.print(language.catalog_table(figures), highlight=False)
    _say(
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
    alpha: Annotated[float, typer.Option(help="Value of alpha.")] = 1.0,
    beta: Annotated[float, typer.Option(help="Value of beta.")] = 1.0,
    gamma: Annotated[float, typer.Option(help="Value of gamma.")] = 1.0,
) -> None:
    """Show a function: its forms, tree, values, slopes, bounds, kinks and a plot."""
    from pangaea.report import curve, language

    f, value, slope = _evaluable(function, {"alpha": alpha, "beta": beta, "gamma": gamma})
    if png is not None:
        curve.png(png, value, slope, f.readable())
    console.print(language.facts_table(f, value, slope), highlight=False)
    if isinstance(f, pangaea.Function):
        console.print()
        console.print(language.tree(f), highlight=False)
    console.print()
    console.print(language.points_table(value, slope), highlight=False)
    _say("\n" + (curve.terminal(value) if png is None else f"plot written to {png}"))


def _say(text: str) -> None:
    console.print(text, highlight=False, markup=False, soft_wrap=not console.is_terminal)


def _evaluable(text: str, parameters: dict[str, float]) -> tuple[Any, Any, Any]:
    """A function with its value and slope; torch is needed for the learnable baselines only."""
    from pangaea.functions.catalog import LEARNABLE

    if text.strip().lower() in LEARNABLE:
        from pangaea.activation.learnable import LEARNABLE as BASELINES

        baseline = BASELINES[text.strip().lower()]
        return baseline, baseline, baseline.slope
    f = pangaea.parse(text)
    own = {name: parameters[name] for name in f.parameters}
    return f, lambda x: f(x, **own), lambda x: f.slope(x, **own)


@app.command(context_settings={"ignore_unknown_options": True})
def evaluate(
    functions: Annotated[
        list[str],
        typer.Argument(metavar="FUNCTION...", help="Functions to judge: expressions or names."),
    ],
    task: Annotated[str, typer.Option(help="What to judge on; `pangaea tasks` lists them.")] = (
        "mnist1d"
    ),
    runs: Annotated[int, typer.Option(help="Runs of each function, with different seeds.")] = 10,
    against: Annotated[
        str | None, typer.Option(help="A function to compare with, such as relu.")
    ] = None,
    recipe: Annotated[str, typer.Option(help="full, search or pau.")] = "full",
    epochs: Annotated[
        int | None, typer.Option(help="Compress the recipe's whole schedule to so many epochs.")
    ] = None,
    data: Annotated[str, typer.Option(help="test or validation.")] = "test",
    scope: Annotated[
        str | None, typer.Option(help="layer, channel or neuron; the paper's choice if not given.")
    ] = None,
    seed: Annotated[int, typer.Option(help="The first seed.")] = 0,
    device: Annotated[str | None, typer.Option(help="cpu, cuda or cuda:1.")] = None,
    precision: Annotated[str | None, typer.Option(help="bf16 or fp32.")] = None,
    compiled: Annotated[
        bool | None,
        typer.Option(
            "--compile/--no-compile",
            help="Compile the network first; if not said, where it pays (long runs on a GPU).",
        ),
    ] = None,
    checkpoints: Annotated[
        Path | None,
        typer.Option(
            metavar="FOLDER",
            help="Keep checkpoints there; the same command goes on where it was stopped.",
        ),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print as JSON.")] = False,
) -> None:
    """Train functions several times each, and compare their accuracies."""
    from pangaea.activation.module import resolve
    from pangaea.report import evaluation
    from pangaea.report.progress import bar

    wanted = [*functions] if against is None else [against, *functions]
    forms = list(dict.fromkeys(resolve(text) for text in wanted))
    judged = []
    with bar(sys.stderr, len(forms)) as advance:
        for i, form in enumerate(forms):
            advance(i, form.readable())
            judged.append(
                pangaea.evaluate(
                    form,
                    task,
                    runs,
                    recipe,
                    data,
                    seed=seed,
                    scope=scope,  # type: ignore[arg-type]
                    epochs=epochs,
                    device=device,
                    precision=precision,
                    compiled=compiled,
                    checkpoints=None if checkpoints is None else checkpoints / _slug(form),
                    progress=partial(_onwards, advance, i),
                )
            )
    found = evaluation.rows(judged, judged[0] if against is not None else None)
    if as_json:
        typer.echo(json.dumps(found, indent=2))
        return
    console.print(evaluation.table(found), highlight=False)
    _say(f"\n{data} accuracy in percent on {task}, mean ± sample sd")
    if against is not None:
        _say(
            f"p: one-tailed Welch t-test against {forms[0].readable()}; "
            "* p ≤ 0.05, ** p ≤ 0.01, *** p ≤ 0.001"
        )


def _onwards(advance: Callable[..., None], before: int, part: float) -> None:
    advance(before + part)


def _slug(form: object) -> str:
    import hashlib

    return hashlib.sha256(str(form).encode()).hexdigest()[:16]


@app.command()
def tasks(
    as_json: Annotated[bool, typer.Option("--json", help="Print as JSON.")] = False,
) -> None:
    """List the tasks, with their size, their cost and whether their data is here."""
    from pangaea.report import evaluation

    found = evaluation.task_rows()
    if as_json:
        typer.echo(json.dumps(found, indent=2))
        return
    console.print(evaluation.task_table(found), highlight=False)
    _say(
        "\nepochs and cost: in the search and the full recipe; the cost is the multiplications of "
        "one training run, forward and backward, in units of 10¹⁵. Data not here is downloaded on "
        "first use."
    )


def main() -> None:
    """Run a command; what a person got wrong is one sentence, never a traceback."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # a terminal without Greek letters shows ?
    try:
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
        # The reader has gone (`pangaea list | head`): what is left goes nowhere, silently.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)

"""Commands on functions: space, operators, list, show."""

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

import pangaea
from pangaea.cli.app import app, console, say
from pangaea.errors import PangaeaError, UnknownNameError

if TYPE_CHECKING:
    from pangaea.functions.space import Space

_OTHER_PICTURES = (".gif", ".jpeg", ".jpg", ".pdf", ".svg", ".webp")
FunctionText = Annotated[
    str,
    typer.Argument(
        metavar="FUNCTION",
        help="An expression such as 'alpha*x - log(sigmoid(beta*x))', or a name such as relu.",
    ),
]


@app.command()
def space(
    preset: Annotated[
        str, typer.Option("--preset", metavar="NAME", help="A preset; the paper's is the default.")
    ] = "paper",
    operators: Annotated[
        str | None,
        typer.Option(
            "--operators", metavar="A,B,…", help="Only these operators, of all there are."
        ),
    ] = None,
    exclude: Annotated[
        str | None,
        typer.Option("--exclude", metavar="A,B,…", help="Less these operators."),
    ] = None,
) -> None:
    """Show a search space: its operators, its shape and how many functions are counted in it."""
    from pangaea.functions import space as spaces
    from pangaea.functions.counting import splits
    from pangaea.report.terminal import language

    shown = spaces.space(preset, operators, exclude)
    console.print(language.space_table(shown), highlight=False)
    console.print()
    console.print(language.splits_table(splits(shown)))
    console.print()
    console.print(language.totals_table(splits(shown)))
    say("\n" + _about_the_total(shown))
    if shown == spaces.PAPER:
        say("\nPresets, for --preset:")
        console.print(language.presets_table(), highlight=False)


def _about_the_total(space: "Space") -> str:
    """What a total counts, which is not always what a search can reach."""
    from pangaea.functions.space import PAPER

    if space.levels:
        return "Core units are inserted and removed whole, so a search stays among these functions."
    reach = (
        f"lets x enter unary nodes only and ends at {space.max_nodes} nodes, while mutations may "
        f"feed x straight into a binary node and pass {space.max_nodes} nodes by a few."
    )
    if space != PAPER:
        return f"The total is not the number of functions that a search can reach: it {reach}"
    return (
        "The paper counts one arrangement of three binary and four unary nodes; there are five, "
        "and its total follows from the one. Neither total is the number of functions that a "
        f"search can reach: each {reach}"
    )


@app.command("operators")
def list_operators(
    as_json: Annotated[bool, typer.Option("--json", help="Print as JSON.")] = False,
) -> None:
    """List the operators (the paper's Table 1), and which presets of the search space have them."""
    from pangaea.functions.operators import OPERATORS, SMOOTH, SPECIAL
    from pangaea.functions.space import PRESETS
    from pangaea.report.terminal import language

    if not as_json:
        console.print(language.operators_table(console.width), highlight=False)
        same = "; ".join(" and ".join(names) for names in language.alike() if len(names) > 1)
        say(
            f"\nThe same operators have {same}. Those of no preset are read all the same. Special "
            f"functions, which cheap leaves out: {', '.join(sorted(SPECIAL))}. pangaea show "
            "'tanh(x)' draws one; pangaea space shows a preset."
        )
        return
    rows = [
        {
            "name": name,
            "arity": row.arity,
            "formula": row.formula(),
            "latex": row.latex_formula(),
            "slope_at_0": row.slopes(0.0)[0] if row.arity == 1 else None,
            "smooth": name in SMOOTH,
            "special": name in SPECIAL,
            "presets": [preset.name for preset in PRESETS.values() if name in preset.operators],
        }
        for name, row in OPERATORS.items()
    ]
    typer.echo(json.dumps(rows, indent=2, ensure_ascii=False))


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
    if table is None:
        console.print(language.catalog_table(figures, console.width), highlight=False)
    else:
        console.print(language.printed_table(figures), highlight=False)
        say(
            f"\nThe paper's table {table}: test accuracies in percent, mean ± sample sd, n = 10 "
            "unless said, stars as there; CIFAR-10 for all-cnn-c, CIFAR-100 for the others."
        )
        return
    say(
        "\nTest accuracies in percent as the paper prints them, mean ± sample sd, n = 10 unless "
        "said; CIFAR-10 for all-cnn-c, CIFAR-100 for the others. Parameters are per channel unless "
        "said. --table NAME shows one of its tables: " + ", ".join(sorted(tables))
    )


@app.command(context_settings={"ignore_unknown_options": True})
def show(
    function: Annotated[
        str,
        typer.Argument(
            metavar="FUNCTION",
            help="An expression such as 'alpha*x - log(sigmoid(beta*x))', a name such as relu, or "
            "a study's file.",
        ),
    ],
    candidate: Annotated[
        str | None,
        typer.Argument(metavar="[NUMBER]", help="Of a candidate of the study. Default: the best."),
    ] = None,
    png: Annotated[
        Path | None, typer.Option("--png", metavar="FILE", help="Write the plot to a PNG file.")
    ] = None,
    alpha: Annotated[float | None, typer.Option(help="Value of alpha.")] = None,
    beta: Annotated[float | None, typer.Option(help="Value of beta.")] = None,
    gamma: Annotated[float | None, typer.Option(help="Value of gamma.")] = None,
) -> None:
    """Show a function: its forms, tree, values, slopes, bounds, kinks and a plot.

    Of a study's candidate also its scores, and what training made of its parameters.
    """
    from pangaea.report.candidate import Candidate
    from pangaea.report.terminal import curve, language

    asked = {"alpha": alpha, "beta": beta, "gamma": gamma}
    given = {name: value for name, value in asked.items() if value is not None}
    if wrong := [name for name, value in given.items() if not math.isfinite(value)]:
        raise PangaeaError(f"{wrong[0]} is a finite number, got {given[wrong[0]]}")
    if png is not None and png.suffix.lower() in _OTHER_PICTURES:
        raise PangaeaError(f"the plot is a PNG file: call it {png.with_suffix('.png')}")
    study = study_file(function, candidate)
    one = None if study is None else Candidate.read(study, candidate_number(candidate))
    if one is not None:
        function, given = one.function, one.means | given
    f, value, slope = _evaluable(function, given)
    if png is not None:
        curve.png(png, value, slope, f.readable())
    more = {} if one is None else one.facts
    if one is None and given:
        more["shown at"] = ", ".join(f"{name} = {number:g}" for name, number in given.items())
    console.print(language.facts_table(f, value, slope, console.width, more), highlight=False)
    if one is not None and one.layers:
        console.print()
        console.print(language.layers_table(one.layers), highlight=False)
    if isinstance(f, pangaea.Function):
        console.print()
        console.print(language.tree(f), highlight=False)
    console.print()
    console.print(language.points_table(value, slope), highlight=False)
    plot = curve.terminal(value, most=console.width)
    say("\n" + (plot if png is None else f"plot written to {png}"))


def candidate_number(text: str | None) -> int | None:
    if text is None or text.isdecimal():
        return None if text is None else int(text)
    raise PangaeaError(f"the second argument is the number of a candidate, got {text!r}")


def study_file(text: str, candidate: str | None) -> Path | None:
    """The study's file that a text names, if it is no function."""
    from pangaea.errors import ParseError
    from pangaea.functions.catalog import resolve

    try:
        resolve(text)
        error = None
    except ParseError as unreadable:
        error = unreadable
    if error is None and candidate is None:
        return None
    if text.endswith(".study") or _is_file(text):
        return Path(text)
    if error is None:
        raise PangaeaError(
            f"{text} is a function; a number, {candidate}, belongs to a study's file"
        )
    if text and _is_folder(text):
        raise PangaeaError(f"{text} is a folder, not a study")
    if candidate is None:
        raise error
    return Path(text)


def _is_folder(text: str) -> bool:
    return _is(Path.is_dir, text)


def _is_file(text: str) -> bool:
    return _is(Path.is_file, text)


def _is(kind: Callable[[Path], bool], text: str) -> bool:
    try:
        return kind(Path(text))
    except (OSError, ValueError):  # too long for a name, or with a null character
        return False


def _evaluable(text: str, parameters: dict[str, float]) -> tuple[Any, Any, Any]:
    """A function with its value and slope at these parameters."""
    from pangaea.functions.catalog import resolve

    f: Any = resolve(text)
    for name in parameters:
        if name not in f.parameters:
            raise UnknownNameError(f"parameter of {f.readable()}", name, f.parameters)
    return f, lambda x: f(x, **parameters), lambda x: f.slope(x, **parameters)

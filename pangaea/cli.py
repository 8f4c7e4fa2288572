"""The command line: `pangaea COMMAND …`."""

import json
import math
import os
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

import pangaea
from pangaea.errors import PangaeaError, ParseError

if TYPE_CHECKING:
    from rich.tree import Tree

    from pangaea.functions.expression import Expression, Function
    from pangaea.functions.expression import Path as NodePath

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
    from pangaea.functions.space import PAPER_TOTAL, rows

    table = Table("nodes", "binary", "unary", "edges", "arrangements", "functions", box=None)
    for column in table.columns:
        column.justify = "right"
    table_rows = rows()
    for row in table_rows:
        counts = (row.nodes, row.binary, row.unary, row.edges, row.arrangements, row.functions)
        table.add_row(*(f"{count:,}" for count in counts))
    console.print(table)
    console.print()
    by_nodes = {row.nodes: 0 for row in table_rows}
    for row in table_rows:
        by_nodes[row.nodes] += row.functions
    for nodes, count in by_nodes.items():
        console.print(f"{nodes} node{'s' if nodes > 1 else ' '}: {count:>22,}", highlight=False)
    total = sum(row.functions for row in table_rows)
    console.print(f"total  : {total:>22,}", highlight=False)
    console.print(f"paper  : {PAPER_TOTAL:>22,}\n", highlight=False)
    console.print(
        "The paper counts one arrangement of three binary and four unary nodes; there are five, "
        "and its total follows from the one.",
        highlight=False,
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

    from pangaea.errors import UnknownNameError
    from pangaea.functions.paper import FIGURES, Figure

    tables = {figure.table for figure in FIGURES}
    if table is not None and table not in tables:
        raise UnknownNameError("table", table, tables)
    figures = [figure for figure in FIGURES if table in (None, figure.table)]
    if as_json:
        typer.echo(json.dumps([asdict(figure) for figure in figures], indent=2))
        return
    by_name: dict[str, list[Figure]] = {}
    for figure in figures:
        by_name.setdefault(figure.name, []).append(figure)
    networks = list(dict.fromkeys(figure.network for figure in figures if figure.network))
    shown = Table("name", "function", box=None, pad_edge=False)
    columns = networks if len(networks) <= 3 else ["wrn-10-4", "resnet-v1-56", "resnet-v2-56"]
    for network in columns:
        shown.add_column(network, justify="right", no_wrap=True)
    rest = len(networks) > 3
    if rest:
        shown.add_column("elsewhere", no_wrap=True)
    for name, rows in by_name.items():
        accuracies: dict[str, str] = {}
        for row in rows:
            if row.mean is not None and row.network:
                accuracies.setdefault(row.network, _printed(row.mean, row.sd, row.n))
        others = [f"{net} {text}" for net, text in accuracies.items() if net not in columns]
        cells = [name, _readable(rows[0].function), *(accuracies.get(net, "") for net in columns)]
        shown.add_row(*cells, *(["; ".join(others)] if rest else []))
    console.print(shown, highlight=False)
    console.print(
        "\nThe paper's test accuracies in percent, mean ± sample sd; ten runs unless (n) says "
        "otherwise. `--table NAME` shows one table of: " + ", ".join(sorted(tables)),
        highlight=False,
    )


def _printed(mean: float, sd: float | None, n: int | None) -> str:
    spread = "" if sd is None else f" ± {sd:.2f}"
    return f"{mean:.2f}{spread}" + ("" if n == 10 else f" ({n})")


def _readable(text: str) -> str:
    from pangaea.functions.catalog import LEARNABLE, parse

    return f"[{text}]" if text in LEARNABLE else parse(text).readable()


@app.command()
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
    from pangaea.functions.shape import shape
    from pangaea.report import curve

    f, value, slope = _evaluable(function, {"alpha": alpha, "beta": beta, "gamma": gamma})
    facts = Table(box=None, show_header=False, pad_edge=False)
    facts.add_row("function", f.readable())
    facts.add_row("canonical", str(f))
    facts.add_row("LaTeX", f.latex())
    facts.add_row("parameters", ", ".join(f.parameters) or "none")
    seen = shape(value, slope)
    bounds = [_bound(seen.lower, "below"), _bound(seen.upper, "above")]
    facts.add_row("bounds", ", ".join(bounds))
    facts.add_row("monotonic", seen.direction or "no")
    facts.add_row("kinks", _places(seen.kinks))
    if seen.jumps:
        facts.add_row("jumps", _places(seen.jumps))
    if seen.undefined:
        facts.add_row("undefined", "for some inputs (NaN)")
    console.print(facts, highlight=False, markup=False, soft_wrap=True)
    if isinstance(f, pangaea.Function):
        console.print()
        console.print(_tree(f), highlight=False)
    console.print()
    table = Table("x", "value", "slope", box=None, pad_edge=False)
    for column in table.columns:
        column.justify = "right"
    for x in (-5.0, -2.0, -1.0, -0.5, 0.0, 0.5, 1.0, 2.0, 5.0):
        table.add_row(f"{x:g}", f"{value(x) + 0.0:.6g}", f"{slope(x) + 0.0:.6g}")
    console.print(table, highlight=False)
    if png is not None:
        curve.png(png, value, slope, f.readable())
        console.print(f"\nplot written to {png}", highlight=False, soft_wrap=True)
    else:
        console.print("\n" + curve.terminal(value), highlight=False, soft_wrap=True)


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


def _bound(limit: float, side: str) -> str:
    if math.isnan(limit):
        return f"undefined {side}"
    return f"unbounded {side}" if math.isinf(limit) else f"bounded {side} by {limit:.6g}"


def _places(places: tuple[float, ...]) -> str:
    shown = ", ".join(f"{x:g}" for x in places[:6])
    return (f"at x = {shown}" + (", …" if len(places) > 6 else "")) if places else "none"


def _tree(f: "Function") -> "Tree":
    from rich.markup import escape
    from rich.tree import Tree

    names = dict(zip(f.parameter_edges, ("α·", "β·", "γ·"), strict=False))

    def grow(node: "Expression", path: "NodePath", branch: Tree | None) -> Tree:
        label = escape(names.get(path, "") + node.operator)
        grown = Tree(label) if branch is None else branch.add(label)
        for i, child in enumerate(node.inputs):
            grow(child, (*path, i), grown)
        return grown

    return grow(f.expression, (), None)


@app.command()
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
        bool, typer.Option("--compile", help="Compile the network first: for long runs.")
    ] = False,
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
    console.print(f"\n{data} accuracy in percent on {task}, mean ± sample sd", highlight=False)
    if against is not None:
        console.print(
            f"p: one-tailed Welch t-test against {forms[0].readable()}; "
            "* p ≤ 0.05, ** p ≤ 0.01, *** p ≤ 0.001",
            highlight=False,
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
    console.print(
        "\ncost: multiplications of one training run, forward and backward, in the search and the "
        "full recipe; 1 P = 10¹⁵",
        highlight=False,
    )


def main() -> None:
    """Run a command; what a person got wrong is one sentence, never a traceback."""
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

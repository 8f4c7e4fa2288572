"""Commands that train: evaluate, tasks."""

import json
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

import pangaea
from pangaea.cli.app import app, console, say


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
        bool,
        typer.Option("--compile", help="Compile the network first: for long runs on the CPU."),
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
    from pangaea.report.terminal import evaluation
    from pangaea.report.terminal.progress import bar

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
    say(f"\n{data} accuracy in percent on {task}, mean ± sample sd")
    if against is not None:
        say(
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
    from pangaea.report.terminal import evaluation

    found = evaluation.task_rows()
    if as_json:
        typer.echo(json.dumps(found, indent=2))
        return
    console.print(evaluation.task_table(found), highlight=False)
    say(
        "\nepochs and cost: in the search and the full recipe; the cost is the multiplications of "
        "one training run, forward and backward, in units of 10¹⁵. Data not here is downloaded on "
        "first use."
    )

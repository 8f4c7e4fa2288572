"""Commands that train: evaluate, tasks."""

import json
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

import pangaea
from pangaea.cli.app import app, console, say
from pangaea.cli.options import with_options
from pangaea.settings import declarations
from pangaea.training.how import How


@app.command(context_settings={"ignore_unknown_options": True})
@with_options({"How it is trained": declarations(How)})
def evaluate(
    given: dict[str, Any],
    functions: Annotated[
        list[str],
        typer.Argument(metavar="FUNCTION...", help="Functions to judge: expressions or names."),
    ],
    task: Annotated[
        str, typer.Option(help="One of `pangaea tasks`, or your own, my_task.py:task.")
    ] = "mnist1d",
    runs: Annotated[int, typer.Option(help="Runs of each function, with different seeds.")] = 10,
    against: Annotated[
        str | None, typer.Option(help="A function to compare with, such as relu.")
    ] = None,
    recipe: Annotated[str, typer.Option(help="full or search; pau for built-in tasks.")] = "full",
    epochs: Annotated[
        int | None,
        typer.Option(
            "--epochs",
            "--budget",
            help="Compress the whole schedule to so many of the task's units.",
        ),
    ] = None,
    data: Annotated[str, typer.Option(help="test or validation.")] = "test",
    scope: Annotated[
        str | None, typer.Option(help="layer, channel or neuron; the paper's choice if not given.")
    ] = None,
    seed: Annotated[int, typer.Option(help="From which every run draws one of its own.")] = 0,
    as_json: Annotated[bool, typer.Option("--json", help="Print as JSON.")] = False,
) -> None:
    """Train functions several times each, and compare their scores."""
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
                    progress=partial(_onwards, advance, i),
                    **given | _apart(given, form),
                )
            )
    rows = evaluation.rows(judged, judged[0] if against is not None else None)
    if as_json:
        typer.echo(json.dumps(rows, indent=2))
        return
    console.print(evaluation.table(rows), highlight=False)
    say(f"\n{judged[0].goal.label(data)} on {task}, mean ± sample sd")
    if against is not None:
        say(
            f"p: one-tailed Welch t-test against {forms[0].readable()}; "
            "* p ≤ 0.05, ** p ≤ 0.01, *** p ≤ 0.001"
        )


def _onwards(advance: Callable[..., None], before: int, part: float) -> None:
    advance(before + part)


def _apart(given: dict[str, Any], form: object) -> dict[str, str]:
    """Every function has a folder of its own for checkpoints."""
    import hashlib

    if "checkpoints" not in given:
        return {}
    name = hashlib.sha256(str(form).encode()).hexdigest()[:16]
    return {"checkpoints": str(Path(given["checkpoints"]) / name)}


@app.command()
def tasks(
    as_json: Annotated[bool, typer.Option("--json", help="Print as JSON.")] = False,
) -> None:
    """List the tasks, with their size, their cost and whether their data is here."""
    from pangaea.report.terminal import evaluation

    rows = evaluation.task_rows()
    if as_json:
        typer.echo(json.dumps(rows, indent=2))
        return
    console.print(evaluation.task_table(rows), highlight=False)
    say(
        "\nepochs and cost: in the search and the full recipe; the cost is the multiplications of "
        "one training run, forward and backward, in units of 10¹⁵. Data not here is downloaded on "
        "first use."
    )

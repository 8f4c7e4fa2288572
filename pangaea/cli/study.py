"""Commands on studies: search, resume, top, general."""

import json
import shlex
import sys
import time
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from pangaea.cli.app import app, console, say
from pangaea.cli.options import Groups, with_options
from pangaea.settings import declarations
from pangaea.study.file import check_free
from pangaea.study.runner import Watch
from pangaea.study.settings import LATER, Settings, known
from pangaea.study.study import Study
from pangaea.workers.place import Place

StudyFile = Annotated[Path, typer.Argument(metavar="STUDY", help="A study's file.")]
PLACE: Groups = {"Where it runs": declarations(Place)}
# What is not given stays as it is.
CHANGES: Groups = {
    "What changes": [d if d.kind is bool else d._replace(default=None) for d in LATER]
}
SETTINGS: Groups = {
    "The search": declarations(Settings),
    "The strategy": [d for d in known().values() if d not in declarations(Settings)],
}


@app.command()
@with_options(SETTINGS | PLACE)
def search(
    given: dict[str, Any],
    study: Annotated[
        Path | None, typer.Option(help="The study's file. Default: named after the task.")
    ] = None,
    settings: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Settings from a TOML file.")
    ] = None,
    dry_run: Annotated[
        bool,
        typer.Option(help="Try a task of your own for a moment first, and say how long it takes."),
    ] = True,
    print_settings: Annotated[
        bool, typer.Option("--print-settings", help="Print the settings as TOML, and do no more.")
    ] = False,
) -> None:
    """Search for better activation functions, train the best again and test them.

    Defaults are the paper's. A task may have others: --print-settings shows what would be used.
    """
    began = time.monotonic()  # what is imported now takes seconds
    from pangaea.study import driver
    from pangaea.study.settings import toml

    place = _place(given)
    task, wanted = driver.chosen_settings(given.pop("task", None), given, settings)
    if print_settings:
        typer.echo(toml(wanted), nl=False)
        return
    path = driver.free_name(task.name) if study is None else study
    check_free(path)
    say(f"{task.name}: {wanted.extent}, study {path}")
    values = wanted.as_dict()
    _watched(
        path,
        place,
        began,
        lambda watch: driver.search(
            study=path, watch=watch, dry_run=dry_run, **values, **asdict(place)
        ),
    )


@app.command()
@with_options(CHANGES | PLACE)
def resume(
    given: dict[str, Any],
    study: StudyFile,
    task: Annotated[
        str | None,
        typer.Option(help="Where the study's own task stands now, if its file was moved."),
    ] = None,
) -> None:
    """Go on with a search where it was stopped; with more --candidates also where it ended."""
    began = time.monotonic()
    from pangaea.study import driver

    place = _place(given)
    _watched(
        study,
        place,
        began,
        lambda watch: driver.resume(study, task=task, watch=watch, **given, **asdict(place)),
    )


def _place(given: dict[str, Any]) -> Place:
    return Place.taken(given)


def _watched(path: Path, place: Place, began: float, run: Callable[[Watch], Study]) -> None:
    """Run a search with a display; interrupted, say how to go on."""
    from pangaea.report import formats, records
    from pangaea.report.terminal import best
    from pangaea.report.terminal.search import display

    try:
        with display(console) as watch:
            watch.asked_at = began
            run(watch).close()
    except KeyboardInterrupt:
        if path.exists():
            say(f"stopped; everything so far is in {path}. To go on:\n\n    {_again(path, place)}")
        sys.exit(130)
    page = formats.beside(path)
    with records.opened(path) as study:
        console.print(best.table(study), highlight=False)
        say(best.footer(study))
        formats.write([path], page)
        say(best.advice(study, page))


def _again(path: Path, place: Place) -> str:
    return f"pangaea resume {shlex.quote(str(path))} {place.options()}".rstrip()


@app.command()
def top(
    study: StudyFile,
    count: Annotated[int, typer.Option("-n", "--count", min=1, help="How many functions.")] = 10,
    as_json: Annotated[bool, typer.Option("--json", help="Print as JSON.")] = False,
    as_csv: Annotated[bool, typer.Option("--csv", help="Print as CSV.")] = False,
) -> None:
    """Show the best functions of a study, finished or running."""
    from pangaea.report import findings, formats, records
    from pangaea.report.front import comparing
    from pangaea.report.terminal import best

    with records.opened(study) as snapshot:
        if as_json:
            typer.echo(json.dumps(findings.rows(snapshot, count), indent=2))
        elif as_csv:
            typer.echo(formats.table_csv(findings.rows(snapshot, count)), nl=False)
        else:
            console.print(best.table(snapshot, count), highlight=False)
            if (front := best.front_table(snapshot)) is not None:
                longer = f"; {comparing(snapshot)}" if "longer" in front.headings else ""
                say(f"\nbest at each cost{longer}")
                console.print(front, highlight=False)
            say(best.footer(snapshot))
            if hint := best.export_hint(snapshot):
                say(hint)


@app.command()
@with_options(PLACE)
def general(
    given: dict[str, Any],
    studies: Annotated[list[Path], typer.Argument(metavar="STUDY...", help="Finished studies.")],
    task: Annotated[
        list[str] | None,
        typer.Option(help="A task to judge on; repeat it. Default: the studies' own tasks."),
    ] = None,
    out: Annotated[
        Path, typer.Option(help="Where the runs are kept; the same command goes on with it.")
    ] = Path("general.study"),
    runs: Annotated[int, typer.Option(min=1, help="Runs of each function on each task.")] = 2,
    tests: Annotated[
        int, typer.Option(min=0, help="Test runs of the general ones; 0 for no test.")
    ] = 10,
    as_json: Annotated[bool, typer.Option("--json", help="Print as JSON.")] = False,
) -> None:
    """Find functions that are good on several tasks among the best of several studies."""
    from pangaea.report.measures import finite, legend
    from pangaea.report.terminal.best import general_table, tested_table
    from pangaea.report.terminal.search import display
    from pangaea.study.general import general as judge
    from pangaea.tasks.finding import task as find_task

    try:
        with display(Console(stderr=True, emoji=False) if as_json else console) as watch:
            rows = judge(
                studies, task or None, out=out, runs=runs, tests=tests, watch=watch, **given
            )
    except KeyboardInterrupt:
        say(f"stopped; the runs so far are in {out}: the same command goes on")
        sys.exit(130)
    if as_json:
        plain = [row | {"scores": {t: finite(s) for t, s in row["scores"].items()}} for row in rows]
        typer.echo(json.dumps(plain, indent=2, allow_nan=False))
        return
    goals = {name: find_task(name).goal for name in rows[0]["scores"]}
    console.print(general_table(rows, goals), highlight=False)
    say(
        "\nMean validation scores with the full budget. General: no other function is "
        "as good on every task and better on one, it is no baseline, and no study chose it before."
    )
    if any(row["test"] for row in rows):
        console.print()
        console.print(tested_table(rows, goals), highlight=False)
        say(f"\nTest scores, mean ± sample sd. {legend('the baseline of each task')}")
    elif not any(row["general"] for row in rows):
        say("\nNone of them is general, so there is nothing to test.")

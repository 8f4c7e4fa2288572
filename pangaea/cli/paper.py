"""Commands on the paper's experiments: paper list, run, show, add, export, fill."""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer

from pangaea.cli import help, language  # noqa: A004 (what `--help` says)
from pangaea.cli.app import App, app, console, say
from pangaea.cli.options import with_options
from pangaea.cli.study import PLACE
from pangaea.errors import PangaeaError
from pangaea.wording import counted

paper = App(
    cls=help.Group,
    help="The paper's tables and figures: run them, and see our numbers beside its own.",
    no_args_is_help=True,
)
app.add_typer(paper, name="paper")

Name = Annotated[str, typer.Argument(metavar="NAME", help="One of `pangaea paper list`.")]
Kept = Annotated[Path, typer.Option(help="The study that holds all of the paper's runs.")]
Size = Annotated[
    str,
    typer.Option(help="paper, lab (a quarter), coarse (16 x 16 pixels) or smoke (a few samples)."),
]
STUDY = Path("paper.study")
# Tables that have a command of their own.
_COMMANDS: dict[str, Callable[[], None]] = {
    "operators": language.list_operators,
    "space": language.space,
}


@paper.command("list")
def list_experiments(study: Kept = STUDY, scale: Size = "paper") -> None:
    """List the paper's tables and figures, what each takes, and how far it is."""
    from pangaea.paper.running import finished
    from pangaea.report.terminal.paper import experiments_table

    ended = finished(study, scale)
    console.print(experiments_table(_runs(study, missing=True), scale, ended), highlight=False)
    say(
        "\nRuns in the study of those that it takes at this scale, searches that ended beside it, "
        "epochs of all of them, and about how long these take here, a GPU counted as an H200 and "
        "every core of a CPU as one of a server's. "
        "pangaea paper run NAME goes on with one, pangaea paper show NAME shows it."
    )


@paper.command()
@with_options(PLACE)
def run(
    given: dict[str, Any],
    name: Name,
    study: Kept = STUDY,
    scale: Size = "paper",
    runs: Annotated[
        int | None, typer.Option(help="Runs of each cell instead of the paper's.")
    ] = None,
    minutes: Annotated[
        float | None, typer.Option(help="Stop after so long; the same command goes on.")
    ] = None,
    only: Annotated[
        list[str] | None,
        typer.Option(
            metavar="TEXT", help="Only cells of this function, group or task, or this search."
        ),
    ] = None,
    log: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Every result also as a line of this file.")
    ] = None,
    commit: Annotated[
        str | None, typer.Option(help="Of the code, where it is no checkout.")
    ] = None,
    precision: Annotated[
        str | None,
        typer.Option(help="bf16 or fp32. Default: bf16 on a GPU, fp32 elsewhere."),
    ] = None,
) -> None:
    """Run what is missing of a table or figure, most telling first."""
    from pangaea.paper import running
    from pangaea.paper.contents import experiment
    from pangaea.report.terminal.search import display

    row = experiment(name)
    if not row.cells and not row.searches:
        say(f"{row.name} takes no runs: pangaea paper show {row.name}")
        return
    try:
        with display(console) as watch:
            outcome = running.run(
                name,
                study=study,
                scale=scale,
                runs=runs,
                minutes=minutes,
                only=only or (),
                log=log,
                commit=commit,
                precision=precision,
                watch=watch,
                **given,
            )
    except KeyboardInterrupt:
        say(f"stopped; everything so far is in {study}: the same command goes on")
        sys.exit(130)
    over = "" if outcome.in_time else "; the minutes are over, the same command goes on"
    if outcome.total or over:
        say(f"{outcome.done} of {outcome.total} runs are there{over}")
    for path in outcome.searches:
        if path.exists():
            say(f"its search is in {path}")
    say(f"\npangaea paper show {name} --study {study}")


@paper.command()
def show(
    name: Name,
    study: Kept = STUDY,
    file: Annotated[
        Path | None, typer.Option("--from", metavar="FILE", help="A file of runs instead.")
    ] = None,
    scale: Annotated[
        str | None, typer.Option(help="Only runs of this scale. Default: the largest there is.")
    ] = None,
    every: Annotated[bool, typer.Option("--all", help="Cells without a run, too.")] = False,
    kind: Annotated[str, typer.Option("--format", help="text, md or latex.")] = "text",
    output: Annotated[
        Path | None,
        typer.Option(
            "-o", "--output", metavar="FILE", help="Of the table, or the figure's HTML page."
        ),
    ] = None,
) -> None:
    """Show a table of the paper with our numbers beside its own, or draw a figure."""
    from pangaea.files import save
    from pangaea.paper.contents import experiment
    from pangaea.paper.scales import scale as sized
    from pangaea.report import paper as shown
    from pangaea.report.paper_figures import drawn

    row = experiment(name)
    if kind != "text" and (row.kind == "figure" or row.name in _COMMANDS):
        raise PangaeaError(f"--format is of tables of scores: {row.name} is none, leave it out")
    if (command := _COMMANDS.get(row.name)) is not None:
        if output is not None:
            raise PangaeaError(
                f"{row.name} is printed alone: `pangaea paper show {row.name} > FILE`"
            )
        command()
        return
    size = None if scale is None else sized(scale)
    if (summary := drawn(name, file or study, output, size)) is not None:
        typer.echo(summary, nl=False)
        return
    if file is None and not every and not study.exists():
        raise PangaeaError(
            f"there is no study at {study}: `pangaea paper run {name}` begins it, and with --all "
            "the paper's own numbers are shown"
        )
    runs = _runs(study if file is None else file, missing=every and file is None)
    text = shown.written(kind, shown.table(name, runs, size, every=every))
    if output is None:
        typer.echo(text, nl=False)
    else:
        save(output, text)
        say(f"written to {output}")


@paper.command()
def add(
    files: Annotated[
        list[Path], typer.Argument(metavar="FILE...", help="Studies, or files of runs.")
    ],
    study: Kept = STUDY,
) -> None:
    """Take over the test runs of other studies, each run once."""
    from pangaea.paper import adding

    became = adding.add(files, study)
    say(f"{counted(became.added, 'run')} added, {became.there} there before")
    for why, count in became.left_out.items():
        say(f"left out: {count} ({why})")


@paper.command()
def export(
    output: Annotated[Path, typer.Argument(metavar="FILE", help="Where the lines go: runs.jsonl.")],
    study: Kept = STUDY,
    curves: Annotated[bool, typer.Option(help="With the curves of every run.")] = False,
) -> None:
    """Write the runs as lines of plain text, which `paper add` reads."""
    from pangaea.paper import lines
    from pangaea.study.study import Study

    with Study.open(study) as opened:
        count = lines.write(output, lines.of_study(opened, curves=curves))
    say(f"{counted(count, 'run')} written to {output}")


@paper.command()
def fill(
    files: Annotated[
        list[Path], typer.Argument(metavar="FILE...", help="Markdown with such blocks.")
    ],
) -> None:
    """Make the tables in Markdown files anew, each by the command that its block names."""
    from pangaea.files import save
    from pangaea.report.paper import filled

    for file in files:
        try:
            before = file.read_text(encoding="utf-8")
        except OSError as error:
            raise PangaeaError(f"{file} cannot be read: {error.strerror}") from None
        except UnicodeDecodeError as error:
            raise PangaeaError(f"{file} is no text: {error.reason}") from None
        after = filled(before, lambda name, file=file: _runs(file.parent / name))  # type: ignore[misc]
        if after != before:
            save(file, after)
        say(f"{file}: {'made anew' if after != before else 'as it was'}")


def _runs(path: Path, *, missing: bool = False) -> list[dict[str, Any]]:
    """The runs of a study or a file of lines; none if it need not be there."""
    from pangaea.paper import lines

    if missing and not path.exists():
        return []
    runs, left_out = lines.fitting(lines.read(path))
    for why, count in left_out.items():
        typer.echo(f"left out: {count} ({why})", err=True)
    return runs

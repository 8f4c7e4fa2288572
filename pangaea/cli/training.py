"""Commands that train: evaluate, tasks."""

import json
import shlex
import shutil
import sys
import tempfile
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pangaea.cli.app import app, console, say
from pangaea.cli.options import with_options
from pangaea.errors import PangaeaError
from pangaea.settings import declarations
from pangaea.training.how import How
from pangaea.workers.place import Place

if TYPE_CHECKING:
    from pangaea.study.evaluation import Comparison


@app.command(context_settings={"ignore_unknown_options": True})
@with_options({"How it is trained": declarations(How), "Where it runs": declarations(Place)})
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
    recipe: Annotated[str, typer.Option(help="full or search; pau for image networks.")] = "full",
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
    from pangaea.report.terminal.progress import Counted, bar
    from pangaea.study.evaluation import Comparison

    place = Place.taken(given)
    how = How(**given)
    wanted = functions if against is None else [against, *functions]
    asked = Comparison(*(wanted, task, runs, recipe, data), seed=seed, scope=scope, epochs=epochs)
    with Keeping(how.checkpoints) as kept:
        try:
            with bar(sys.stderr, asked.total) as advance:
                if asked.belongs_here(place, how):
                    asked.run_here(how, kept.folder, advance)
                else:
                    asked.run(place, how, kept.folder, Counted(advance))
        except KeyboardInterrupt:
            _show(asked, against is not None, as_json)
            typer.echo(kept.going_on(asked.ended, asked.total), err=True)
            sys.exit(130)
        except PangaeaError:
            if asked.ended:
                _show(asked, against is not None, as_json)
                typer.echo(kept.going_on(asked.ended, asked.total), err=True)
            raise
    _show(asked, against is not None, as_json)


def _show(asked: "Comparison", against: bool, as_json: bool) -> None:
    """What has ended, as a table or as JSON; the first function may be what others are against."""
    from pangaea.report.terminal import evaluation

    judged = asked.evaluations
    first = judged[0] if judged and judged[0].function == asked.functions[0] else None
    rows = evaluation.rows(judged, first if against else None)
    if as_json:
        typer.echo(json.dumps(rows, indent=2))
    elif rows:
        console.print(evaluation.table(rows), highlight=False)
        say(evaluation.footer(rows))


class Keeping:
    """The folder in which runs are kept: the one given, or one that stays only if they stop."""

    def __init__(self, given: str | None) -> None:
        self._passing = given is None
        self.folder = Path(tempfile.mkdtemp(prefix="pangaea-") if given is None else given)

    def __enter__(self) -> "Keeping":
        return self

    def __exit__(self, *_: object) -> None:
        if self._passing:
            shutil.rmtree(self.folder, ignore_errors=True)

    def going_on(self, ended: int, total: int) -> str:
        """Keep what there is; says where, and with which command it goes on."""
        again = shlex.join(["pangaea", *sys.argv[1:]])
        if self._passing:
            try:
                self.folder = Path(shutil.move(self.folder, _free("evaluation-runs")))
                self._passing = False
            except OSError as error:
                return f"stopped; the {ended} runs that ended are not kept: {error}"
            again += f" --checkpoints {self.folder}"
        return (
            f"stopped after {ended} of {total} runs, which are kept in {self.folder}. To go on:\n\n"
            f"    {again}"
        )


def _free(name: str) -> Path:
    """A name that is nothing's yet."""
    paths = (Path(name if n == 1 else f"{name}-{n}") for n in count(1))
    return next(path for path in paths if not path.exists())


@app.command()
def tasks(
    as_json: Annotated[bool, typer.Option("--json", help="Print as JSON.")] = False,
) -> None:
    """List the tasks: their budgets, what a run takes on this machine, and where data is here."""
    from pangaea.report.terminal.tasks import footer, task_table
    from pangaea.tasks import overview

    rows = overview.rows()
    if as_json:
        typer.echo(json.dumps(rows, indent=2))
        return
    console.print(task_table(rows, console.width), highlight=False)
    say(footer(rows))

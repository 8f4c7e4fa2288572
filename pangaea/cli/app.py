"""The Typer application that the commands belong to."""

import os
import sys
from collections.abc import Callable
from typing import Annotated, Any, TypeVar

import typer
from rich.console import Console

import pangaea
from pangaea.cli import help  # noqa: A004 (what `--help` says)

Run = TypeVar("Run", bound=Callable[..., Any])


class App(typer.Typer):
    """Commands whose help is ours."""

    def command(self, name: str | None = None, **options: Any) -> Callable[[Run], Run]:
        register = super().command(name, cls=help.Command, **options)
        return lambda run: register(help.named(run))


app = App(
    cls=help.Group,
    help="Find better activation functions for a neural network, automatically.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


class _Console(Console):
    """Where the output goes; whoever reads it may go away, and the command goes on unseen."""

    def on_broken_pipe(self) -> None:
        self.quiet = True
        nowhere()


def nowhere() -> None:
    """What is left of the output goes nowhere, silently, at the interpreter's end too."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


console = _Console(emoji=False)  # `:fire:` is a name


def say(text: str) -> None:
    console.print(text, highlight=False, markup=False, soft_wrap=not console.is_terminal)


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

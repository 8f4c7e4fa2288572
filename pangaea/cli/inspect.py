"""The command that looks into a model: inspect."""

import re
from typing import Annotated, Any

import typer

from pangaea.cli.app import app, say
from pangaea.errors import PangaeaError

_SHAPE = re.compile(r"\d+(\s*[,x]\s*\d+)*")


@app.command()
def inspect(
    model: Annotated[
        str,
        typer.Argument(
            metavar="MODEL",
            help="A model, or a function that makes one: file.py:name or module:name.",
        ),
    ],
    example: Annotated[
        str | None,
        typer.Option(
            "--example",
            help="An input: a shape such as 2,3,32,32 (random numbers), or file.py:name.",
        ),
    ] = None,
    which: Annotated[
        list[str] | None,
        typer.Option("--which", help="Only activations of this name, such as 'encoder.*'."),
    ] = None,
    function: Annotated[
        str, typer.Option("--function", help="What to put in their place.")
    ] = "alpha*x - beta*log(sigmoid(gamma*x))",
    scope: Annotated[str | None, typer.Option("--scope", help="layer, channel or neuron.")] = None,
) -> None:
    """Show which activations of a model would be replaced, where, and which not and why."""
    from pangaea.activation.surgery import replace_activations

    module = _model(model)
    given = None if example is None else _example(example)
    report = replace_activations(module, function, scope, given, which or None)  # type: ignore[arg-type]
    say(str(report))


def _model(text: str) -> Any:
    from torch import nn

    model = _called(text)
    if not isinstance(model, nn.Module):
        kind = type(model).__name__
        raise PangaeaError(
            f"{text} is no torch.nn.Module, nor a function that makes one, but of type {kind}"
        )
    return model


def _example(text: str) -> Any:
    import torch

    if _SHAPE.fullmatch(text.strip()):
        try:
            return torch.randn([int(size) for size in re.split("[,x]", text)])
        except (RuntimeError, OverflowError, TypeError, ValueError):  # torch has all of them
            raise PangaeaError(f"an input of the shape {text} does not fit into memory") from None
    if not re.search("[.:]", text):
        raise PangaeaError(
            f"an example is a shape such as 2,3,32,32 or a place such as file.py:name, got {text!r}"
        )
    return _called(text)


def _called(text: str) -> Any:
    """What a place names, called if it is a function or a class."""
    from pangaea.locating import locate, user_error

    value = locate(text)
    if not isinstance(value, type) and not hasattr(value, "__code__"):
        return value
    try:
        return value()
    except Exception as error:
        raise PangaeaError(user_error(error, text)) from error

"""The command that takes a function elsewhere: export."""

from pathlib import Path
from typing import Annotated, Any

import typer

from pangaea.cli.app import app, say
from pangaea.cli.language import candidate_number, study_file
from pangaea.errors import PangaeaError
from pangaea.export import destinations
from pangaea.files import save

_PARAMETER = typer.Option(help="A value for it, instead of the 1 that training starts from.")


@app.command("export", context_settings={"ignore_unknown_options": True})
def export_function(
    function: Annotated[
        str,
        typer.Argument(
            metavar="FUNCTION",
            help="An expression, a name, a study's file, or one with the state dict of a model.",
        ),
    ],
    candidate: Annotated[
        str | None,
        typer.Argument(metavar="[NUMBER]", help="Of a candidate of the study. Default: the best."),
    ] = None,
    *,
    to: Annotated[
        str, typer.Option("--to", metavar="TARGET", help=", ".join(destinations()) + ".")
    ],
    output: Annotated[
        Path | None, typer.Option("-o", "--output", metavar="FILE", help="Write it to a file.")
    ] = None,
    name: Annotated[str | None, typer.Option("--name", help="What to call it there.")] = None,
    layer: Annotated[
        str | None,
        typer.Option(
            "--layer",
            metavar="LAYER",
            help="With the values that training gave it there: a number from 1, or a model's name "
            "for it. Default: a study's mean over all layers.",
        ),
    ] = None,
    alpha: Annotated[float | None, _PARAMETER] = None,
    beta: Annotated[float | None, _PARAMETER] = None,
    gamma: Annotated[float | None, _PARAMETER] = None,
) -> None:
    """Export a function: source, a graph or text that needs nothing of this package."""
    from pangaea.export import export

    values = {"alpha": alpha, "beta": beta, "gamma": gamma}
    given = {parameter: value for parameter, value in values.items() if value is not None}
    source: Any = function
    where: str | int | None = int(layer) if layer is not None and layer.isdecimal() else layer
    if (file := study_file(function, candidate)) is not None:
        source, where = _trained(file, candidate_number(candidate), where)
    result = export(source, to, parameters=given, name=name, layer=where)
    if output is not None:
        save(output, result)
        say(f"{to} written to {output}")
    elif isinstance(result, bytes):
        raise PangaeaError(f"{to} is not text: say where to write it with -o FILE")
    else:
        typer.echo(result, nl=False)


def _trained(file: Path, candidate: int | None, layer: str | int | None) -> tuple[Any, Any]:
    """What a file holds, and the layer of it that is still to be taken."""
    from pangaea.study.file import recognized
    from pangaea.study.study import Study

    if not recognized(file):
        return _weights(file), layer
    if isinstance(layer, str):
        raise PangaeaError(f"the layers of a study are numbers from 1, got {layer!r}")
    with Study.open(file) as study:
        return study.activation(candidate, layer=layer), None


def _weights(file: Path) -> Any:
    """A state dict, read without running anything that it may hold."""
    import torch

    try:
        weights = torch.load(file, map_location="cpu", weights_only=True)
    except Exception as error:
        if isinstance(error, OSError) and error.strerror:
            raise PangaeaError(f"{file} cannot be read: {error.strerror}") from None
        raise PangaeaError(  # torch's own words advise to run what the file holds
            f"{file} is neither a study nor a state dict, as torch.save(model.state_dict(), …) "
            "writes it, or it is damaged"
        ) from None
    if not isinstance(weights, dict):
        raise PangaeaError(f"{file} holds a {type(weights).__name__}, not a state dict")
    for inside in ("state_dict", "model"):  # where checkpoints of other programs have it
        if isinstance(weights.get(inside), dict):
            return weights[inside]
    return weights

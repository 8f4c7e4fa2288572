"""Options of commands, made from the declarations of settings."""

import inspect
from collections.abc import Callable, Iterable
from typing import Annotated, Any

import typer

from pangaea.settings import Declaration

Groups = dict[str, Iterable[Declaration]]


def with_options(groups: Groups) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give a command an option for each setting; it gets what was given as the dict `given`.

    The groups' names are the headings of `--help`.
    """
    options = {d.name: (d, heading) for heading, group in groups.items() for d in group}

    def decorate(run: Callable[..., None]) -> Callable[..., None]:
        def command(**values: Any) -> None:
            given = {name: values.pop(name) for name in options}
            run(given={name: v for name, v in given.items() if v is not None}, **values)

        parameters = [
            p.replace(kind=inspect.Parameter.KEYWORD_ONLY)
            for p in inspect.signature(run).parameters.values()
            if p.name != "given"
        ]
        parameters += [_parameter(*option) for option in options.values()]
        command.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        command.__annotations__ = {p.name: p.annotation for p in parameters}
        command.__doc__, command.__name__ = run.__doc__, run.__name__
        return command

    return decorate


def _parameter(declared: Declaration, heading: str) -> inspect.Parameter:
    former = declared.limits["former"]
    names = [declared.option, *([f"--{former}"] if former else [])]
    if declared.kind is bool:
        off = f"--no-{declared.option.removeprefix('--')}"
        names = [f"{declared.option}/{off}" if declared.default else declared.option]
    option = typer.Option(*names, help=declared.explained, rich_help_panel=heading)
    return inspect.Parameter(
        declared.name,
        inspect.Parameter.KEYWORD_ONLY,
        default=None,
        annotation=Annotated[declared.kind | None, option],
    )

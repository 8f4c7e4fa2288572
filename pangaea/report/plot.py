"""Figures of a study: `pg.plot.progress(study)`, as Plotly figures to show, change or save.

Every figure of `report/figures` is a function here, found by its name. Where it takes a study, the
path of its file does too.
"""

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from functools import wraps
from typing import Any

from pangaea.errors import PangaeaError
from pangaea.report.figures import Figure, figures, theme
from pangaea.report.figures.panels import side_by_side
from pangaea.report.records import Snapshot, alike, names, snapshot


def __getattr__(name: str) -> Callable[..., Any]:
    known = {} if name.startswith("_") else figures()
    if name not in known:
        raise AttributeError(f"module {__name__!r} has no figure {name!r}")
    return _drawn(known[name])


def __dir__() -> list[str]:
    return sorted(figures())


def _drawn(figure: Figure) -> Callable[..., Any]:
    """The figure's function, giving a `plotly.graph_objects.Figure`."""

    @wraps(figure.make)
    def draw(*args: Any, **options: Any) -> Any:
        go = _plotly()
        least = 0 if figure.takes == "function" else 1
        if len(args) < least:
            raise PangaeaError(f"plot.{figure.name} needs a study, or the path of its file")
        count = len(args) if figure.takes == "studies" else least
        with ExitStack() as stack:
            studies = [stack.enter_context(snapshot(of)) for of in args[:count]]
            _comparable(studies)
            drawn = figure.make(*studies, *args[count:], **options)
        spec = drawn if isinstance(drawn, dict) else side_by_side(drawn)
        return go.Figure(theme.standalone(spec))

    return draw


def _plotly() -> Any:
    """Half a second to import, so only where a figure is wanted."""
    try:
        import plotly.graph_objects
    except ImportError:
        raise PangaeaError(
            "figures are Plotly's: pip install 'pangaea-search[pictures]'; the page that "
            "`pangaea report` writes needs nothing more"
        ) from None
    return plotly.graph_objects


def _comparable(studies: Sequence[Snapshot]) -> None:
    if studies and len(alike(studies, studies[0])) < len(studies):
        goals = ", ".join(
            f"{name}: {study.goal.label()}"
            for name, study in zip(names(studies), studies, strict=True)
        )
        raise PangaeaError(
            f"studies with different goals share no axis ({goals}): draw each by itself"
        )

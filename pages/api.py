"""The public names, with what their docstrings say."""

from itertools import groupby

import pangaea
from pages import cell, table
from pangaea import paper
from pangaea.report.figures import figures

# What the rooms are to somebody who imports the package, in the order in which they are needed.
ROOMS = {
    "functions": "Functions",
    "activation": "In a network",
    "export": "Elsewhere",
    "tasks": "Tasks and scores",
    "study": "Searching",
    "paper": "The paper's experiments",
    "training": "Training",
    "report": "Figures",
    "testing": "Contract tests",
    "errors": "Errors",
}
_RENAMED = {"Task": "OwnTask"}


def page() -> str:
    parts = ["# Python", "`import pangaea as pg`; torch is imported when something needs it."]
    order = list(ROOMS)
    homes = sorted(pangaea._HOME.items(), key=lambda pair: (order.index(_room(pair[1])), pair[0]))
    for room, names in groupby(homes, key=lambda pair: _room(pair[1])):
        parts.append(f"## {ROOMS[room]}")
        for name, home in names:
            parts += _MANY[name]() if name in _MANY else [_directive(name, home)]
    return "\n\n".join(parts) + "\n"


def _room(home: str) -> str:
    return home.partition(".")[0]


def _directive(name: str, home: str) -> str:
    """What mkdocstrings puts a signature and a docstring in the place of."""
    place = f"pangaea.{home}.{_RENAMED.get(name, name)}"
    return f'::: {place}\n    options:\n      heading: "pg.{name}"\n      toc_label: "{name}"'


def _experiments() -> list[str]:
    """The module's docstring, and each of its functions."""
    whole = '::: pangaea.paper\n    options:\n      heading: "pg.paper"\n      members: false'
    return [
        whole,
        *(
            f'::: pangaea.paper.{home}.{name}\n    options:\n      heading: "pg.paper.{name}"'
            for name, home in sorted(paper._HOME.items())
        ),
    ]


def _figures() -> list[str]:
    rows = [
        [f"`pg.plot.{name}`", figure.takes, cell(figure.make.__doc__ or "")]
        for name, figure in sorted(figures().items())
    ]
    return [
        "Each is a function in `pg.plot` and gives a `plotly.graph_objects.Figure`; where it takes "
        "a study, the path of its file does too.",
        table(["figure", "of", ""], rows),
    ]


_MANY = {"paper": _experiments, "plot": _figures}

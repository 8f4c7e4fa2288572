"""How figures look: colours that the colour-blind can tell apart, labels, light and dark.

A figure is plain data as Plotly reads it, so that a page can be made without importing Plotly.
"""

import html
import math
from collections.abc import Sequence
from typing import Any

from pangaea.tasks.goal import Goal

Spec = dict[str, Any]

# Okabe and Ito, 2008; in an order that also differs in lightness.
BLUE, ORANGE, GREEN, PURPLE = "#0072B2", "#E69F00", "#009E73", "#CC79A7"
SKY, VERMILION, YELLOW = "#56B4E9", "#D55E00", "#F0E442"
PALETTE = (BLUE, ORANGE, GREEN, PURPLE, SKY, VERMILION, YELLOW)
GREY = "#8A8A8A"  # of the baseline and whatever is compared with; seen on light and dark alike

WIDTH = 960  # pixels of a picture
_ANY_SIZE = 4  # digits of a goal, from which on its scores may have any size
_EACH = 10  # whole numbers that have room for a label each; beyond, Plotly chooses among them

_FONT = "system-ui, -apple-system, 'Segoe UI', 'DejaVu Sans', sans-serif"


def template(dark: bool = False) -> Spec:
    """What all figures share, for a light or a dark page."""
    ink, grid = ("#E6E6E6", "#363B42") if dark else ("#1F2328", "#E3E6EA")
    axis = {
        "gridcolor": grid,
        "linecolor": GREY,
        "zeroline": False,
        "automargin": True,
        "title": {"standoff": 8},
    }
    return {
        "layout": {
            "font": {"family": _FONT, "size": 13, "color": ink},
            "title": {
                "font": {"size": 16},
                "x": 0.02,
                "xanchor": "left",
                "yref": "container",
                "y": 1,
                "yanchor": "top",
                "pad": {"t": 12},
            },
            "paper_bgcolor": "rgba(0,0,0,0)",
            "plot_bgcolor": "rgba(0,0,0,0)",
            "colorway": list(PALETTE),
            "xaxis": axis,
            "yaxis": axis,
            "legend": {"orientation": "h", "x": 0, "y": 1.01, "yanchor": "bottom"},
            "hoverlabel": {
                "align": "left",
                "bgcolor": "#22262C" if dark else "#FFFFFF",
                "font": {"color": ink, "family": _FONT},
            },
            "margin": {"l": 56, "r": 16, "t": 48, "b": 48},
        }
    }


def figure(
    title: str,
    caption: str,
    data: Sequence[Spec],
    *,
    x: str = "",
    y: str = "",
    height: int = 420,
    least: int = 0,
    **layout: Any,
) -> Spec:
    """A figure with its title, a sentence on what it shows, and labelled axes.

    On a page narrower than `least` pixels it is scrolled, so that its labels have room.
    """
    axes = {"xaxis": _axis(x, layout.pop("xaxis", {})), "yaxis": _axis(y, layout.pop("yaxis", {}))}
    return {
        "data": list(data),
        "layout": {
            "title": {"text": shown(title, 90)},
            # As they are: a page shows them as text of its own.
            "meta": {"title": title, "caption": caption, "least": least},
            "height": height,
            **axes,
            **layout,
        },
    }


def standalone(spec: Spec) -> Spec:
    """A figure by itself, as Python and pictures show it: light, its title above its legend."""
    layout = spec["layout"]
    named = (
        [t for t in spec["data"] if t.get("showlegend", True)] if layout.get("showlegend") else []
    )
    lines = math.ceil(sum(50 + 7 * len(trace.get("name", "")) for trace in named) / WIDTH)
    room = 24 * lines
    return {
        "data": spec["data"],
        "layout": {
            **layout,
            "template": template(),
            "paper_bgcolor": "white",
            "height": layout["height"] + room,
            "margin": {**layout.get("margin", {}), "t": 52 + room},
        },
    }


def counted(last: float) -> Spec:
    """An axis of whole numbers from one to the last."""
    return {"dtick": 1} if last <= _EACH else {}


def _axis(label: str, more: Spec) -> Spec:
    return {"title": {"text": label}, **more}


def nothing(title: str, why: str) -> Spec:
    """A figure that there is no data for yet, and why."""
    hidden = {"visible": False}
    note = {"text": shown(why, 200), "showarrow": False, "xref": "paper", "yref": "paper"}
    spec = figure(title, why, [], height=160, xaxis=hidden, yaxis=hidden)
    spec["layout"] |= {"annotations": [{**note, "x": 0.5, "y": 0.5}]}
    spec["layout"]["meta"]["empty"] = True
    return spec


def shown(text: str, length: int = 60) -> str:
    """A text as Plotly shows it, which reads some HTML in every label: escaped, never too long."""
    return html.escape(shortened(text, length), quote=False)


def shortened(text: str, length: int) -> str:
    return text if len(text) <= length else text[: length - 1].rstrip() + "…"


def blend(part: float) -> str:
    """From blue (0) over purple to orange (1): an order that the colour-blind see too."""
    low, high, within = (BLUE, PURPLE, 2 * part) if part < 0.5 else (PURPLE, ORANGE, 2 * part - 1)
    ends = [[int(colour[i : i + 2], 16) for i in (1, 3, 5)] for colour in (low, high)]
    mixed = (round(a + (b - a) * within) for a, b in zip(*ends, strict=True))
    return "#" + "".join(f"{value:02X}" for value in mixed)


def rounded(value: float) -> float:
    """Six digits: more than a screen shows, and fewer bytes on a page."""
    return float(f"{value:.6g}")


def score(axis: str, goal: Goal) -> str:
    """A score in a hover text, which reads it from an axis or from `customdata`.

    Plotly cannot show small scores otherwise than large ones; six digits tell both apart.
    """
    unit = shown(goal.suffix).replace("%{", "% {")
    form = f".{goal.digits}f" if goal.digits < _ANY_SIZE else ".6~g"
    return f"%{{{axis}:{form}}}{unit}"

"""A page of figures alone, under a title and a few sentences."""

import html
import re
from collections.abc import Sequence

from pangaea.report.figures import theme
from pangaea.report.figures.theme import Spec
from pangaea.report.page.document import embedded, part, policy


def sheet(title: str, notes: Sequence[str], figures: Sequence[Spec]) -> str:
    """One HTML document that needs nothing else; several figures stand two in a row."""
    for spec in figures:
        about = spec["layout"]["meta"]
        if "group" in about:
            about["title"] = f"{about['group']}: {about['title'].lower()}"
        about["span"] = "half" if len(figures) > 1 else ""
    script = part("figures.js") + "\n" + part("sheet.js")
    data = {"figures": figures, "light": theme.template(), "dark": theme.template(dark=True)}
    parts = {
        "title": html.escape(title),
        "notes": "".join(f"<p>{html.escape(note)}</p>" for note in notes),
        "style": part("page.css"),
        "plotly": part("plotly-basic.min.js"),
        "script": script,
        "data": embedded(data),
        "policy": html.escape(policy(script)),
    }
    return re.sub(r"\{\{(\w+)\}\}", lambda match: parts[match[1]], part("sheet.html"))

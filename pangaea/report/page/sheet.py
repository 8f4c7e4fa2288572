"""A page of figures alone, under a title and a few sentences."""

import html
from collections.abc import Sequence

from pangaea.report.figures import theme
from pangaea.report.figures.theme import Spec
from pangaea.report.page.document import filled, part


def sheet(title: str, notes: Sequence[str], figures: Sequence[Spec]) -> str:
    """One HTML document that needs nothing else; several figures stand two in a row."""
    for spec in figures:
        about = spec["layout"]["meta"]
        if "group" in about:
            about["title"] = f"{about['group']}: {about['title'].lower()}"
        about["span"] = "half" if len(figures) > 1 else ""
    script = part("figures.js") + "\n" + part("sheet.js")
    data = {"figures": figures, "light": theme.template(), "dark": theme.template(dark=True)}
    paragraphs = "".join(f"<p>{html.escape(note)}</p>" for note in notes)
    return filled("sheet.html", title, script, data, heading=html.escape(title), notes=paragraphs)

"""Figures in pages: drawn by the code that draws a report's, of a search made for them."""

import html
import re
import tempfile
from pathlib import Path

import pangaea as pg
from pages import ROOT
from pangaea.functions.catalog import catalog
from pangaea.report.figures import figures, theme
from pangaea.report.figures.theme import Spec
from pangaea.report.page.document import embedded
from pangaea.report.records import opened

# Of a search, as docs/method.md shows it.
_OF_A_STUDY = ("progress", "average", "lineage", "operators", "cost")
_MUTATIONS = ("parent", "insert", "remove", "change", "regenerate")


def script() -> str:
    """What draws the figures of a page, in light and dark."""
    themes = embedded({"light": theme.template(), "dark": theme.template(dark=True)})
    source = (Path(__file__).parent / "figures.js").read_text(encoding="utf-8")
    return f"const THEMES = {themes};\n{source}"


def snippets() -> dict[str, str]:
    """By name: a figure as HTML, to be put into a page."""
    specs = {"graph": figures()["graph"].make("wrn-1")} | _searched()
    drawn = {name: snippet(spec, *_said(spec)) for name, spec in specs.items()}
    row = "".join(map(_mutation, _MUTATIONS))
    return drawn | {"mutations": f'<div class="row">{row}</div>\n'}


def snippet(spec: Spec, title: str, caption: str) -> str:
    """One line of HTML: a place to draw in, what is drawn there, and what it shows."""
    height = spec["layout"]["height"]
    data = f'<script type="application/json">{embedded(spec)}</script>'
    words = f"<b>{html.escape(title)}</b> {html.escape(caption)}"
    return (
        f'<figure class="drawn"><div class="plot" style="height:{height}px"></div>{data}'
        f"<figcaption>{words}</figcaption></figure>"
    )


def _said(spec: Spec) -> tuple[str, str]:
    about = spec["layout"]["meta"]
    return about["title"] + ".", about["caption"]


def _mutation(name: str) -> str:
    """The paper's example of a mutation, as a graph."""
    function = catalog()[f"mutation-{name}"]
    spec = figures()["graph"].make(function)
    spec["layout"] |= {"height": int(0.65 * spec["layout"]["height"])}
    return snippet(spec, f"{name}:", function.readable())


def _searched() -> dict[str, Spec]:
    """A search on the task of the tutorial: half a minute, and the same in every build."""
    with tempfile.TemporaryDirectory() as folder:
        task = Path(folder) / "my_task.py"
        task.write_text(_tutorial(), encoding="utf-8")
        path = Path(folder) / "sine.study"
        less = {"rerank": False, "runs": 0, "workers": 0, "dry_run": False}
        pg.search(f"{task}:task", study=path, candidates=100, **less).close()
        with opened(path) as study:
            drawn = {name: figures()[name].make(study) for name in _OF_A_STUDY}
    return {name: one if isinstance(one, dict) else one[0] for name, one in drawn.items()}


def _tutorial() -> str:
    """The first block of docs/your_task.md."""
    text = (ROOT / "docs" / "your_task.md").read_text(encoding="utf-8")
    block = re.search(r"^```python\n(.*?)^```", text, re.DOTALL | re.MULTILINE)
    assert block
    return block[1]

"""The figures as PNG files, drawn by a browser that nobody sees."""

import base64
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from pangaea.errors import PangaeaError
from pangaea.report.figures import theme
from pangaea.report.figures.cost import cost
from pangaea.report.figures.functions import adaptation, curves, gallery
from pangaea.report.figures.population import failures, operators, timeline
from pangaea.report.figures.search import average, compute, progress
from pangaea.report.figures.theme import Spec
from pangaea.report.figures.trees import graph, lineage
from pangaea.report.page.document import part
from pangaea.report.plot import side_by_side
from pangaea.report.records import best
from pangaea.study.study import Study

_BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
_INSTALL = (
    "pictures are drawn by a browser: `pip install playwright`, then `playwright install chromium` "
    "or your system's chromium package"
)
_DRAW = "([figure, size]) => Plotly.toImage(figure, {format: 'png', scale: 2, ...size})"


def save(studies: Sequence[Study], folder: Path) -> list[Path]:
    """Every figure as a file of its name."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with browser() as opened:
            sheet = opened.new_page()
            sheet.add_script_tag(content=part("plotly-basic.min.js"))
            saved = []
            for name, spec in figures(studies).items():
                figure = theme.standalone(spec)
                size = {"width": theme.WIDTH, "height": figure["layout"]["height"]}
                image = sheet.evaluate(_DRAW, [figure, size])
                path = folder / f"{name}.png"
                path.write_bytes(base64.b64decode(image.partition(",")[2]))
                saved.append(path)
            return saved
    except OSError as error:
        raise PangaeaError(f"cannot write to {folder}: {error.strerror or error}") from None


def figures(studies: Sequence[Study]) -> dict[str, Spec]:
    """By file name; the figures of one study are numbered where there are several."""
    found = {
        "progress": progress(*studies),
        "compute": compute(*studies),
        "average": average(*studies),
        "cost": cost(*studies),
    }
    for i, study in enumerate(studies, 1):
        end = f"-{i}" if len(studies) > 1 else ""
        found |= {
            f"gallery{end}": side_by_side(gallery(study)),
            f"adaptation{end}": side_by_side(adaptation(study)),
            f"curves{end}": curves(study),
            f"lineage{end}": lineage(study),
            f"operators{end}": operators(study),
            f"failures{end}": failures(study),
            f"timeline{end}": timeline(study),
        }
        if top := best(study, 1):
            found[f"graph{end}"] = graph(top[0]["function"])
    return found


@contextmanager
def browser() -> Iterator[Any]:
    """A chromium without a window: the system's, or playwright's own."""
    try:
        from playwright.sync_api import Error, sync_playwright
    except ImportError:
        raise PangaeaError(_INSTALL) from None
    here = next(filter(None, map(shutil.which, _BROWSERS)), None)
    with sync_playwright() as playwright:
        try:
            # A container has no sandbox to offer, and the page is our own.
            opened = playwright.chromium.launch(executable_path=here, args=["--no-sandbox"])
        except Error:
            raise PangaeaError(_INSTALL) from None
        try:
            yield opened
        finally:
            opened.close()

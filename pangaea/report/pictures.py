"""The figures as PNG files, drawn by a browser that nobody sees."""

import base64
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from pangaea.errors import PangaeaError
from pangaea.files import replacing
from pangaea.report.figures import Figure, theme
from pangaea.report.figures import figures as every_figure
from pangaea.report.figures.panels import side_by_side
from pangaea.report.figures.theme import Spec
from pangaea.report.page.document import part
from pangaea.report.records import Snapshot, alike

_BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
_INSTALL = (
    "pictures are drawn by a browser: pip install 'pangaea-search[pictures]', then "
    "`playwright install chromium` or your system's chromium package"
)
_DRAW = "([figure, size]) => Plotly.toImage(figure, {format: 'png', scale: 2, ...size})"


def save(studies: Sequence[Snapshot], folder: Path) -> list[Path]:
    """Every figure as a file of its name."""
    try:
        with browser() as opened:
            folder.mkdir(parents=True, exist_ok=True)
            sheet = opened.new_page()
            sheet.add_script_tag(content=part("plotly-basic.min.js"))
            saved = []
            for name, spec in figures(studies).items():
                figure = theme.standalone(spec)
                size = {"width": theme.WIDTH, "height": figure["layout"]["height"]}
                image = sheet.evaluate(_DRAW, [figure, size])
                path = folder / f"{name}.png"
                with replacing(path) as file:
                    file.write(base64.b64decode(image.partition(",")[2]))
                saved.append(path)
            return saved
    except OSError as error:
        raise PangaeaError(f"cannot write to {folder}: {error.strerror or error}") from None


def figures(studies: Sequence[Snapshot]) -> dict[str, Spec]:
    """By file name: all that the page has, numbered where there are several of one."""
    specs: dict[str, Spec] = {}
    together = list(_together(studies))
    for figure in every_figure().values():
        if not figure.on:
            continue
        groups = together if figure.takes == "studies" else [[study] for study in studies]
        for i, group in enumerate(groups, 1):
            if (spec := _spec(figure, group)) is not None:
                specs[figure.name + (f"-{i}" if len(groups) > 1 else "")] = spec
    return specs


def _together(studies: Sequence[Snapshot]) -> Iterator[Sequence[Snapshot]]:
    """Those that share a goal, and so an axis."""
    left = list(studies)
    while left:
        group = alike(left, left[0])
        yield group
        left = [study for study in left if study not in group]


def _spec(figure: Figure, studies: Sequence[Snapshot]) -> Spec | None:
    """Of one function: the best; None as long as there is none."""
    arguments: Sequence[Any] = studies
    if figure.takes == "function":
        arguments = [row["function"] for row in studies[0].best(1)]
        if not arguments:
            return None
    drawn = figure.make(*arguments)
    return drawn if isinstance(drawn, dict) else side_by_side(drawn)


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

"""The figures as files: there with a browser, a sentence without."""

import sys
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from pangaea.errors import PangaeaError
from pangaea.report import pictures
from pangaea.report.formats import write
from pangaea.report.records import opened


def test_there_is_a_picture_of_every_figure(paths: dict[str, Path]) -> None:
    with opened(paths["finished"]) as one, opened(paths["empty"]) as two:
        assert len(pictures.figures([one])) == 13
        assert {"progress", "gallery-1", "gallery-2", "graph-1"} <= set(
            pictures.figures([one, two])
        )


def test_studies_with_different_goals_have_pictures_of_their_own(paths: dict[str, Path]) -> None:
    with opened(paths["finished"]) as one, opened(paths["minimised"]) as two:
        specs = pictures.figures([one, two])
    for i, label in enumerate(("validation accuracy (%)", "validation loss (nats)"), 1):
        assert specs[f"progress-{i}"]["layout"]["yaxis"]["title"]["text"] == label


def test_pictures_are_png_files_with_something_on_them(
    paths: dict[str, Path], tmp_path: Path, browser: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    with opened(paths["finished"]) as study:
        some = {"progress", "gallery", "graph"}
        some_figures = {n: s for n, s in pictures.figures([study]).items() if n in some}
    monkeypatch.setattr(pictures, "figures", lambda _: some_figures)
    monkeypatch.setattr(pictures, "browser", lambda: Borrowed(browser))
    write([paths["finished"]], kind="md", pictures=tmp_path / "png")
    assert {p.name for p in (tmp_path / "png").iterdir()} == {f"{name}.png" for name in some}
    for path in (tmp_path / "png").iterdir():
        with Image.open(path) as image:
            assert image.width == 1920
            colours = image.convert("RGB").getcolors(1 << 24)
        assert colours is not None
        assert (0, 0x72, 0xB2) in {colour for _, colour in colours}, path


class Borrowed:
    """The tests' own browser, which stays open."""

    def __init__(self, browser: Any) -> None:
        self.browser = browser

    def __enter__(self) -> Any:
        return self.browser

    def __exit__(self, *_: object) -> None:
        pass


def test_without_a_browser_it_says_what_to_install(
    paths: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "playwright.sync_api", None)
    with pytest.raises(PangaeaError, match=r"pip install 'pangaea-search\[pictures\]'"):
        write([paths["finished"]], tmp_path / "r.md", pictures=tmp_path / "png")
    assert not list(tmp_path.iterdir())  # before anything is written

"""The site as a person sees it, in Debian's chromium; `make docs` builds it, and looks at it so."""

import threading
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from tests.docs.blocks import ROOT

SITE = ROOT / "build" / "site"
PAGES = sorted(str(path.relative_to(SITE)) for path in SITE.rglob("*.html"))
PHONE = {"viewport": {"width": 390, "height": 800}, "color_scheme": "dark"}

pytestmark = pytest.mark.skipif(not PAGES, reason="make docs builds the site")


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(SITE))) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()
        thread.join()


@pytest.fixture
def look(browser: Any, address: str) -> Iterator[Any]:
    """Opens a page; nothing may go wrong in it, and nothing be asked of anybody else."""
    wrong: list[str] = []
    contexts = []

    def opened(name: str, **options: Any) -> Any:
        contexts.append(browser.new_context(**options))
        page = contexts[-1].new_page()
        page.on("pageerror", lambda error: wrong.append(f"error: {error}"))
        page.on("console", lambda said: wrong.append(said.text) if said.type == "error" else None)
        page.on(
            "request",
            lambda asked: None if _ours(asked.url, address) else wrong.append(asked.url),
        )
        page.goto(address + name)
        return page

    yield opened
    for context in contexts:
        context.close()
    assert wrong == []


def _ours(url: str, address: str) -> bool:
    return url.startswith((address, "data:", "blob:"))


@pytest.mark.parametrize("name", PAGES)
def test_a_phone_in_the_dark_shows_a_page_without_scrolling_sideways(name: str, look: Any) -> None:
    page = look(name, **PHONE)
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    red, green, blue = page.evaluate(
        "getComputedStyle(document.body).backgroundColor.match(/\\d+/g).slice(0, 3).map(Number)"
    )
    assert max(red, green, blue) < 60
    assert page.locator("img:not([alt])").count() == 0


def test_figures_are_drawn_when_they_are_seen_and_follow_the_colours(look: Any) -> None:
    page = look("method.html", color_scheme="light")
    figures = page.locator("figure.drawn")
    assert figures.count() > 9
    last = figures.last
    last.scroll_into_view_if_needed()
    last.locator(".xtitle").wait_for()
    ink = "getComputedStyle(document.querySelector('figure.drawn .xtitle')).fill"
    assert page.evaluate(ink) == "rgb(31, 35, 40)"
    page.locator("label[for^=__palette]:visible").first.click()
    page.locator("label[for^=__palette]:visible").first.click()
    page.locator("body[data-md-color-scheme=slate]").wait_for()
    assert page.evaluate(ink) == "rgb(230, 230, 230)"


def test_a_known_function_is_found_in_the_gallery(look: Any) -> None:
    page = look("reference/gallery.html")
    card = page.locator("#wrn-1")
    assert "log(σ(α·x))·β·asinh(x)" in card.inner_text()
    box = card.locator("svg").bounding_box()
    assert box["width"] > 100
    assert box["height"] > 60


def test_the_built_pages_are_those_of_the_docs() -> None:
    written = {path.stem for path in (ROOT / "docs").glob("*.md")}
    assert written <= {Path(name).stem for name in PAGES}

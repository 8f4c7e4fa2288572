"""Report and dashboard as a person sees them, in Debian's chromium."""

import re
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

import pangaea as pg
from pangaea.report import sources
from pangaea.report.formats import write
from pangaea.report.page.dashboard import Dashboard
from pangaea.report.records import Snapshot
from pangaea.report.texts import inert
from tests.report.conftest import HOSTILE
from tests.study_maker import Maker, forge, make

Look = Callable[..., Any]
TABS = ("progress", "functions", "search", "candidates", "reproduce")
PHONE = {"viewport": {"width": 390, "height": 800}, "is_mobile": True, "has_touch": True}


@pytest.fixture
def look(browser: Any) -> Iterator[Look]:
    """Opens a page; at the end, nothing may have gone wrong in any of them."""
    wrong: list[str] = []
    contexts = []

    def opened(address: Path | str, **options: Any) -> Any:
        context = browser.new_context(**options)
        contexts.append(context)
        page = context.new_page()
        page.on("pageerror", lambda error: wrong.append(f"error: {error}"))
        page.on("dialog", lambda dialog: wrong.append(f"dialog: {dialog.message}"))
        page.on(
            "console",
            lambda said: wrong.append(said.text) if said.type in ("error", "warning") else None,
        )
        own = address.as_uri() if isinstance(address, Path) else address
        host = re.match(r"\w+://[^/]*/", own)
        assert host is not None
        page.on(
            "request",
            lambda request: (
                None
                if request.url.startswith((host[0], "data:", "blob:"))
                else wrong.append(f"request: {request.url}")
            ),
        )
        page.goto(own)
        settled(page)
        return page

    yield opened
    for context in contexts:
        context.close()
    assert wrong == []


@contextmanager
def dashboard(*paths: Path) -> Iterator[str]:
    with Dashboard(paths, port=0) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()
        try:
            yield server.url
        finally:
            server.shutdown()
            thread.join()


@pytest.fixture(scope="module")
def report(paths: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("report") / "report.html"
    write([paths["finished"], paths["random"]], path)
    return path


def until(page: Any, condition: str) -> None:
    """`page.wait_for_function` would evaluate a text, which the page does not allow."""
    for _ in range(600):
        if page.evaluate(condition):
            return
        page.wait_for_timeout(50)
    raise AssertionError(condition)


def settled(page: Any) -> None:
    until(page, "queue.length === 0")


def drawn(page: Any, tab: str) -> int:
    """How many figures a tab shows, each with a size."""
    settled(page)
    return int(
        page.evaluate(
            "tab => [...document.querySelectorAll(`#${tab} .plot:not([hidden]) .main-svg`)]"
            ".filter(svg => svg.clientWidth > 100 && svg.clientHeight > 50).length",
            tab,
        )
    )


def column(page: Any, number: int) -> list[str]:
    cells = page.locator(f"#table tbody tr td:nth-child({number})")
    return [str(text) for text in cells.all_text_contents()]


def test_every_tab_shows_its_figures(report: Path, look: Look) -> None:
    page = look(report)
    assert page.locator("#function").inner_text()
    assert "on test data" in page.locator("#sentence").inner_text()
    for tab in TABS:
        page.click(f"#tab-{tab}")
        assert page.locator("section:visible").count() == 1
        assert page.locator(f"#{tab}").is_visible()
        assert page.locator(f"#tab-{tab}").get_attribute("aria-selected") == "true"
    page.click("#tab-progress")
    assert drawn(page, "progress") >= 4
    page.click("#tab-functions")
    assert drawn(page, "functions") >= 10
    page.click("#tab-search")
    assert drawn(page, "search") >= 3
    page.keyboard.press("ArrowRight")
    assert page.locator("#candidates").is_visible()


def test_another_study_and_another_function_can_be_chosen(report: Path, look: Look) -> None:
    page = look(report)
    first = page.locator("#path").inner_text()
    page.select_option("#study", label="random")
    assert page.locator("#path").inner_text() != first
    page.click("#tab-functions")
    chosen = page.locator("#detail option").nth(1)
    page.select_option("#detail", index=1)
    settled(page)
    assert page.locator("#details figure").last.inner_text().startswith("Family tree")
    assert chosen.inner_text().split(" (")[0] in page.locator("#details").inner_text()


def test_the_table_is_sorted_filtered_and_copied_from(
    report: Path, look: Look, study: Snapshot
) -> None:
    page = look(f"{report.as_uri()}#candidates", permissions=["clipboard-read", "clipboard-write"])
    values = [float(text) for text in column(page, 3) if text]
    assert len(values) > 40
    assert values == sorted(values, reverse=True)
    page.click("#table thead button >> text=search")
    assert page.locator("th[aria-sort=ascending]").inner_text().startswith("search")
    values = [float(text) for text in column(page, 3) if text]
    assert values == sorted(values)
    page.click("#table thead button >> text=#")
    assert [int(text) for text in column(page, 1)] == list(range(1, 61))
    page.fill("#filter", "TANH")
    expected = [row for row in study.table() if "tanh" in row["function"]]
    assert [int(text) for text in column(page, 1)] == [row["number"] for row in expected]
    assert page.locator("#count").inner_text() == f"{len(expected)} of 60 candidates"
    page.locator("#table tbody button", has_text="text").first.click()
    page.locator("button", has_text="copied").wait_for()
    assert page.evaluate("navigator.clipboard.readText()") == expected[0]["function"]


def test_a_function_is_copied_as_source_where_it_stands(
    report: Path, look: Look, study: Snapshot
) -> None:
    page = look(report, permissions=["clipboard-read", "clipboard-write"])
    first, second = (row["function"] for row in study.best(2))

    def copied(button: Any) -> str:
        button.click()
        page.locator("button", has_text="copied").wait_for()
        text = str(page.evaluate("navigator.clipboard.readText()"))
        page.locator("button", has_text="copied").wait_for(state="detached")
        return text

    def button(place: str, label: str) -> Any:
        return page.locator(f"{place} button", has_text=label).first

    for label, target in (("PyTorch", "torch"), ("JAX", "jax"), ("Keras", "keras")):
        assert copied(button("#take", label)) == pg.export(first, to=target)
    assert copied(button("#take", "LaTeX")) == pg.parse(first).latex()
    trained = sources.trained(study, first)
    row = page.locator("#take p", has_text="As trained, on average")
    assert copied(row.locator("button", has_text="PyTorch")) == trained["PyTorch"]
    page.click("#tab-functions")
    page.select_option("#detail", index=1)
    assert copied(button("#take-detail", "JAX")) == pg.export(second, to="jax")
    page.click("#tab-candidates")
    best = f"#table tbody tr:has(td:first-child:text-is('{study.best(1)[0]['number']}'))"
    assert copied(button(best, "PyTorch")) == pg.export(first, to="torch")


def test_of_a_minimised_goal_the_table_begins_with_the_smallest(
    paths: dict[str, Path], tmp_path: Path, look: Look
) -> None:
    write([paths["minimised"]], tmp_path / "report.html")
    page = look(f"{(tmp_path / 'report.html').as_uri()}#candidates")
    values = [float(text) for text in column(page, 3) if text]
    assert values == sorted(values)
    assert page.locator("th[aria-sort=descending]").inner_text().startswith("search")
    assert column(page, 4)[0].startswith("+")
    assert all(re.fullmatch(r"\d\.\d{3}", text) for text in column(page, 3) if text)
    assert "better than GELU" in page.locator("#legend").inner_text()
    failed = page.locator("#table tbody tr.failed")
    assert failed.count() > 0
    assert failed.first.locator("td").nth(2).inner_text() == ""
    page.click("#table thead button >> text=search")
    values = [float(text) for text in column(page, 3) if text]
    assert values == sorted(values, reverse=True)
    assert "GELU" in page.locator("#judged").inner_text()


def test_hovering_over_a_candidate_shows_its_formula(report: Path, look: Look) -> None:
    page = look(report)
    card = page.locator("#progress figure").nth(3)
    card.scroll_into_view_if_needed()
    card.locator(".scatterlayer .trace .points path").nth(5).hover(force=True)
    label = card.locator(".hoverlayer .hovertext").first
    label.wait_for()
    assert re.search(r"candidate \d+: \d+\.\d\d%, \S+ s", label.text_content())


def test_a_figure_offers_nothing_that_sends_it_elsewhere(report: Path, look: Look) -> None:
    offers = look(report).evaluate(
        "[...document.querySelectorAll('.modebar-btn')].map(b => b.dataset.title)"
    )
    assert {*offers} == {
        *("Download plot as a PNG", "Zoom", "Pan", "Zoom in", "Zoom out", "Reset axes")
    }


@pytest.mark.parametrize(
    "kind", ["running", "empty", "failed", "minimised", "several", "general", "earlier"]
)
def test_every_kind_of_study_has_a_page(
    kind: str, paths: dict[str, Path], tmp_path: Path, look: Look
) -> None:
    write([paths[kind]], tmp_path / "report.html")
    page = look(tmp_path / "report.html")
    assert page.locator("#sentence").inner_text()
    for tab in TABS:
        page.click(f"#tab-{tab}")
        settled(page)
        assert page.locator(f"#{tab}").is_visible()


def test_hostile_texts_are_shown_as_text(tmp_path: Path, look: Look) -> None:
    path = forge(tmp_path / "\"><img src=x onerror='alert(1)'>.study", HOSTILE)
    write([path], tmp_path / "report.html")
    page = look(tmp_path / "report.html")
    assert "onerror" in page.locator("#path").inner_text()
    page.click("#tab-candidates")
    shown = column(page, 2)
    assert sorted(shown) == sorted(map(inert, HOSTILE))
    assert column(page, 8).count(HOSTILE[0]) == 1
    for tab in TABS:
        page.click(f"#tab-{tab}")
        settled(page)
    assert page.locator("img").count() == 0
    assert page.locator("script").count() == 3


def test_a_phone_shows_everything_without_scrolling_sideways(report: Path, look: Look) -> None:
    page = look(report, **PHONE)
    for tab in TABS:
        page.click(f"#tab-{tab}")
        settled(page)
        assert page.evaluate("document.documentElement.scrollWidth") <= 390, tab
    page.click("#tab-progress")
    settled(page)
    assert page.evaluate("innerWidth") == 390
    assert page.locator("#progress .plot").first.bounding_box()["width"] <= 390
    # A formula would not fit beside its star.
    formulas = "#progress .scatterlayer .textpoint:has-text('x')"
    assert page.locator(formulas).count() == 0
    assert look(report).locator(formulas).count() > 0


def test_a_dark_page_has_light_letters_in_its_figures(report: Path, look: Look) -> None:
    inks = {}
    for scheme in ("light", "dark"):
        page = look(report, color_scheme=scheme)
        inks[scheme] = page.evaluate(
            "[getComputedStyle(document.body).backgroundColor,"
            " getComputedStyle(document.querySelector('.xtitle')).fill]"
        )
    assert inks["light"] == ["rgb(255, 255, 255)", "rgb(31, 35, 40)"]
    assert inks["dark"] == ["rgb(20, 23, 27)", "rgb(230, 230, 230)"]
    page.emulate_media(color_scheme="light")
    until(page, "getComputedStyle(document.querySelector('.xtitle')).fill === 'rgb(31, 35, 40)'")


def test_a_printed_report_has_all_its_parts(report: Path, look: Look) -> None:
    page = look(report, color_scheme="dark")
    page.evaluate("window.seen = []; addEventListener('beforeprint', () => seen.push('printed'))")
    printed = page.pdf(format="A4")
    assert printed.startswith(b"%PDF")
    assert page.evaluate("seen") == ["printed"]
    assert printed.count(b"/Type /Page\n") + printed.count(b"/Type /Page ") >= 5


def test_the_dashboard_follows_a_study_while_it_grows(tmp_path: Path, look: Look) -> None:
    path = tmp_path / "a.study"
    with Maker(path, candidates=30) as maker, dashboard(path) as url:
        page = look(url)
        assert page.locator("#sentence").inner_text() == "No candidate has its result yet."
        maker.baseline()
        maker.search(12)
        page.locator("#state", has_text="12 of 30 candidates").wait_for()
        page.locator("#progress .main-svg").first.wait_for()
        page.click("#tab-candidates")
        assert len(column(page, 1)) == 12
        page.fill("#filter", "initial")
        maker.search(10)
        page.locator("#count", has_text="of 22 candidates").wait_for()
        assert page.input_value("#filter") == "initial"
        assert page.locator("#candidates").is_visible()


def test_a_dashboard_of_several_studies_fetches_the_one_chosen(
    paths: dict[str, Path], look: Look
) -> None:
    with dashboard(paths["finished"], paths["running"]) as url:
        page = look(url)
        page.select_option("#study", label="running")
        page.locator("#state", has_text="20 of 60 candidates").wait_for()
        page.click("#tab-candidates")
        assert len(column(page, 1)) == 20
        page.select_option("#study", label="finished")
        page.locator("#count", has_text="60 of 60 candidates").wait_for()


def test_a_thousand_candidates_open_at_once(tmp_path: Path, look: Look) -> None:
    path = make(tmp_path / "a.study", 1000, population=64, sample=16)
    text = write([path], tmp_path / "report.html")
    assert len(text.encode()) < 2_500_000
    page = look(tmp_path / "report.html")
    opened = page.evaluate("performance.getEntriesByType('navigation')[0].loadEventEnd")
    assert drawn(page, "progress") >= 4
    assert opened < 8000, f"{opened:.0f} ms; about 500 on an idle core"
    page.click("#tab-candidates")
    assert len(column(page, 1)) == 100
    page.click("#more")
    assert len(column(page, 1)) == 600
    assert page.locator("#count").inner_text() == "1000 of 1000 candidates"


@pytest.mark.slow
def test_ten_thousand_candidates_stay_usable(tmp_path: Path, look: Look) -> None:
    path = tmp_path / "a.study"
    with Maker(path, candidates=10_100, population=64, sample=16) as maker:
        maker.baseline()
        maker.search(10_000)
        with dashboard(path) as url:
            page = look(url)
            assert drawn(page, "progress") >= 4
            page.click("#tab-candidates")
            assert page.locator("#count").inner_text() == "10000 of 10000 candidates"
            page.fill("#filter", "tanh")
            assert 0 < len(column(page, 1)) <= 100
            maker.search(50)
            page.locator("#count", has_text="of 10050 candidates").wait_for(timeout=60_000)
    assert len(write([path]).encode()) < 10_000_000


@pytest.mark.slow
def test_the_dashboard_follows_a_real_search(tmp_path: Path, look: Look) -> None:
    path = tmp_path / "real.study"
    search = (
        "import sys, pangaea as pg; pg.search(study=sys.argv[1], candidates=40, population=3,"
        " sample=2, budget=8, rerank=False, runs=0, workers=1)"
    )
    with subprocess.Popen([sys.executable, "-c", search, path]) as driver:
        while not path.exists() and driver.poll() is None:
            time.sleep(0.2)
        with dashboard(path) as url:
            page = look(url)
            seen = set()
            while driver.poll() is None:
                seen.add(page.locator("#state").inner_text())
                page.wait_for_timeout(200)
            page.locator("#state", has_text="finished").wait_for()
        assert driver.returncode == 0
    assert len(seen) > 2, seen

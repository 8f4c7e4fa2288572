"""Links in README and docs lead somewhere, also on a code host: to a file, a heading in it."""

import re
from itertools import pairwise
from pathlib import Path

import pytest

from pages import FOLDER
from tests.docs.blocks import PAGES, ROOT, parsed

TEXTS = [*PAGES, ROOT / "CHANGELOG.md", ROOT / "results" / "README.md"]


def links(page: Path) -> list[str]:
    """Where the links and pictures of a page lead."""
    inline = [child for token in parsed(page) for child in token.children or ()]
    return [str(child.attrs.get("href", child.attrs.get("src"))) for child in inline if child.attrs]


def anchors(page: Path) -> set[str]:
    """The headings of a page, as addresses write them."""
    tokens = parsed(page)
    return {
        slug(following.content)
        for token, following in pairwise(tokens)
        if token.type == "heading_open"
    }


def slug(heading: str) -> str:
    plain = re.sub(r"[^\w\s-]", "", heading.encode("ascii", "ignore").decode()).strip().lower()
    return re.sub(r"[-\s]+", "-", plain)


def problem(page: Path, link: str) -> str | None:
    """Why a link leads nowhere; None if it does lead somewhere, or out of the repository."""
    if re.match(r"https?://|mailto:", link):
        return None
    place, _, anchor = link.partition("#")
    target = (page.parent / place).resolve() if place else page
    if target.is_relative_to(FOLDER):
        return f"only `make docs` makes {place}: a code host does not have it"
    if not target.exists():
        return f"there is no {place}"
    if anchor and anchor not in anchors(target):
        return f"{target.name} has no heading {anchor}"
    return None


@pytest.mark.parametrize("page", TEXTS, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_link_leads_somewhere(page: Path) -> None:
    assert [why for link in links(page) if (why := problem(page, link))] == []


def test_the_test_sees_links_that_lead_nowhere(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(
        "# One heading (of two)\n[a](none.md) ![b](none.png) [c](#other)\n\n"
        "[d](page.md#one-heading-of-two) [e](https://example.org) `[f](none.md)`\n"
    )
    assert links(page) == [
        "none.md",
        "none.png",
        "#other",
        "page.md#one-heading-of-two",
        "https://example.org",
    ]
    problems = [problem(page, link) for link in links(page)]
    assert problems[:3] == [
        "there is no none.md",
        "there is no none.png",
        "page.md has no heading other",
    ]
    assert problems[3:] == [None, None]

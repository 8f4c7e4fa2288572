"""The code blocks of README and docs, and what their marks say about running them.

A block is run as it stands, unless a comment right before it says otherwise:

    <!-- not run: needs a GPU -->        its commands are read by their programs' own parsers alone
    <!-- run smaller: takes minutes -->  two candidates, one epoch, one run
"""

import re
import shlex
from dataclasses import dataclass
from pathlib import Path

from markdown_it import MarkdownIt
from markdown_it.token import Token

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
MARKED = re.compile(r"<!-- (not run|run smaller): (.+?) -->")


@dataclass(frozen=True)
class Block:
    """A block, the line of its page where it begins, and how it is run."""

    page: str
    line: int
    language: str  # as the fence says; commands where there is none
    text: str
    how: str = "run"
    reason: str = ""

    @property
    def name(self) -> str:
        return f"{self.page}:{self.line}"


def blocks(page: Path) -> list[Block]:
    """Every block of a page, in order; those in lists too."""
    tokens = parsed(page)
    name = str(page.relative_to(ROOT))
    return [
        Block(name, _line(token), _language(token), token.content, *_mark(tokens[:i]))
        for i, token in enumerate(tokens)
        if token.type in ("fence", "code_block")
    ]


def parsed(page: Path) -> list[Token]:
    return MarkdownIt().enable("table").parse(page.read_text(encoding="utf-8"))


def _line(token: Token) -> int:
    assert token.map is not None
    return token.map[0] + 1


def _language(token: Token) -> str:
    return token.info.split()[0] if token.info.strip() else "bash"


def _mark(before: list[Token]) -> tuple[str, str]:
    """What the comment right before a block says; one that nobody understands is an error."""
    if not before or before[-1].type != "html_block":
        return "run", ""
    said = before[-1].content.strip()
    mark = MARKED.fullmatch(said)
    assert mark or "run" not in said, f"not a mark: {said}"
    return (mark[1], mark[2]) if mark else ("run", "")


def commands(text: str) -> list[list[str]]:
    """The words of each command; what follows a # is a comment, and a \\ joins lines."""
    lines = text.replace("\\\n", " ").splitlines()
    return [words for line in lines if (words := shlex.split(line, comments=True))]


EVERY = {page: blocks(page) for page in PAGES}

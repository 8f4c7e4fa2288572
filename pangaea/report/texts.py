"""Texts as they are shown: whatever a file holds, nothing in it does anything to who reads it."""

from functools import lru_cache
from typing import Any

from pangaea.errors import ParseError
from pangaea.functions.catalog import spelled
from pangaea.functions.parser import parse


def inert(text: str) -> str:
    """On one line, what cannot be printed written out: `\\x1b[31m` is seen, and colours nothing."""
    if text.isprintable():
        return text
    line = " ".join(text.split())
    return "".join(c if c.isprintable() else ascii(c)[1:-1] for c in line)


def harmless(value: Any) -> Any:
    """Plain data with every text in it inert."""
    if isinstance(value, str):
        return inert(value)
    if isinstance(value, dict):
        return {harmless(key): harmless(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [harmless(item) for item in value]
    return value


def formula(text: str) -> str:
    """The function as it is kept; a text that is none stays what it is."""
    return _written(text)[0]


@lru_cache(maxsize=1 << 16)
def short(text: str) -> str:
    """The function as people read it, without what changes nothing; it takes a millisecond."""
    try:
        return parse(text).simplified().readable()
    except ParseError:
        return inert(text)


def scoped(text: str, scope: str | None) -> str:
    """The function as people read it, with the scope of its parameters if it is not the usual."""
    return short(text) if scope in (None, "channel") else f"{short(text)} per {inert(scope)}"


def latex(text: str) -> str:
    """The function in LaTeX; nothing for a text that is none."""
    return _written(text)[1]


# Most of the work of a page with many candidates is to read their texts, so each is read once.
@lru_cache(maxsize=1 << 16)
def _written(text: str) -> tuple[str, str]:
    try:
        function = parse(text)
    except ParseError:
        return inert(text), ""
    return function.readable(), function.latex()


@lru_cache(maxsize=1 << 10)
def name(text: str) -> str:
    """What a function is called that others are compared with: `GELU`, or its formula."""
    return inert(spelled(text))

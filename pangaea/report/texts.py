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


@lru_cache(maxsize=1 << 16)
def formula(text: str) -> str:
    """The function as people read it; a text that is none stays what it is."""
    try:
        return parse(text).readable()
    except ParseError:
        return inert(text)


@lru_cache(maxsize=1 << 16)
def latex(text: str) -> str:
    try:
        return parse(text).latex()
    except ParseError:
        return ""


@lru_cache(maxsize=1 << 10)
def name(text: str) -> str:
    """What a function is called that others are compared with: `GELU`, or its formula."""
    return inert(spelled(text))

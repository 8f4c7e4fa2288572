"""Formulas in narrow places: broken between their parts, never inside a name."""

import re

# Lines end after spaces, commas, factors and what opens, so that nothing closes at a line's start.
_PIECE = re.compile(r"[^ ,·/({]*[ ,·/({]+|[^ ,·/({]+")


def broken(text: str, width: int) -> str:
    """The text in lines of at most so many characters, as long as no single piece is wider."""
    lines = [""]
    for piece in _PIECE.findall(text):
        if lines[-1] and len(lines[-1]) + len(piece.rstrip()) > width:
            lines.append("")
        lines[-1] += piece
    return "\n".join(line.rstrip() for line in lines)

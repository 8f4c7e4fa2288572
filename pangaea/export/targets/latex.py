"""LaTeX: the formula, and the values of its parameters where they are given as numbers."""

import re

from pangaea.export.request import Request


def export(request: Request) -> str:
    formula = request.function.latex()
    numbers = request.values.numbers.items() if request.given else ()
    values = [
        f"{_symbol(name)} = {number:g}" for name, number in numbers if not isinstance(number, list)
    ]
    return ", \\quad ".join([formula, ", \\; ".join(values)] if values else [formula]) + "\n"


def _symbol(name: str) -> str:
    """A Greek letter, or as a learnable baseline's formula has it: `a_3`, `a_1^+`."""
    letters, number = re.fullmatch(r"([a-z]+)(\d*)", name).groups()  # type: ignore[union-attr]
    if not number:
        return rf"\{letters}"
    return f"{_LETTERS.get(letters, letters + '_{}')}".format(number)


_LETTERS = {"up": "a_{}^+", "down": "a_{}^-"}

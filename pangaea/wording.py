"""Numbers with their nouns, as people say them."""


def counted(number: float, noun: str) -> str:
    """`1 run`, `2 runs`."""
    text = f"{number:g}" if isinstance(number, float) else f"{number}"
    return f"{text} {noun}" + ("" if number == 1 else "s")

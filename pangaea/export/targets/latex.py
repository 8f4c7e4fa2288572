"""LaTeX: the formula, and the values of its parameters where they are given as numbers."""

from pangaea.export.request import Request


def export(request: Request) -> str:
    formula = request.function.latex()
    numbers = request.values.numbers.items() if request.given else ()
    values = [rf"\{name} = {number:g}" for name, number in numbers if not isinstance(number, list)]
    return ", \\quad ".join([formula, ", \\; ".join(values)] if values else [formula]) + "\n"

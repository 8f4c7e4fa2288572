"""From a program of steps to text: an expression to read, and the derivatives line by line."""

import re
import textwrap
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from pangaea.export.request import Values
from pangaea.functions.operators import ATOM, NEGATIVE, OPERATORS, POWER, PRODUCT, SUM, Notation
from pangaea.functions.program import Step

# What is written the same in every target that calls itself a programming language.
SIGNS = {
    "negative": Notation("-%s", NEGATIVE, (PRODUCT,)),
    "add": Notation("%s + %s", SUM, (SUM, PRODUCT)),
    "sub": Notation("%s - %s", SUM, (SUM, PRODUCT)),
    "mul": Notation("%s * %s", PRODUCT, (PRODUCT, POWER)),
    "identity": Notation("%s", ATOM, (ATOM,)),
}
_TIMES = SIGNS["mul"]
_LONG = 50


def calls(rows: Mapping[str, str]) -> dict[str, Notation]:
    """Operators that are the call of a function: `{"tanh": "np.tanh"}`."""
    return {name: call(text, OPERATORS[name].arity) for name, text in rows.items()}


def call(text: str, arity: int = 1) -> Notation:
    return Notation(f"{text}({', '.join(['%s'] * arity)})", ATOM, (SUM,) * arity)


def expression(
    steps: Sequence[Step], table: Mapping[str, Notation], parameters: Sequence[str]
) -> tuple[list[tuple[str, str]], str]:
    """Names for what is used twice or is long, each with its text, and the text of the result."""
    uses = Counter(i for step in steps for i in step.inputs)
    texts: list[tuple[str, int]] = [("x", ATOM)]
    shared: list[tuple[str, str]] = []
    for i, step in enumerate(steps, 1):
        text, level = _step(step, table, parameters, texts)
        long = i < len(steps) and len(text) > _LONG
        if (uses[i] > 1 or long) and not text.isidentifier():
            name = "uvw"[len(shared)] if len(shared) < 3 else f"u{len(shared) + 1}"
            shared.append((name, text))
            text, level = name, ATOM
        texts.append((text, level))
    return shared, texts[-1][0]


def _step(
    step: Step,
    table: Mapping[str, Notation],
    parameters: Sequence[str],
    texts: Sequence[tuple[str, int]],
) -> tuple[str, int]:
    inputs = [texts[i] for i in step.inputs]
    if step.operator == "identity":
        return inputs[0]
    if step.operator is None:
        style, inputs = _TIMES, [(parameters[step.parameter], ATOM), *inputs]
    else:
        style = table[step.operator]
    pieces = [
        text if level >= needed else f"({text})"
        for (text, level), needed in zip(inputs, style.inputs, strict=True)
    ]
    constant = "%s" not in style.template
    return style.template % (() if constant else tuple(pieces)), style.level


def gradients(
    steps: Sequence[Step],
    table: Mapping[str, Notation],
    slopes: Mapping[str, tuple[str, ...]],
    parameters: Sequence[str],
) -> tuple[list[tuple[str, str]], list[str]]:
    """Every value by its name, then what the result's slope by it is; last, by x and parameters.

    A slope is a text with {a} and {b} for the operator's inputs; "0" is none at all.
    """
    names = ["x", *(f"v{i}" for i in range(1, len(steps) + 1))]
    atoms = [(name, ATOM) for name in names]
    lines = [
        (names[i], _step(step, table, parameters, atoms)[0]) for i, step in enumerate(steps[:-1], 1)
    ]
    pulled: dict[int, list[str]] = {len(steps): ["1"]}
    by_parameter = ["0"] * len(parameters)
    for i in range(len(steps), 0, -1):
        if i not in pulled:
            continue
        step, outer = steps[i - 1], " + ".join(pulled[i])
        if outer != "1":
            lines.append((f"d{i}", outer))
            outer = f"d{i}"
        if step.operator is None:
            by_parameter[step.parameter] = _product(outer, names[step.inputs[0]])
            factors: Sequence[str] = (parameters[step.parameter],)
        else:
            inputs = dict(zip("ab", (names[j] for j in step.inputs), strict=False))
            factors = [slope.format(**inputs) for slope in slopes[step.operator]]
        for j, factor in zip(step.inputs, factors, strict=True):
            if factor != "0":
                pulled.setdefault(j, []).append(_product(outer, factor))
    results = [" + ".join(pulled.get(0, ["0"])), *by_parameter]
    return _needed(lines, results), results


def _needed(lines: list[tuple[str, str]], results: Sequence[str]) -> list[tuple[str, str]]:
    """The lines without those that nobody uses."""
    kept: list[tuple[str, str]] = []
    words = set(re.findall(r"\w+", " ".join(results)))
    for name, text in reversed(lines):
        if name in words:
            words.update(re.findall(r"\w+", text))
            kept.insert(0, (name, text))
    return kept


def _product(outer: str, factor: str) -> str:
    if outer == "1":
        return factor
    return {"1": outer, "-1": f"-{outer}"}.get(factor, f"{outer} * {factor}")


def used(text: str, definitions: Mapping[str, str]) -> list[str]:
    """The definitions that a text uses, and those that these use, in the order of the table."""
    needed: set[str] = set()
    texts = [text]
    while texts:
        words = set(re.findall(r"[A-Za-z_][A-Za-z0-9_]*(?=\()", texts.pop()))
        new = (words & definitions.keys()) - needed
        needed |= new
        texts += [definitions[name].split(")", 1)[1] for name in new]
    return [definitions[name] for name in definitions if name in needed]


def python_source(head: str, needed: Sequence[str], *parts: str) -> str:
    """A Python file: what it says and imports, the functions it needs, and its own parts."""
    blocks = [textwrap.dedent(block).strip("\n") for block in (head, *needed, *parts)]
    return "\n\n\n".join(block for block in blocks if block) + "\n"


def python_function(
    head: str, docstring: str, shared: Sequence[tuple[str, str]], result: str
) -> str:
    lines = [
        f'"""{docstring}"""',
        *(f"{name} = {text}" for name, text in shared),
        f"return {result}",
    ]
    return f"def {head}:\n" + "".join(f"    {line}\n" for line in lines)


def python_arguments(values: Values) -> str:
    """`x, alpha=1.0, beta=BETA`: a list of values has a name of its own."""
    defaults = [
        f"{name}={name.upper() if isinstance(number, list) else repr(number)}"
        for name, number in values.numbers.items()
    ]
    return ", ".join(["x", *defaults])


def shaped(values: Values, style: str) -> list[str]:
    """Lines that name the values which are lists, as arrays of their shape."""
    shape = f".reshape{values.shape}" if len(values.shape) > 1 else ""
    return [f"{line}{shape}" for line in lists(values.numbers, style)]


def lists(numbers: Mapping[str, float | list[float]], style: str) -> list[str]:
    """Lines that name the values which are lists: `ALPHA = np.array([…])`."""
    return [
        f"{name.upper()} = {style % wrapped(values)}"
        for name, values in numbers.items()
        if isinstance(values, list)
    ]


def wrapped(numbers: Iterable[float], width: int = 96) -> str:
    """Numbers in square brackets, on several lines where one is too short."""
    text = ", ".join(map(repr, numbers))
    if len(text) <= 60:
        return f"[{text}]"
    filled = textwrap.fill(text, width, initial_indent="    ", subsequent_indent="    ")
    return f"[\n{filled},\n]"

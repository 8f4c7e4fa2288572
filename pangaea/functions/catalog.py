"""Functions by name: the paper's fixed baselines, and every function that it prints."""

import difflib
import re
from functools import cache

from pangaea.errors import PangaeaError, ParseError
from pangaea.functions import parser
from pangaea.functions.expression import Function
from pangaea.functions.learnable import LEARNABLE, Learnable
from pangaea.functions.paper import FIGURES

# Baselines as people write them in a sentence.
_SPELLED = {
    "relu": "ReLU",
    "elu": "ELU",
    "selu": "SELU",
    "gelu": "GELU",
    "elish": "ELiSH",
    "leaky_relu": "Leaky ReLU",
    "hard_sigmoid": "HardSigmoid",
    "mish": "Mish",
    "sigmoid": "Sigmoid",
    "softplus": "Softplus",
    "softsign": "Softsign",
    "swish": "Swish",
    "tanh": "Tanh",
    "pswish": "PSwish",
    "prelu": "PReLU",
    "apl": "APL",
    "pau": "PAU",
    "splash": "SPLASH",
}

_NAME = re.compile(r"[a-z][a-z0-9_-]{0,39}")


@cache
def _catalog() -> dict[str, Function]:
    texts = {figure.name: figure.function for figure in FIGURES if figure.name not in LEARNABLE}
    return {name: parser.parse(text) for name, text in texts.items()}


def catalog() -> dict[str, Function]:
    """Name to function: every fixed baseline, and every function that the paper prints."""
    return dict(_catalog())


def parse(text: str) -> Function:
    """The function that a text means: an expression, or a name of the catalog."""
    try:
        return parser.parse(text)
    except ParseError as error:
        name = text.strip().lower() if isinstance(text, str) else ""
        if name in _catalog():
            return _catalog()[name]
        if name in LEARNABLE:
            what = (
                f"{name!r}, a learnable baseline, which is no expression: it is taken by its "
                f'name, as in pangaea.Activation("{name}") and `pangaea evaluate {name}`'
            )
            raise ParseError(0, "an expression", what) from None
        if _NAME.fullmatch(name) and (
            near := difflib.get_close_matches(name, [*_catalog(), *LEARNABLE], cutoff=0.7)
        ):
            hint = f"{error.expected} (did you mean {', '.join(near)}?)"
            raise ParseError(error.position, hint, error.found) from None
        raise


def resolve(spec: Function | Learnable | str) -> Function | Learnable:
    """A function from itself, its text, a catalog name or a learnable baseline's name."""
    if isinstance(spec, Function | Learnable):
        return spec
    if not isinstance(spec, str):
        raise PangaeaError(f"a function is a Function or a text, got {type(spec).__name__}")
    name = spec.strip().lower()
    return LEARNABLE[name] if name in LEARNABLE else parse(spec)


def listed(text: str) -> tuple[str, ...]:
    """The functions in a text with commas between them, each by the text that a study keeps."""
    texts: list[str] = []
    depth = start = 0
    for place, letter in enumerate(text):
        depth += (letter == "(") - (letter == ")")
        if letter == "," and depth <= 0:
            texts.append(text[start:place].strip())
            start = place + 1
    texts.append(text[start:].strip())
    names = [t.lower() if t.lower() in LEARNABLE else str(parse(t)) for t in texts]
    return tuple(dict.fromkeys(names))


def spelled(text: str) -> str:
    """What people call a function: `ReLU` for a baseline, else its formula or the text."""
    if text.lower() in LEARNABLE:
        return _SPELLED[text.lower()]
    try:
        function = parse(text)
    except ParseError:
        return text
    name = next((n for n in _SPELLED if _catalog().get(n) == function), None)
    return function.readable() if name is None else _SPELLED[name]

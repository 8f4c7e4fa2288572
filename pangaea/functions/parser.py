"""Text to function: the canonical form, and what people and the paper write.

A hand-written precedence parser over a fixed set of tokens. It is bounded (length, nesting, nodes),
so any text is answered in milliseconds, and each rejection is one `ParseError`.
"""

import difflib
import re
from typing import NamedTuple

from pangaea.errors import ParseError
from pangaea.functions.expression import PARAMETERS, Expression, Function, Path, X
from pangaea.functions.operators import BINARY, OPERATORS

MAX_BYTES, MAX_DEPTH, MAX_NODES = 4096, 64, 256

ALIASES = {
    "absolute": "abs",
    "arcsinh": "asinh",
    "arctan": "atan",
    "divide": "div",
    "gelu_tanh": "gelu",
    "hardsigmoid": "hard_sigmoid",
    "i0e": "bessel_i0e",
    "i1e": "bessel_i1e",
    "inverse": "reciprocal",
    "leakyrelu": "leaky_relu",
    "log_sigmoid": "logsigmoid",
    "logistic": "sigmoid",
    "maximum": "max",
    "minimum": "min",
    "minus": "sub",
    "multiply": "mul",
    "neg": "negative",
    "plus": "add",
    "power": "pow",
    "sigma": "sigmoid",
    "silu": "swish",
    "subtract": "sub",
    "times": "mul",
    "σ": "sigmoid",
}

_PARAMETER_NAMES = {
    name: PARAMETERS[i]
    for i, names in enumerate((("alpha", "α", "a"), ("beta", "β", "b"), ("gamma", "γ", "c")))
    for name in names
}

_TOKEN = re.compile(
    r"((?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][-+]?[0-9]+)?)"  # a number
    r"|([A-Za-z_][A-Za-z0-9_]*|[αβγσ])"  # a name
    r"|(\*\*|[-+*/^(),|·×⋅−])"  # a sign
    r"|([^ \t\r\n])"  # nothing that belongs here
)
_SIGNS = {"**": "^", "·": "*", "×": "*", "⋅": "*", "−": "-"}

# Binding powers. A divisor binds tighter than a factor, so that a/β·b is (a/β)·b.
_SUM, _NEGATIVE, _PRODUCT, _FACTOR, _DIVISOR, _POWER = 10, 20, 30, 31, 32, 40
_INFIX = {"+": _SUM, "-": _SUM, "*": _PRODUCT, "/": _PRODUCT, "^": _POWER}

_OPERAND = "x, a number, a parameter or an operator"


def _near(name: str) -> str:
    """What exists in place of an operator that does not."""
    known = [*OPERATORS, *ALIASES]
    near = difflib.get_close_matches(name[:20], known, n=3, cutoff=0.7)
    meant = f"did you mean {', '.join(near)}? " if near else ""
    return f" ({meant}'pangaea operators' lists them)"


class _Draft(NamedTuple):
    """A tree being built. A parameter that scales nothing yet has no operator."""

    operator: str
    inputs: tuple["_Draft", ...]
    parameter: str | None
    depth: int
    nodes: int


_X = _Draft("x", (), None, 0, 0)
_ONE = _Draft("one", (_X,), None, 1, 1)
_ZERO = _Draft("zero", (_X,), None, 1, 1)
_MINUS_ONE = _Draft("negative", (_ONE,), None, 2, 2)
_E = _Draft("e", (), None, 0, 0)


def parse(text: str) -> Function:
    """The function that a text means; `ParseError` where it means none."""
    return _Parser(text).function()


class _Parser:
    def __init__(self, text: str) -> None:
        if not isinstance(text, str):
            raise ParseError(0, "a text", type(text).__name__)
        if len(text) > MAX_BYTES or len(text.encode("utf-8", "surrogatepass")) > MAX_BYTES:
            raise ParseError(0, f"at most {MAX_BYTES} bytes", "a longer text")
        self.text = text
        self.kinds: list[str] = []
        self.texts: list[str] = []
        self.index = 0
        self.brackets = 0
        self.nesting = 0
        self.used: set[str] = set()
        self.openings: tuple[str, ...] = ("(", "|")  # what opens a factor after a parameter
        for number, name, sign, other in _TOKEN.findall(text):
            if name:
                self.kinds.append("name")
                self.texts.append(name.lower())
            elif sign:
                self.kinds.append("sign")
                self.texts.append(_SIGNS.get(sign, sign))
            elif number:
                self.kinds.append("number")
                self.texts.append(number)
            else:
                shown = repr(other) if " " < other <= "~" else f"U+{ord(other):04X}"
                raise ParseError(
                    self._position(len(self.texts)), _OPERAND, f"the character {shown}"
                )
        self.kinds.append("end")
        self.texts.append("")

    def _position(self, index: int) -> int:
        """Where a token stands: looked up for errors only, so that the rest is quick."""
        starts = [token.start() for token in _TOKEN.finditer(self.text)]
        return starts[index] if index < len(starts) else len(self.text)

    def function(self) -> Function:
        draft = self._scaled(self._expression(0))
        if self.kinds[self.index] != "end":
            raise self._error("an infix operator or the end")
        edges: list[Path] = []

        def build(draft: _Draft, path: Path) -> Expression:
            if draft.parameter is not None:
                edges.append(path)
            if not draft.inputs:
                return X
            inputs = [build(child, (*path, i)) for i, child in enumerate(draft.inputs)]
            return Expression(draft.operator, tuple(inputs))

        return Function(build(draft, ()), tuple(edges))

    def _error(self, expected: str, index: int | None = None) -> ParseError:
        index = self.index if index is None else index
        text = self.texts[index]
        if len(text) > 20:
            text = text[:17] + "..."
        shown = "the end" if self.kinds[index] == "end" else repr(text)
        return ParseError(self._position(index), expected, shown)

    def _expect(self, sign: str, otherwise: str) -> None:
        if self.texts[self.index] != sign:
            raise self._error(otherwise)
        self.index += 1

    def _node(self, operator: str, *inputs: _Draft) -> _Draft:
        depth, nodes, drafts = 0, 1, []
        for draft in inputs:
            if draft.operator in ("parameter", "e"):
                draft = self._scaled(draft)
            drafts.append(draft)
            nodes += draft.nodes
            depth = max(depth, draft.depth)
        depth += 1
        if depth > MAX_DEPTH or nodes > MAX_NODES:
            raise self._error(f"at most {MAX_DEPTH} levels and {MAX_NODES} nodes", self.index - 1)
        return _Draft(operator, tuple(drafts), None, depth, nodes)

    def _scaled(self, draft: _Draft) -> _Draft:
        """A parameter on its own is a factor of the constant 1."""
        if draft.operator == "parameter":
            return _ONE._replace(parameter=draft.parameter)
        if draft.operator == "e":
            raise self._error("'^' after e: only e^u is a function", self.index - 1)
        return draft

    def _attach(self, parameter: _Draft, draft: _Draft) -> _Draft:
        """Scale a draft; two parameters in a row stand on the two edges of an identity node."""
        draft = self._scaled(draft)
        if draft.parameter is not None:
            draft = self._node("identity", draft)
        return draft._replace(parameter=parameter.parameter)

    def _expression(self, power: int) -> _Draft:
        # Brackets are counted apart; a level of text takes at most two calls.
        self.nesting += 1
        if self.nesting > 2 * MAX_DEPTH + 8:
            raise self._error(f"at most {MAX_DEPTH} levels")
        left = self._operand(power)
        while True:
            sign = self.texts[self.index]
            binding = _INFIX.get(sign, -1)
            if binding < power:
                break
            self.index += 1
            left = self._infix(sign, left)
        self.nesting -= 1
        return left

    def _infix(self, sign: str, left: _Draft) -> _Draft:
        if sign == "^":
            if left.operator == "e":
                return self._node("exp", self._expression(_POWER))
            if self._is_square():
                self.index += 1
                return self._node("square", left)
            right = self._expression(_POWER)
            if right == _MINUS_ONE:
                return self._node("reciprocal", left)
            return self._node("pow", left, right)
        if sign == "*":
            right = self._expression(_FACTOR)
            if left.operator == "parameter":
                return self._attach(left, right)
            if right.operator == "parameter":
                return self._attach(right, left)
            return self._node("mul", left, right)
        if sign == "/":
            right = self._expression(_DIVISOR)
            if left == _ONE:
                return self._node("reciprocal", right)
            if left.operator == "parameter":
                return self._attach(left, self._node("reciprocal", right))
            return self._node("div", left, right)
        right = self._expression(_SUM + 1)
        if sign == "-" and left.operator == "exp" and left.parameter is None and right == _ONE:
            return self._node("expm1", *left.inputs)
        return self._node("add" if sign == "+" else "sub", left, right)

    def _is_square(self) -> bool:
        """Is the exponent 2, and no tower of powers upon it?"""
        if self.kinds[self.index] != "number" or self.texts[self.index + 1] == "^":
            return False
        return float(self.texts[self.index]) == 2

    def _operand(self, power: int) -> _Draft:
        kind, text = self.kinds[self.index], self.texts[self.index]
        self.index += 1
        if kind == "name":
            if text == "x":
                return _X
            if text in _PARAMETER_NAMES:
                return self._parameter(_PARAMETER_NAMES[text], power)
            if text == "e":
                return _E
            return self._call(text)
        if kind == "number":
            value = float(text)
            if value not in (0.0, 1.0):
                raise self._error("0 or 1 (2 only as the exponent of a square)", self.index - 1)
            return _ONE if value else _ZERO
        if text == "-":
            return self._node("negative", self._expression(max(power, _NEGATIVE)))
        if text == "(":
            return self._bracketed(")")
        if text == "|":
            return self._node("abs", self._bracketed("|"))
        raise self._error(_OPERAND, self.index - 1)

    def _bracketed(self, closing: str) -> _Draft:
        outside = self._enter(("(", "|") if closing == ")" else ("(",))
        draft = self._expression(0)
        self._expect(closing, f"an infix operator or {closing!r}")
        self._leave(outside)
        return draft

    def _enter(self, openings: tuple[str, ...]) -> tuple[str, ...]:
        """Go a level of brackets down; what opens a factor outside of it comes back."""
        self.brackets += 1
        if self.brackets > MAX_DEPTH:
            raise self._error(f"at most {MAX_DEPTH} levels of brackets", self.index - 1)
        outside, self.openings = self.openings, openings
        return outside

    def _leave(self, outside: tuple[str, ...]) -> None:
        self.openings = outside
        self.brackets -= 1

    def _parameter(self, name: str, power: int) -> _Draft:
        """A parameter scales what follows it: `alpha*x`, or `αx` as the paper prints it."""
        if name in self.used:
            raise self._error(
                f"a parameter not used before, for each edge has its own (not {name})",
                self.index - 1,
            )
        self.used.add(name)
        parameter = _Draft("parameter", (), name, 0, 0)
        if power <= _FACTOR:
            if self.texts[self.index] == "*":
                self.index += 1
                return self._attach(parameter, self._expression(_FACTOR))
            if self.kinds[self.index] == "name" or self.texts[self.index] in self.openings:
                return self._attach(parameter, self._expression(_FACTOR))
        return parameter

    def _call(self, name: str) -> _Draft:
        start = self.index - 1
        operator = ALIASES.get(name, name)
        if operator not in OPERATORS and name not in ("log", "ln"):
            called = self.texts[self.index] == "("
            raise self._error(_OPERAND + (_near(name) if called else ""), start)
        self._expect("(", f"'(' after {operator}")
        outside = self._enter(("(", "|"))
        first = self._expression(0)
        if name in ("log", "ln"):
            draft = self._log(first, start)
        elif operator in BINARY:
            self._expect(",", f"',' and a second input of {operator}")
            draft = self._node(operator, first, self._expression(0))
        else:
            draft = self._node(operator, first)
        self._expect(")", f"')' to end {operator}")
        self._leave(outside)
        return draft

    def _log(self, inner: _Draft, start: int) -> _Draft:
        """A logarithm exists only where it is defined everywhere: log σ(u) and log(1 + eᵘ)."""
        if inner.parameter is None:
            if inner.operator == "sigmoid":
                return self._node("logsigmoid", *inner.inputs)
            if inner.operator == "add" and _ONE in inner.inputs:
                other = inner.inputs[inner.inputs[0] == _ONE]
                if other.operator == "exp" and other.parameter is None:
                    return self._node("softplus", *other.inputs)
        raise self._error("log(sigmoid(u)) or log(1 + exp(u)), the only logarithms", start)

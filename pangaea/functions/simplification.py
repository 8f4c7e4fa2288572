"""A function as people want to read it: without what changes nothing.

Nodes that compute what one of their inputs already is, or a constant, go; so do parameters without
effect, and of parameters that multiply each other one stays: α·(β·asinh(x)·γ) is α·asinh(x). The
family of functions that the parameters reach is the same, and so is where they start. Whether two
nodes compute the same is decided numerically, at 400 inputs with parameters of every size and sign;
where float64 overflows (0·exp(800)) they may differ.
"""

import math
import random
from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

from pangaea.functions.equivalence import fingerprint
from pangaea.functions.expression import Expression, Function, Path, X
from pangaea.functions.operators import CONSTANTS, OPERATORS

_SAMPLES = 400
# Parameters of every size and sign beside each other: in min(x, |α·swish(x) + β·x|) they have a say
# only where both are small, in max(α·max(β·x, 1), x) β only where α is positive.
_RNG = random.Random(0)
_FACTORS = [
    tuple(
        math.copysign(math.exp(_RNG.uniform(-7, 3)), _RNG.uniform(-1, 1)) for _ in range(_SAMPLES)
    )
    for _ in range(3)
]
_XS = tuple((0.1, 1.0, 3.0, 8.0, 60.0)[i % 5] * _RNG.uniform(-1, 1) for i in range(_SAMPLES - 1))
_XS = (*_XS, 0.0)
# What may stand for several nodes, on one of their inputs: 0 − u is −u, max(u, 0) is relu(u).
_SHORTER = ("negative", "abs", "square", "reciprocal", "relu")
# Operators through which a factor passes: with its sign (a reciprocal reaches the same values, for
# division by zero gives 0) or without.
_SIGNED, _UNSIGNED = range(2)
_PASSING = {
    "identity": (_SIGNED,),
    "negative": (_SIGNED,),
    "reciprocal": (_SIGNED,),
    "mul": (_SIGNED, _SIGNED),
    "div": (_SIGNED, _SIGNED),
    "abs": (_UNSIGNED,),
    "square": (_UNSIGNED,),
}

Column = tuple[float, ...]


class _Term(NamedTuple):
    """A node with its value at every point, bare and times the parameters that scale it."""

    operator: str
    inputs: tuple["_Term", ...]
    size: tuple[int, int]  # nodes and edges
    bare: Column
    value: Column
    parameters: tuple[int, ...] = ()

    def below(self) -> Iterator["_Term"]:
        for term in self.inputs:
            yield term
            yield from term.below()

    def scaled(self, parameters: tuple[int, ...]) -> "_Term":
        value = self.bare
        for i in parameters:
            value = tuple(a * b for a, b in zip(value, _FACTORS[i], strict=True))
        return self._replace(parameters=parameters, value=value)


_LEAF = _Term("x", (), (0, 1), _XS, _XS)


def _node(operator: str, *inputs: _Term) -> _Term:
    row = OPERATORS[operator]
    bare = tuple(map(row.value, *(term.value for term in inputs)))
    nodes, edges = (1 + sum(sizes) for sizes in zip(*(term.size for term in inputs), strict=True))
    return _Term(operator, inputs, (nodes, edges), bare, bare)


_CONSTANTS = tuple(_node(name, _LEAF) for name in CONSTANTS)


@lru_cache(maxsize=1024)
def simplified(function: Function) -> Function:
    """The same family of functions, starting at the same one, as short as these rules make it."""
    while (shorter := _once(function)) != function:
        function = shorter
    return function


def _once(function: Function) -> Function:
    named = {path: i for i, path in enumerate(function.parameter_edges)}
    term = _read(function.expression, (), named)
    exact = _shortened(_live(term))
    merged = _without(exact, _merging(exact))
    expression, edges = _written(merged, ())
    candidate = Function(expression, tuple(edges))
    if candidate == function:
        return function
    # What rounding makes look alike at one node must not show in the whole.
    same = _close(exact.value, term.value, 1e-9)
    same = same and fingerprint(candidate.form) == fingerprint(function.form)
    if same and candidate.parameters == function.parameters:
        same = fingerprint(candidate) == fingerprint(function)
    return candidate if same else function


def _read(node: Expression, path: Path, named: dict[Path, int]) -> _Term:
    scaling = (named[path],) if path in named else ()
    if node.operator == "x":
        return _LEAF.scaled(scaling)
    if node.operator in CONSTANTS:
        # Its input has no say.
        return _node(node.operator, _LEAF).scaled(scaling)
    inputs = (_read(child, (*path, i), named) for i, child in enumerate(node.inputs))
    return _node(node.operator, *inputs).scaled(scaling)


def _written(term: _Term, path: Path) -> tuple[Expression, list[Path]]:
    edges = [path] if term.parameters else []
    if term.operator == "x":
        return X, edges
    inputs = []
    for i, child in enumerate(term.inputs):
        expression, others = _written(child, (*path, i))
        inputs.append(expression)
        edges += others
    return Expression(term.operator, tuple(inputs)), edges


def _without(term: _Term, parameters: set[int]) -> _Term:
    rest = tuple(i for i in term.parameters if i not in parameters)
    if not term.inputs:
        return _LEAF.scaled(rest)
    inputs = [_without(child, parameters) for child in term.inputs]
    return _node(term.operator, *inputs).scaled(rest)


def _live(term: _Term) -> _Term:
    """Without the parameters that change nothing."""
    for i in range(3):
        rest = _without(term, {i})
        if _close(rest.value, term.value):
            term = rest
    return term


def _shortened(term: _Term) -> _Term:
    """Each node, inputs first, replaced by the shortest that computes the same."""
    if not term.inputs:
        return term
    node = _node(term.operator, *map(_shortened, term.inputs))
    for candidate in sorted(_candidates(node), key=lambda candidate: candidate.size):
        if candidate.size < node.size and _close(candidate.value, node.bare):
            return candidate.scaled(term.parameters + candidate.parameters)
    return node.scaled(term.parameters)


def _candidates(node: _Term) -> Iterator[_Term]:
    yield from _CONSTANTS
    below = list(node.below())
    yield from below
    for name in _SHORTER:
        value = OPERATORS[name].value
        yield from (
            _node(name, term) for term in below if _near(value(term.value[0]), node.bare[0])
        )
    if len(node.inputs) == 2:
        left, right = node.inputs
        if node.operator == "mul":
            for one, other in ((left, right), (right, left)):
                if one.operator == "one":
                    yield other.scaled(one.parameters + other.parameters)
        elif node.operator in _OPPOSITE and right.operator == "negative":
            (inner,) = right.inputs
            inner = inner.scaled(right.parameters + inner.parameters)
            yield _node(_OPPOSITE[node.operator], left, inner)


_OPPOSITE = {"add": "sub", "sub": "add"}


def _merging(term: _Term) -> set[int]:
    """Of parameters that multiply each other all but one: the outermost that keeps its sign."""
    dropped: set[int] = set()
    for group in _groups(term):
        kept = sorted(group, key=lambda member: member[1])[:1]
        dropped.update(parameter for parameter, _ in set(group) - set(kept))
    return dropped


def _groups(term: _Term) -> list[list[tuple[int, int]]]:
    """Parameters that are factors of one product, each with how it gets there."""
    groups: list[list[tuple[int, int]]] = [[]]

    def gather(term: _Term, way: int, group: list[tuple[int, int]]) -> None:
        group += [(parameter, way) for parameter in term.parameters]
        for i, child in enumerate(term.inputs):
            if term.operator in _PASSING:
                gather(child, max(way, _PASSING[term.operator][i]), group)
            else:
                groups.append([])
                gather(child, _SIGNED, groups[-1])

    gather(term, _SIGNED, groups[0])
    return groups


def _close(a: Column, b: Column, tolerance: float = 1e-12) -> bool:
    """Are they the same? What is undefined almost everywhere gives no evidence of it."""
    if not all(_near(u, v, tolerance) for u, v in zip(a, b, strict=True)):
        return False
    return sum(u == u for u in a) > _SAMPLES // 4


def _near(a: float, b: float, tolerance: float = 1e-12) -> bool:
    return math.isclose(a, b, rel_tol=tolerance) or (a != a and b != b)

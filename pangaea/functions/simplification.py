"""A function as people want to read it: without what changes nothing.

Nodes that compute what one of their inputs already is, or a constant, go; so do parameters without
effect, and of parameters that multiply each other one stays: α·(β·asinh(x)·γ) is α·asinh(x). The
family of functions that the parameters reach is the same, and so is where they start. Whether two
nodes compute the same is decided numerically, at 400 inputs with parameters of every size and sign;
where float64 overflows (0·exp(800)) they may differ.
"""

import math
import random
from collections.abc import Callable, Iterator
from functools import cached_property, lru_cache
from operator import attrgetter, mul

from pangaea.functions.expression import Expression, Function, Path, X
from pangaea.functions.operators import CONSTANTS, OPERATORS

_SAMPLES = 400
_FEW = 8  # with 4 or 16 a function takes as long
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


class _Term:
    """A node, the parameters that scale it, and its values, worked out when they are asked for."""

    def __init__(
        self, operator: str, inputs: tuple["_Term", ...], parameters: tuple[int, ...]
    ) -> None:
        self.operator, self.inputs, self.parameters = operator, inputs, parameters
        sizes = [(int(operator != "x"), 1), *(term.size for term in inputs)]
        nodes, edges = (sum(column) for column in zip(*sizes, strict=True))
        self.size: tuple[int, int] = (nodes, edges)

    @cached_property
    def first(self) -> Column:
        """At a few points, where most nodes differ already: the others are left alone then."""
        return self._values(slice(_FEW), attrgetter("first"))

    @cached_property
    def rest(self) -> Column:
        return self._values(slice(_FEW, None), attrgetter("rest"))

    def _values(self, points: slice, of: Callable[["_Term"], Column]) -> Column:
        if self.parameters:
            *others, last = self.parameters
            return tuple(map(mul, of(self.scaled(tuple(others))), _FACTORS[last][points]))
        if self.operator == "x":
            return _XS[points]
        return tuple(map(OPERATORS[self.operator].value, *map(of, self.inputs)))

    def below(self) -> Iterator["_Term"]:
        for term in self.inputs:
            yield term
            yield from term.below()

    def scaled(self, parameters: tuple[int, ...]) -> "_Term":
        return _node(self.operator, *self.inputs, parameters=parameters)


# The functions of a search have most of their terms in common: each is worked out once.
@lru_cache(maxsize=1 << 11)
def _node(operator: str, *inputs: _Term, parameters: tuple[int, ...] = ()) -> _Term:
    return _Term(operator, inputs, parameters)


_LEAF = _node("x")
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
    forms = [_without(each, {0, 1, 2}) for each in (exact, term)]
    same = _alike(exact, term, 1e-9) and _alike(forms[0], forms[1], 1e-9)
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
    inputs = [_without(child, parameters) for child in term.inputs]
    return _node(term.operator, *inputs, parameters=rest)


def _live(term: _Term) -> _Term:
    """Without the parameters that change nothing."""
    for i in sorted({i for node in (term, *term.below()) for i in node.parameters}):
        rest = _without(term, {i})
        if _close(rest, term):
            term = rest
    return term


def _shortened(term: _Term) -> _Term:
    """Each node, inputs first, replaced by the shortest that computes the same."""
    if not term.inputs:
        return term
    node = _node(term.operator, *map(_shortened, term.inputs))
    shorter = [candidate for candidate in _candidates(node) if candidate.size < node.size]
    for candidate in sorted(shorter, key=lambda candidate: candidate.size):
        if _close(candidate, node):
            return candidate.scaled(term.parameters + candidate.parameters)
    return node.scaled(term.parameters)


def _candidates(node: _Term) -> Iterator[_Term]:
    yield from _CONSTANTS
    below = list(node.below())
    yield from below
    for name in _SHORTER:
        first = OPERATORS[name].value
        yield from (
            _node(name, term)
            for term in below
            if _near((first(term.first[0]),), node.first[:1], 1e-12)
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


def _close(a: _Term, b: _Term) -> bool:
    """Are they the same? What is undefined almost everywhere gives no evidence of it."""
    return _alike(a, b, 1e-12) and sum(map(math.isnan, (*a.first, *a.rest))) < _SAMPLES * 3 // 4


def _alike(a: _Term, b: _Term, tolerance: float) -> bool:
    return _near(a.first, b.first, tolerance) and _near(a.rest, b.rest, tolerance)


def _near(a: Column, b: Column, tolerance: float) -> bool:
    if a == b:
        return True
    for u, v in zip(a, b, strict=True):
        if not math.isclose(u, v, rel_tol=tolerance) and (u == u or v == v):
            return False
    return True

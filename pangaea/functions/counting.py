"""How many functions a space has (paper, appendix on the size of the search space).

As there, every input x enters a unary node, so b binary nodes need at least b + 1 unary ones, and
no function passes the largest size. That is not the number of functions that a search can reach:
mutations may feed x straight into a binary node, and pass the size by a few nodes.
"""

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from math import comb

from pangaea.functions.expression import Expression, Function, X
from pangaea.functions.space import PAPER, Space

# The paper's total counts one arrangement of three binary and four unary nodes; there are five.
PAPER_TOTAL = 10_170_042_948_450
PAPER_ARRANGEMENTS = {(3, 4): 1}


@dataclass(frozen=True, slots=True)
class Split:
    """The computation graphs of a space with so many binary and unary nodes."""

    binary: int
    unary: int
    space: Space = PAPER

    @property
    def nodes(self) -> int:
        return self.binary + self.unary

    @property
    def edges(self) -> int:
        return self.unary + 2 * self.binary + 1

    @property
    def arrangements(self) -> int:
        """Catalan's number of binary trees, times the ways to lay unary nodes on their edges."""
        if self.space.levels:
            return _unit_trees(self.binary, self.space.levels)
        spare = self.unary - self.binary - 1
        trees = comb(2 * self.binary, self.binary) // (self.binary + 1)
        return trees * comb(spare + 2 * self.binary, 2 * self.binary)

    @property
    def functions_per_arrangement(self) -> int:
        space = self.space
        operators: int = len(space.unary) ** self.unary * len(space.binary) ** self.binary
        return operators * sum(comb(self.edges, k) for k in range(space.parameters + 1))

    @property
    def functions(self) -> int:
        return self.arrangements * self.functions_per_arrangement

    @property
    def paper_functions(self) -> int:
        """As the paper counts them in its own space."""
        printed = PAPER_ARRANGEMENTS.get((self.binary, self.unary), self.arrangements)
        return printed * self.functions_per_arrangement


def splits(space: Space = PAPER) -> list[Split]:
    """The rows of the paper's table: its sizes, split into binary and unary nodes."""
    if space.levels:
        units = min(space.max_nodes // 3, 2**space.levels - 1)
        return [Split(k, 2 * k, space) for k in range(1, units + 1)]
    return [
        Split(binary, nodes - binary, space)
        for nodes in range(1, space.max_nodes + 1)
        for binary in range(nodes if space.binary else 1)
        if nodes - binary > binary
    ]


def _unit_trees(units: int, levels: int) -> int:
    """The ways to compose core units in at most so many levels."""
    if units == 0:
        return 1
    if levels == 0:
        return 0
    return sum(
        _unit_trees(left, levels - 1) * _unit_trees(units - 1 - left, levels - 1)
        for left in range(units)
    )


def arrangements(split: Split) -> Iterator[Expression]:
    """An expression for each: `identity` stands for any unary operator, `add` for any binary."""
    if split.space.levels:
        return _units(split.binary, split.space.levels)
    return _graphs(split.binary, split.unary)


def _graphs(binary: int, unary: int) -> Iterator[Expression]:
    if unary >= 1:
        if binary == 0 and unary == 1:
            yield Expression("identity", (X,))
        for inner in _graphs(binary, unary - 1):
            yield Expression("identity", (inner,))
    for left_binary in range(binary):
        for left_unary in range(1, unary):
            for left in _graphs(left_binary, left_unary):
                for right in _graphs(binary - 1 - left_binary, unary - left_unary):
                    yield Expression("add", (left, right))


def _units(units: int, levels: int) -> Iterator[Expression]:
    if units == 0:
        yield X
    elif levels:
        for left_units in range(units):
            for left in _units(left_units, levels - 1):
                for right in _units(units - 1 - left_units, levels - 1):
                    inputs = (Expression("identity", (left,)), Expression("identity", (right,)))
                    yield Expression("add", inputs)


def functions(nodes: int, space: Space = PAPER) -> Iterator[Function]:
    """Every function of the space with so many nodes, as it is counted."""
    for split in splits(space):
        if split.nodes == nodes:
            for shape in arrangements(split):
                edges = [path for path, _ in shape.walk()]
                for expression in _fillings(shape, space):
                    for k in range(space.parameters + 1):
                        for parameter_edges in itertools.combinations(edges, k):
                            yield Function(expression, parameter_edges)


def _fillings(shape: Expression, space: Space) -> Iterator[Expression]:
    if not shape.inputs:
        yield shape
        return
    names = space.unary if len(shape.inputs) == 1 else space.binary
    for inputs in itertools.product(*(list(_fillings(child, space)) for child in shape.inputs)):
        for name in names:
            yield Expression(name, inputs)

"""How many functions there are to search (paper, appendix on the size of the search space).

As there, every input x enters a unary node, so b binary nodes need at least b + 1 unary ones.
"""

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from math import comb

from pangaea.functions.expression import PARAMETERS, Expression, Function, X
from pangaea.functions.operators import BINARY, UNARY

MAX_NODES = 7

# The paper's total counts one arrangement of three binary and four unary nodes; there are five.
PAPER_TOTAL = 10_170_042_948_450
PAPER_ARRANGEMENTS = {(3, 4): 1}


@dataclass(frozen=True, slots=True)
class Row:
    """The computation graphs with so many binary and unary nodes."""

    binary: int
    unary: int

    @property
    def nodes(self) -> int:
        return self.binary + self.unary

    @property
    def edges(self) -> int:
        return self.unary + 2 * self.binary + 1

    @property
    def arrangements(self) -> int:
        """Catalan's number of binary trees, times the ways to lay unary nodes on their edges."""
        spare = self.unary - self.binary - 1
        trees = comb(2 * self.binary, self.binary) // (self.binary + 1)
        return trees * comb(spare + 2 * self.binary, 2 * self.binary)

    @property
    def functions_per_arrangement(self) -> int:
        operators: int = len(UNARY) ** self.unary * len(BINARY) ** self.binary
        return operators * sum(comb(self.edges, k) for k in range(len(PARAMETERS) + 1))

    @property
    def functions(self) -> int:
        return self.arrangements * self.functions_per_arrangement

    @property
    def paper_arrangements(self) -> int:
        return PAPER_ARRANGEMENTS.get((self.binary, self.unary), self.arrangements)

    @property
    def paper_functions(self) -> int:
        return self.paper_arrangements * self.functions_per_arrangement


def rows(max_nodes: int = MAX_NODES) -> list[Row]:
    """The paper's table: every split of 1 to seven nodes into binary and unary ones."""
    return [
        Row(binary, nodes - binary)
        for nodes in range(1, max_nodes + 1)
        for binary in range(nodes)
        if nodes - binary > binary
    ]


def arrangements(binary: int, unary: int) -> Iterator[Expression]:
    """An expression for each: `identity` stands for any unary operator, `add` for any binary."""
    if unary >= 1:
        if binary == 0 and unary == 1:
            yield Expression("identity", (X,))
        for inner in arrangements(binary, unary - 1):
            yield Expression("identity", (inner,))
    for left_binary in range(binary):
        for left_unary in range(1, unary):
            for left in arrangements(left_binary, left_unary):
                for right in arrangements(binary - 1 - left_binary, unary - left_unary):
                    yield Expression("add", (left, right))


def functions(nodes: int) -> Iterator[Function]:
    """Every function with so many nodes."""
    for row in rows(nodes):
        if row.nodes == nodes:
            for shape in arrangements(row.binary, row.unary):
                edges = [path for path, _ in shape.walk()]
                for expression in _fillings(shape):
                    for k in range(len(PARAMETERS) + 1):
                        for chosen in itertools.combinations(edges, k):
                            yield Function(expression, chosen)


def _fillings(shape: Expression) -> Iterator[Expression]:
    if not shape.inputs:
        yield shape
        return
    names = UNARY if len(shape.inputs) == 1 else BINARY
    for inputs in itertools.product(*(list(_fillings(child)) for child in shape.inputs)):
        for name in names:
            yield Expression(name, inputs)

"""Expressions and functions: immutable trees, and the edges that carry parameters.

A path (a tuple of child indices from the root) names a node and its outgoing edge alike.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, overload

from pangaea.errors import PangaeaError, UnknownNameError
from pangaea.functions import arrays, printing
from pangaea.functions.operators import CONSTANTS, OPERATORS

Path = tuple[int, ...]

PARAMETERS = ("alpha", "beta", "gamma")


@dataclass(frozen=True, slots=True)
class Expression:
    """A node with its inputs, or the input `x`."""

    operator: str
    inputs: tuple["Expression", ...] = ()

    def __post_init__(self) -> None:
        if self.operator == "x":
            arity = 0
        elif self.operator in OPERATORS:
            arity = OPERATORS[self.operator].arity
        else:
            raise UnknownNameError("operator", self.operator, OPERATORS)
        if len(self.inputs) != arity:
            raise PangaeaError(f"{self.operator} has {arity} inputs, got {len(self.inputs)}")

    @property
    def nodes(self) -> int:
        return (self.operator != "x") + sum(child.nodes for child in self.inputs)

    @property
    def edges(self) -> int:
        return 1 + sum(child.edges for child in self.inputs)

    def walk(self, path: Path = ()) -> Iterator[tuple[Path, "Expression"]]:
        """Every edge with what it comes from, in the order of the canonical text."""
        yield path, self
        for i, child in enumerate(self.inputs):
            yield from child.walk((*path, i))

    def at(self, path: Path) -> "Expression":
        node = self
        for i in path:
            node = node.inputs[i]
        return node

    def replaced(self, path: Path, new: "Expression") -> "Expression":
        """A copy in which `new` stands at the path."""
        if not path:
            return new
        inputs = list(self.inputs)
        inputs[path[0]] = inputs[path[0]].replaced(path[1:], new)
        return Expression(self.operator, tuple(inputs))

    def __str__(self) -> str:
        return printing.canonical(self, ())

    def __repr__(self) -> str:
        return f"Expression({_short(str(self))!r})"


X = Expression("x")


@dataclass(frozen=True, slots=True)
class Function:
    """An expression together with the edges that carry a parameter each."""

    expression: Expression
    parameter_edges: tuple[Path, ...] = ()

    def __post_init__(self) -> None:
        edges = tuple(sorted(tuple(path) for path in self.parameter_edges))
        if len(edges) > len(PARAMETERS):
            raise PangaeaError(f"a function has at most three parameters, got {len(edges)}")
        if len(set(edges)) < len(edges):
            raise PangaeaError(f"an edge carries at most one parameter, got {edges}")
        known = {path for path, _ in self.expression.walk()} if edges else set()
        for path in edges:
            if path not in known:
                raise PangaeaError(f"{self.expression} has no edge {path}")
        object.__setattr__(self, "parameter_edges", edges)

    @property
    def nodes(self) -> int:
        return self.expression.nodes

    @property
    def edges(self) -> int:
        return self.expression.edges

    @property
    def parameters(self) -> tuple[str, ...]:
        return PARAMETERS[: len(self.parameter_edges)]

    @property
    def form(self) -> "Function":
        """The same function without its parameters."""
        return Function(self.expression)

    def __str__(self) -> str:
        return printing.canonical(self.expression, self.parameter_edges)

    def __repr__(self) -> str:
        return f"Function({_short(str(self))!r})"

    def _repr_latex_(self) -> str:
        """For notebooks."""
        return f"${self.latex()}$"

    def readable(self) -> str:
        """For people: `α·x − β·log(σ(γ·x))`."""
        return printing.readable(self.expression, self.parameter_edges)

    def latex(self) -> str:
        return printing.latex(self.expression, self.parameter_edges)

    def simplified(self) -> "Function":
        """The same family of functions without what changes nothing, starting at the same one."""
        from pangaea.functions.simplification import simplified

        return simplified(self)

    def apply(
        self, operators: Mapping[str, Callable[..., Any]], x: Any, parameters: Sequence[Any]
    ) -> Any:
        """The value at `x` in any arithmetic that has the operators and `*`."""
        factors = dict(zip(self.parameter_edges, parameters, strict=True))

        def value(node: Expression, path: Path) -> Any:
            if node.operator == "x":
                result = x
            elif node.operator in CONSTANTS:
                # Its input has no say, so nothing of it is computed, and no gradient flows there.
                result = operators[node.operator](x)
            else:
                inputs = [value(child, (*path, i)) for i, child in enumerate(node.inputs)]
                result = operators[node.operator](*inputs)
            return result * factors[path] if path in factors else result

        return value(self.expression, ())

    def _values(self, parameters: Mapping[str, Any]) -> list[Any]:
        for name in parameters:
            if name not in self.parameters:
                raise UnknownNameError(f"parameter of {self}", name, self.parameters)
        return [parameters.get(name, 1.0) for name in self.parameters]

    @overload
    def __call__(self, x: float, **parameters: float) -> float: ...
    @overload
    def __call__(self, x: Any, **parameters: Any) -> Any: ...
    def __call__(self, x: Any, **parameters: Any) -> Any:
        """The value at a number, array or tensor; parameters not given are 1, as they start."""
        values = self._values(parameters)
        if isinstance(x, int | float):
            return float(self.apply(_VALUE, float(x), values))
        return arrays.apply(self, x, values)

    def slope(self, x: float, **parameters: float) -> float:
        """The derivative by `x` at the number `x`."""
        from pangaea.functions.program import program, value_and_slope

        return value_and_slope(program(self), x, self._values(parameters))[1]


def _short(text: str) -> str:
    return text if len(text) <= 100 else text[:99] + "…"


_VALUE = {name: row.value for name, row in OPERATORS.items()}

"""Spaces: which operators a search may use, and how large its functions may grow (plain data).

The paper's own, and presets beside it. Two earlier searches that the paper compares itself with
compose *core units*, binary(unary(u), unary(v)), where u and v are x or another core unit:
Ramachandran et al. 2018 (the Swish search) and Bingham et al. 2020 (S1 is one unit, S2 a unit of
units).
"""

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from pangaea.errors import PangaeaError, UnknownNameError
from pangaea.functions.expression import PARAMETERS, Expression, Function, X
from pangaea.functions.operators import BINARY, OPERATORS, SMOOTH, SPECIAL, UNARY

# A child may have twice as many nodes as its parent, and one more; the parser reads up to 256.
LARGEST = 60
# Four levels of core units are 45 nodes.
HIGHEST = 4


@dataclass(frozen=True, slots=True)
class Space:
    """What the search may use; operators are kept in the table's order, so equal spaces draw alike.

    An expression with more than `max_nodes` nodes is only ever given a remove mutation, so a child
    may pass it by a few. With `levels`, functions are core units in at most so many levels.
    """

    name: str
    unary: tuple[str, ...] = UNARY
    binary: tuple[str, ...] = BINARY
    max_nodes: int = 7
    parameters: int = len(PARAMETERS)
    levels: int = 0
    description: str = field(default="", compare=False)

    def __post_init__(self) -> None:
        if not isinstance(self.name, str):
            raise PangaeaError(f"a space's name is a text, got {self.name!r}")
        for arity, kind in ((1, "unary"), (2, "binary")):
            object.__setattr__(self, kind, _ordered(getattr(self, kind), arity, kind))
        if not self.unary:
            raise PangaeaError("a space needs at least one unary operator, such as identity")
        _check("max_nodes", self.max_nodes, 3, LARGEST)
        _check("parameters", self.parameters, 0, len(PARAMETERS))
        _check("levels", self.levels, 0, HIGHEST)
        if self.levels and not self.binary:
            raise PangaeaError("core units need at least one binary operator, such as add")

    @property
    def operators(self) -> tuple[str, ...]:
        return (*self.unary, *self.binary)

    def without(self, operators: Iterable[str]) -> "Space":
        """The same space less these operators."""
        less = [name for name in _known(operators) if name in self.operators]
        if not less:
            return self
        return replace(
            self,
            name=f"{self.name} without {', '.join(less)}",
            unary=tuple(name for name in self.unary if name not in less),
            binary=tuple(name for name in self.binary if name not in less),
            description="",
        )

    def only(self, operators: Iterable[str]) -> "Space":
        """These operators, of all that there are, in functions of this space's size and shape."""
        names = _known(operators)
        return replace(
            self,
            name=f"{len(names)} operators in {self.name}",
            unary=tuple(name for name in names if OPERATORS[name].arity == 1),
            binary=tuple(name for name in names if OPERATORS[name].arity == 2),
            description="",
        )

    def holds(self, function: Function) -> bool:
        """Has it these operators, no more parameters, and the shape that is asked for?"""
        expression, operators = function.expression, {*self.operators, "x"}
        if self.levels and not (_is_unit(expression) and height(expression) <= self.levels):
            return False
        known = all(node.operator in operators for _, node in expression.walk())
        return known and len(function.parameters) <= self.parameters

    def as_dict(self) -> dict[str, Any]:
        """Plain data for a file; the description stays with the presets."""
        plain = asdict(self)
        del plain["description"]
        return {**plain, "unary": [*self.unary], "binary": [*self.binary]}

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any]) -> "Space":
        """The space that `as_dict` wrote; every field but the name may be left out."""
        known = ("name", "unary", "binary", "max_nodes", "parameters", "levels")
        if not isinstance(plain, Mapping) or "name" not in plain:
            raise PangaeaError(f"a space is a table with a name, got {str(plain)[:60]!r}")
        for key in plain:
            if key not in known:
                raise UnknownNameError("field of a space", str(key), known)
        return cls(**plain)


def height(unit: Expression) -> int:
    """The levels of core units in an expression made of them."""
    return 0 if unit == X else 1 + max(height(child.inputs[0]) for child in unit.inputs)


def _is_unit(expression: Expression) -> bool:
    return len(expression.inputs) == 2 and all(
        len(child.inputs) == 1 and (child.inputs[0] == X or _is_unit(child.inputs[0]))
        for child in expression.inputs
    )


def _known(names: Iterable[str]) -> tuple[str, ...]:
    """The names in the table's order, each once."""
    if isinstance(names, str) or not isinstance(names, Iterable):
        raise PangaeaError(f"operators are a list of names, got {str(names)[:60]!r}")
    wanted = set()
    for name in names:
        if not isinstance(name, str) or name not in OPERATORS:
            raise UnknownNameError("operator", str(name), OPERATORS)
        wanted.add(name)
    return tuple(name for name in OPERATORS if name in wanted)


def _ordered(names: Iterable[str], arity: int, kind: str) -> tuple[str, ...]:
    operators = _known(names)
    for name in operators:
        if OPERATORS[name].arity != arity:
            raise PangaeaError(f"{name} is not a {kind} operator; list it under the other kind")
    return operators


def _check(field: str, value: object, low: int, high: int) -> None:
    if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
        raise PangaeaError(f"a space's {field} is a whole number in {low}…{high}, got {value!r}")


# What the two earlier searches share and we have. Neither x³, √x, exp(−x²), log|x|, sin, cos, sinc
# nor min(x, 0) is one of our operators; their division adds a small number to the divisor.
_EARLIER = (
    *("identity", "negative", "abs", "square", "exp", "sinh", "cosh", "tanh", "asinh", "atan"),
    *("relu", "sigmoid", "softplus", "erf"),
)
_EARLIER_BINARY = ("add", "sub", "mul", "div", "max", "min")
_MISSING = "no x³, √x, exp(−x²), log|x|, sin, cos, sinc or min(x, 0)"

PAPER = Space(
    "paper", description="the paper's own: the 27 unary and 7 binary operators of its Table 1"
)

PRESETS = {
    preset.name: preset
    for preset in (
        PAPER,
        Space(
            "nonparametric",
            description="the paper's without parameters, for its nonparametric baseline",
            parameters=0,
        ),
        Space(
            "s1",
            description=f"one core unit without parameters, after Bingham et al. 2020; {_MISSING}",
            unary=("zero", "one", *_EARLIER),
            binary=_EARLIER_BINARY,
            max_nodes=3,
            parameters=0,
            levels=1,
        ),
        Space(
            "s2",
            description="up to three core units in two levels, otherwise as s1",
            unary=("zero", "one", *_EARLIER),
            binary=_EARLIER_BINARY,
            max_nodes=9,
            parameters=0,
            levels=2,
        ),
        Space(
            "swish",
            description="up to three core units in two levels, parameters in place of its β, after "
            f"Ramachandran et al. 2018; {_MISSING}, no x + β, no binary operators but arithmetic, "
            "max and min",
            unary=("one", *_EARLIER),  # the constant β is a parameter times one
            binary=_EARLIER_BINARY,
            max_nodes=9,
            levels=2,
        ),
        Space(
            "smooth",
            description="the paper's operators that have derivatives of every order everywhere",
            unary=tuple(name for name in UNARY if name in SMOOTH),
            binary=tuple(name for name in BINARY if name in SMOOTH),
        ),
        Space(
            "cheap",
            description="the paper's operators but the special functions: erf, erfc and Bessel",
            unary=tuple(name for name in UNARY if name not in SPECIAL),
        ),
    )
}


def space(
    which: str | Space,
    operators: str | Iterable[str] | None = None,
    exclude: str | Iterable[str] | None = None,
) -> Space:
    """A space from itself or a preset's name, perhaps of these operators only, or less some.

    Operators are a list of names, or a text with commas between them.
    """
    if isinstance(which, Space):
        result = which
    elif not isinstance(which, str):
        raise PangaeaError(f"a space is a Space or a preset's name, got {type(which).__name__}")
    elif (name := which.strip().lower()) in PRESETS:
        result = PRESETS[name]
    else:
        raise UnknownNameError("space", which, PRESETS)
    if operators is not None:
        result = result.only(_listed(operators))
    return result if exclude is None else result.without(_listed(exclude))


def _listed(names: str | Iterable[str]) -> Iterable[str]:
    if not isinstance(names, str):
        return names
    return [name for part in names.split(",") if (name := part.strip().lower())]

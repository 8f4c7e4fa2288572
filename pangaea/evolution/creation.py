"""New functions: random initial ones, and where their parameters go (paper, section 3.1)."""

from random import Random

from pangaea.functions.expression import Expression, Function, X
from pangaea.functions.space import PAPER, Space


def initial(rng: Random, space: Space = PAPER) -> Expression:
    """unary1(unary2(x)) or binary(unary1(x), unary2(x)), equally likely; or else a core unit."""

    def unary(inner: Expression) -> Expression:
        return Expression(rng.choice(space.unary), (inner,))

    if not space.levels and (not space.binary or rng.random() < 0.5):
        return unary(unary(X))
    return Expression(rng.choice(space.binary), (unary(X), unary(X)))


def parameterized(expression: Expression, rng: Random, space: Space = PAPER) -> Function:
    """k parameters on k different edges, k uniform in 0…3; all of them if there are fewer."""
    edges = [path for path, _ in expression.walk()]
    k = rng.randrange(space.parameters + 1)
    return Function(expression, tuple(rng.sample(edges, min(k, len(edges)))))

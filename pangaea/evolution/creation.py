"""New functions: random initial ones, and where their parameters go (paper, section 3.1)."""

from random import Random

from pangaea.functions.expression import PARAMETERS, Expression, Function, X
from pangaea.functions.operators import BINARY, UNARY


def initial(rng: Random) -> Expression:
    """unary1(unary2(x)) or binary(unary1(x), unary2(x)), equally likely."""

    def unary(inner: Expression) -> Expression:
        return Expression(rng.choice(UNARY), (inner,))

    if rng.random() < 0.5:
        return unary(unary(X))
    return Expression(rng.choice(BINARY), (unary(X), unary(X)))


def parameterized(expression: Expression, rng: Random) -> Function:
    """k parameters on k different edges, k uniform in 0…3; all of them if there are fewer."""
    edges = [path for path, _ in expression.walk()]
    k = rng.randrange(len(PARAMETERS) + 1)
    return Function(expression, tuple(rng.sample(edges, min(k, len(edges)))))

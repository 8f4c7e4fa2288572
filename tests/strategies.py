"""Random expressions and functions for property tests."""

import random

from hypothesis import strategies as st

from pangaea.functions.expression import Expression, Function, X
from pangaea.functions.operators import BINARY, OPERATORS, UNARY

OUTSIDE = tuple(name for name in OPERATORS if name not in (*UNARY, *BINARY))


def _grow(inner: st.SearchStrategy[Expression]) -> st.SearchStrategy[Expression]:
    one = st.builds(lambda op, a: Expression(op, (a,)), st.sampled_from((*UNARY, *OUTSIDE)), inner)
    two = st.builds(lambda op, a, b: Expression(op, (a, b)), st.sampled_from(BINARY), inner, inner)
    return one | two


expressions = st.recursive(st.just(X), _grow, max_leaves=6)


@st.composite
def functions(draw: st.DrawFn) -> Function:
    expression = draw(expressions)
    edges = [path for path, _ in expression.walk()]
    chosen = draw(st.lists(st.sampled_from(edges), unique=True, max_size=min(3, len(edges))))
    return Function(expression, tuple(chosen))


def random_expression(rng: random.Random, nodes: int) -> Expression:
    """A random expression of the search space with exactly so many nodes."""
    if nodes == 0:
        return X
    if nodes == 1 or rng.random() < 0.5:
        return Expression(rng.choice(UNARY), (random_expression(rng, nodes - 1),))
    left = rng.randrange(nodes)
    inputs = (random_expression(rng, left), random_expression(rng, nodes - 1 - left))
    return Expression(rng.choice(BINARY), inputs)


def random_function(rng: random.Random, nodes: int) -> Function:
    expression = random_expression(rng, nodes)
    edges = [path for path, _ in expression.walk()]
    return Function(expression, tuple(rng.sample(edges, min(rng.randrange(4), len(edges)))))

"""The four mutations of an expression (paper, section 3.1): `(expression, rng) -> expression`."""

from random import Random

from pangaea.functions.expression import Expression, Path, X
from pangaea.functions.operators import BINARY, OPERATORS, UNARY

# An expression with more nodes is only ever given a remove mutation.
MAX_NODES = 7


def insert(parent: Expression, rng: Random) -> Expression:
    """A random operator on a random edge; a binary one leaves the function as it was."""
    name = rng.choice((*UNARY, *BINARY))
    path, below = rng.choice(list(parent.walk()))
    partner = OPERATORS[name].partner
    if partner is None:
        inputs: tuple[Expression, ...] = (below,)
    elif partner == "copy":
        inputs = (below, below)
    else:
        inputs = (below, Expression(partner, (X,)))
    return parent.replaced(path, Expression(name, inputs))


def remove(parent: Expression, rng: Random) -> Expression:
    """A random node taken out; of a binary one's inputs a random one stays."""
    path, node = rng.choice(_nodes(parent))
    return parent.replaced(path, rng.choice(node.inputs))


def change(parent: Expression, rng: Random) -> Expression:
    """A random node's operator replaced with a different one of the same arity."""
    path, node = rng.choice(_nodes(parent))
    return parent.replaced(path, Expression(_another(node.operator, rng), node.inputs))


def regenerate(parent: Expression, rng: Random) -> Expression:
    """Every node's operator replaced with a different one of the same arity."""
    if parent == X:
        return X
    inputs = tuple(regenerate(child, rng) for child in parent.inputs)
    return Expression(_another(parent.operator, rng), inputs)


MUTATIONS = {m.__name__: m for m in (insert, remove, change, regenerate)}


def mutate(parent: Expression, rng: Random) -> tuple[str, Expression]:
    """A child, and the name of the mutation that made it."""
    name = rng.choice(list(MUTATIONS))
    if parent.nodes > MAX_NODES:
        name = "remove"
    elif name == "remove" and parent.nodes == 1:
        name = "change"
    child = MUTATIONS[name](parent, rng)
    if child == X:  # of x + 0 the x alone was kept: as little a function as a removed last node
        name, child = "change", change(parent, rng)
    return name, child


def _nodes(expression: Expression) -> list[tuple[Path, Expression]]:
    return [(path, node) for path, node in expression.walk() if node.inputs]


def _another(operator: str, rng: Random) -> str:
    names = UNARY if OPERATORS[operator].arity == 1 else BINARY
    return rng.choice([name for name in names if name != operator])

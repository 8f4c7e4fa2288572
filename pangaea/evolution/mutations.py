"""The four mutations of an expression (paper, section 3.1): `(expression, rng, space)` → another.

Whatever a space allows, a child of one of its expressions is one too.
"""

from random import Random

from pangaea.evolution import core_units
from pangaea.functions.expression import Expression, Path, X
from pangaea.functions.operators import OPERATORS
from pangaea.functions.space import PAPER, Space


def insert(parent: Expression, rng: Random, space: Space = PAPER) -> Expression:
    """A random operator on a random edge; a binary one leaves the function as it was.

    So a binary operator is inserted only where the space has the partner that it needs for that.
    """
    if space.levels:
        return core_units.insert(parent, rng, space)
    partners = (None, "copy", *space.unary)
    name = rng.choice([name for name in space.operators if OPERATORS[name].partner in partners])
    path, below = rng.choice(list(parent.walk()))
    partner = OPERATORS[name].partner
    if partner is None:
        inputs: tuple[Expression, ...] = (below,)
    elif partner == "copy":
        inputs = (below, below)
    else:
        inputs = (below, Expression(partner, (X,)))
    return parent.replaced(path, Expression(name, inputs))


def remove(parent: Expression, rng: Random, space: Space = PAPER) -> Expression:
    """A random node taken out; of a binary one's inputs a random one stays."""
    if space.levels:
        return core_units.remove(parent, rng)
    path, node = rng.choice(_nodes(parent))
    return parent.replaced(path, rng.choice(node.inputs))


def change(parent: Expression, rng: Random, space: Space = PAPER) -> Expression:
    """A random node's operator replaced with a different one of the same arity, if there is one."""
    others = [(path, node, _others(node, space)) for path, node in _nodes(parent)]
    if not (changeable := [place for place in others if place[2]]):
        return parent
    path, node, names = rng.choice(changeable)
    return parent.replaced(path, Expression(rng.choice(names), node.inputs))


def regenerate(parent: Expression, rng: Random, space: Space = PAPER) -> Expression:
    """Every node's operator replaced with a different one of the same arity, if there is one."""
    if parent == X:
        return X
    inputs = tuple(regenerate(child, rng, space) for child in parent.inputs)
    return Expression(rng.choice(_others(parent, space) or [parent.operator]), inputs)


MUTATIONS = {m.__name__: m for m in (insert, remove, change, regenerate)}


def mutate(parent: Expression, rng: Random, space: Space = PAPER) -> tuple[str, Expression]:
    """A child, and the name of the mutation that made it."""
    name = rng.choice(list(MUTATIONS))
    if parent.nodes > space.max_nodes:
        name = "remove"
    elif name == "remove" and parent.nodes == 1:
        name = "change"
    child = MUTATIONS[name](parent, rng, space)
    # Of x + 0 the x alone was kept, as little a function as a removed last node; or no core unit
    # could be inserted or removed.
    if child in (X, parent):
        name, child = "change", change(parent, rng, space)
    return name, child


def _nodes(expression: Expression) -> list[tuple[Path, Expression]]:
    return [(path, node) for path, node in expression.walk() if node.inputs]


def _others(node: Expression, space: Space) -> list[str]:
    names = space.unary if len(node.inputs) == 1 else space.binary
    return [name for name in names if name != node.operator]

"""Insertion and removal where functions are made of core units: whole units come and go.

Neither of the earlier searches had them; they follow the paper's mutations as far as the shape
allows. A unit is binary(unary(u), unary(v)), where u and v are x or another unit.
"""

from random import Random

from pangaea.functions.expression import Expression, X
from pangaea.functions.operators import OPERATORS
from pangaea.functions.space import Space, height


def insert(parent: Expression, rng: Random, space: Space) -> Expression:
    """A unit that leaves the function as it was, on a random edge of x or of a unit.

    Where there is no room for one, the parent.
    """
    partners = ("copy", *space.unary)
    names = [name for name in space.binary if OPERATORS[name].partner in partners]
    places = [
        (path, below)
        for path, below in parent.walk()
        # A path goes through two nodes for each unit above.
        if len(below.inputs) != 1 and len(path) // 2 + 1 + height(below) <= space.levels
    ]
    if not names or not places or "identity" not in space.unary:
        return parent
    name = rng.choice(names)
    path, below = rng.choice(places)
    kept, partner = Expression("identity", (below,)), OPERATORS[name].partner
    other = kept if partner is None or partner == "copy" else Expression(partner, (X,))
    return parent.replaced(path, Expression(name, (kept, other)))


def remove(parent: Expression, rng: Random) -> Expression:
    """A random unit taken out; what goes into one of its two unary operators stays.

    Where it is the only one, the parent.
    """
    choices = [
        (path, child.inputs[0])
        for path, node in parent.walk()
        if len(node.inputs) == 2
        for child in node.inputs
        if path or child.inputs[0] != X
    ]
    if not choices:
        return parent
    path, kept = rng.choice(choices)
    return parent.replaced(path, kept)

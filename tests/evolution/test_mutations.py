"""Mutations: the paper's distributions, special cases and worked example."""

from collections import Counter
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chisquare

from pangaea.evolution.creation import initial, parameterized
from pangaea.evolution.mutations import change, insert, mutate, regenerate, remove
from pangaea.functions.catalog import catalog, parse
from pangaea.functions.equivalence import equivalent
from pangaea.functions.expression import Expression, Function, X
from pangaea.functions.operators import BINARY, OPERATORS, UNARY
from pangaea.functions.space import PAPER, PRESETS, Space
from tests.strategies import random_expression

PARENT = catalog()["mutation-parent"].expression
seeds = st.integers(0, 2**32)


def uniform(counts: Counter[str], names: tuple[str, ...]) -> bool:
    assert set(counts) <= set(names)
    p = chisquare([counts[name] for name in names]).pvalue
    return bool(p > 1e-4)


def grown(seed: int) -> Expression:
    rng = Random(seed)
    return random_expression(rng, rng.randrange(1, PAPER.max_nodes + 1))


def test_initial_functions_have_two_forms_equally_often_and_uniform_operators() -> None:
    rng = Random(0)
    drawn = [initial(rng) for _ in range(20_000)]
    binary = [e for e in drawn if len(e.inputs) == 2]
    assert len(binary) == pytest.approx(10_000, abs=300)
    assert uniform(Counter(e.operator for e in binary), BINARY)
    assert uniform(Counter(e.inputs[0].operator for e in drawn), UNARY)
    assert {e.nodes for e in drawn} == {2, 3}


def test_parameters_are_zero_to_three_on_distinct_uniform_edges() -> None:
    rng = Random(0)
    expression = parse("relu(x) + tanh(x)").expression
    drawn = [parameterized(expression, rng) for _ in range(20_000)]
    counts = Counter(str(len(f.parameters)) for f in drawn)
    assert uniform(counts, ("0", "1", "2", "3"))
    edges = Counter(str(path) for f in drawn for path in f.parameter_edges)
    assert uniform(edges, tuple(str(path) for path, _ in expression.walk()))


def test_fewer_edges_than_parameters_all_get_one() -> None:
    rng = Random(0)
    counts = Counter(
        len(parameterized(parse("relu(x)").expression, rng).parameters) for _ in range(4000)
    )
    assert set(counts) == {0, 1, 2}
    assert counts[2] == pytest.approx(2000, abs=150)


def test_mutations_are_equally_likely() -> None:
    rng = Random(0)
    counts = Counter(mutate(PARENT, rng)[0] for _ in range(20_000))
    assert uniform(counts, ("insert", "remove", "change", "regenerate"))


def test_an_inserted_operator_is_drawn_from_all_34() -> None:
    rng = Random(0)
    counts = Counter(insert(X, rng).operator for _ in range(34_000))
    assert uniform(counts, (*UNARY, *BINARY))


def test_an_inserted_operator_lands_on_every_edge_alike() -> None:
    rng, parent = Random(0), parse("relu(x) + tanh(x)").expression
    edges: Counter[str] = Counter()
    for _ in range(20_000):
        child = insert(parent, rng)
        edges.update(str(path) for path, node in child.walk() if node.operator == "square")
    assert uniform(edges, tuple(str(path) for path, _ in parent.walk()))


@given(seeds)
def test_inserting_a_binary_operator_never_changes_the_function(seed: int) -> None:
    parent, rng = grown(seed), Random(seed + 1)
    child = insert(parent, rng)
    before = Counter(n.operator for _, n in parent.walk())
    added = Counter(n.operator for _, n in child.walk()) - before
    if any(name in BINARY for name in added) and child.nodes > parent.nodes + 1:
        assert equivalent(Function(child), Function(parent))


@given(seeds)
def test_removing_takes_a_node_and_perhaps_one_input_with_it(seed: int) -> None:
    parent = grown(seed)
    child = remove(parent, Random(seed))
    assert child.nodes < parent.nodes


@given(seeds)
def test_change_alters_exactly_one_operator_and_keeps_the_shape(seed: int) -> None:
    parent = grown(seed)
    child = change(parent, Random(seed))
    pairs = [(n.operator, child.at(path).operator) for path, n in parent.walk()]
    assert sum(a != b for a, b in pairs) == 1
    assert all(a == b or OPERATORS[a].arity == OPERATORS[b].arity for a, b in pairs)


@given(seeds)
def test_regenerate_alters_every_operator_and_keeps_the_shape(seed: int) -> None:
    parent = grown(seed)
    child = regenerate(parent, Random(seed))
    for path, node in parent.walk():
        other = child.at(path)
        assert len(other.inputs) == len(node.inputs)
        assert (other.operator == node.operator) == (node.operator == "x")


def test_a_single_node_is_changed_where_it_would_be_removed() -> None:
    rng = Random(0)
    counts = Counter(mutate(parse("relu(x)").expression, rng)[0] for _ in range(8000))
    assert set(counts) == {"insert", "change", "regenerate"}
    assert counts["change"] == pytest.approx(4000, abs=200)


def test_more_than_seven_nodes_are_only_ever_removed_from() -> None:
    rng = Random(0)
    big = random_expression(rng, 8)
    assert {mutate(big, rng)[0] for _ in range(200)} == {"remove"}
    assert {mutate(random_expression(rng, 7), rng)[0] for _ in range(200)} > {"remove"}


def test_the_papers_children_can_all_be_reached() -> None:
    wanted = {
        f"mutation-{name}": str(catalog()[f"mutation-{name}"].expression)
        for name in ("insert", "remove", "change")
    }
    rng, found = Random(0), set()
    for _ in range(60_000):
        found.add(str(mutate(PARENT, rng)[1]))
    assert set(wanted.values()) <= found


def test_no_mutation_leaves_nothing() -> None:
    """Of x + 0, a removal could keep x alone: a function without a node has nothing to mutate."""
    parent = Expression("add", (X, Expression("zero", (X,))))
    children = [mutate(parent, Random(seed)) for seed in range(2000)]
    assert all(child.nodes >= 1 for _, child in children)
    kinds = Counter(name for name, _ in children)
    assert kinds["remove"] == pytest.approx(2000 * 1 / 4 * 3 / 4, abs=80)
    assert kinds["change"] == pytest.approx(2000 * (1 / 4 + 1 / 4 * 1 / 4), abs=80)


def descendant(space: Space, seed: int) -> Expression:
    """What some mutations make of a random initial function."""
    rng = Random(seed)
    expression = initial(rng, space)
    for _ in range(rng.randrange(12)):
        expression = mutate(expression, rng, space)[1]
    return expression


SPACES = {
    **PRESETS,
    "narrow": Space("narrow", unary=("relu", "tanh"), binary=("add", "max"), max_nodes=4),
    "unary": Space("unary", unary=("relu", "tanh"), binary=()),
    "tall": Space("tall", unary=("identity", "zero", "tanh"), binary=("sub", "min"), levels=3),
    "rigid": Space("rigid", unary=("tanh", "relu"), binary=("mul",), levels=2),
}


@pytest.mark.parametrize("name", SPACES)
@given(seeds)
def test_children_stay_within_their_space(name: str, seed: int) -> None:
    space, rng = SPACES[name], Random(seed + 1)
    parent = descendant(space, seed)
    assert space.holds(parameterized(parent, rng, space))
    for mutation in (insert, remove, change, regenerate):
        child = mutation(parent, rng, space)
        assert child == X or space.holds(Function(child))
    child = mutate(parent, rng, space)[1]
    assert child.nodes >= 1
    assert space.holds(Function(child))
    assert child.nodes < parent.nodes or parent.nodes <= space.max_nodes


@pytest.mark.parametrize("name", SPACES)
@given(seeds)
def test_inserting_a_binary_operator_keeps_the_function_in_every_space(
    name: str, seed: int
) -> None:
    space = SPACES[name]
    parent = descendant(space, seed)
    child = insert(parent, Random(seed + 1), space)
    binary = [sum(len(n.inputs) == 2 for _, n in e.walk()) for e in (parent, child)]
    if binary[1] > binary[0]:
        assert equivalent(Function(child), Function(parent))


def test_an_operator_without_its_partner_in_the_space_is_not_inserted() -> None:
    rng = Random(0)
    inserted = {insert(X, rng, SPACES["narrow"]).operator for _ in range(300)}
    assert inserted == {"relu", "tanh", "max"}


def test_core_units_are_inserted_and_removed_whole() -> None:
    rng, s2 = Random(0), PRESETS["s2"]
    one = parse("sigmoid(x)*erf(x)").expression
    assert {insert(one, rng, s2).nodes for _ in range(50)} == {6, 9}  # min and max copy the unit
    assert remove(one, rng, s2) == one
    three = parse("abs(min(one(x), cosh(x)))*sigmoid(exp(x) + atan(x))").expression
    assert insert(three, rng, s2) == three
    assert {remove(three, rng, s2).nodes for _ in range(50)} == {3, 6}


def test_where_units_neither_come_nor_go_an_operator_is_changed() -> None:
    rng = Random(0)
    one = parse("sigmoid(x)*erf(x)").expression
    children = [mutate(one, rng, PRESETS["s1"]) for _ in range(4000)]
    counts = Counter(name for name, _ in children)
    assert set(counts) == {"change", "regenerate"}
    assert counts["change"] == pytest.approx(3000, abs=150)
    assert all(child.nodes == 3 for _, child in children)


def test_every_core_unit_is_reached() -> None:
    space = PRESETS["s2"].only(["identity", "zero", "tanh", "add"])
    rng, reached = Random(0), set()
    expression = initial(rng, space)
    for _ in range(60_000):
        expression = mutate(expression, rng, space)[1]
        reached.add(str(expression))
    assert len(reached) == 3**2 + 2 * 3**4 + 3**6


def test_a_single_operator_of_an_arity_is_left_as_it_is() -> None:
    rng = Random(0)
    only = PAPER.only(["relu", "add"])
    parent = parse("relu(x) + relu(x)").expression
    assert change(parent, rng, only) == regenerate(parent, rng, only) == parent
    two = PAPER.only(["relu", "tanh", "add"])
    assert str(regenerate(parent, rng, two)) == "add(tanh(x), tanh(x))"
    changed = {str(change(parent, rng, two)) for _ in range(50)}
    assert changed == {"add(tanh(x), relu(x))", "add(relu(x), tanh(x))"}


def test_a_space_without_binary_operators_begins_with_two_unary_ones() -> None:
    rng = Random(0)
    assert {initial(rng, SPACES["unary"]).nodes for _ in range(50)} == {2}


def test_a_space_has_as_many_parameters_as_it_says() -> None:
    rng = Random(0)
    expression = parse("relu(x) + tanh(x)").expression
    for parameters in range(4):
        space = Space("few", parameters=parameters)
        drawn = {len(parameterized(expression, rng, space).parameters) for _ in range(200)}
        assert drawn == set(range(parameters + 1))


def test_a_larger_space_grows_larger_functions() -> None:
    rng, space = Random(0), Space("large", max_nodes=20)
    expression, largest = initial(rng, space), 0
    for _ in range(3000):
        expression = mutate(expression, rng, space)[1]
        largest = max(largest, expression.nodes)
    assert 12 < largest <= 2 * space.max_nodes + 1


def test_golden_children() -> None:
    """If these change, studies recorded before no longer replay: say so in the changelog."""
    children = []
    for seed in range(8):
        rng = Random(seed)
        name, child = mutate(mutate(initial(rng), rng)[1], rng)
        children.append(f"{name}: {parameterized(child, rng)}")
    assert children == GOLDEN


GOLDEN = [
    "regenerate: div(alpha*hard_sigmoid(x), erfc(beta*x))",
    "regenerate: alpha*logsigmoid(beta*sigmoid(softplus(gamma*x)))",
    "change: min(swish(relu(x)), alpha*identity(x))",
    "insert: alpha*abs(beta*zero(elu(x)))",
    "insert: alpha*abs(abs(beta*asinh(gamma*x)))",
    "insert: max(sinh(mul(alpha*cosh(x), one(x))), beta*softsign(x))",
    "remove: alpha*add(identity(beta*x), x)",
    "insert: alpha*swish(tanh(abs(abs(x))))",
]

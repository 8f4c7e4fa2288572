"""Mutations: the paper's distributions, special cases and worked example."""

from collections import Counter
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chisquare

from pangaea.evolution.creation import initial, parameterized
from pangaea.evolution.mutations import MAX_NODES, change, insert, mutate, regenerate, remove
from pangaea.functions.catalog import catalog, parse
from pangaea.functions.equivalence import equivalent
from pangaea.functions.expression import Expression, Function, X
from pangaea.functions.operators import BINARY, OPERATORS, UNARY
from tests.strategies import random_expression

PARENT = catalog()["mutation-parent"].expression
seeds = st.integers(0, 2**32)


def uniform(counts: Counter[str], names: tuple[str, ...]) -> bool:
    assert set(counts) <= set(names)
    p = chisquare([counts[name] for name in names]).pvalue
    return bool(p > 1e-4)


def grown(seed: int) -> Expression:
    rng = Random(seed)
    return random_expression(rng, rng.randrange(1, MAX_NODES + 1))


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

"""The best of a history, and the functions that none dominates."""

from hypothesis import given
from hypothesis import strategies as st

from pangaea.evolution.ranking import pareto, top
from pangaea.evolution.strategies import Evaluated

scores = st.dictionaries(
    st.text("abcdef", min_size=1, max_size=3),
    st.tuples(*(st.integers(0, 4) for _ in range(3))),
    max_size=12,
)


def test_the_fittest_come_first_and_no_two_are_equivalent() -> None:
    history = [
        Evaluated(1, "tanh(x)", 50.0),
        Evaluated(2, "identity(tanh(x))", 60.0),
        Evaluated(3, "relu(x)", 55.0),
        Evaluated(4, "max(x, zero(x))", 54.0),
        Evaluated(5, "alpha*relu(x)", 20.0),
    ]
    assert [e.number for e in top(history, 10)] == [2, 3, 5]
    assert [e.number for e in top(history, 1)] == [2]


def test_failures_are_never_among_the_best() -> None:
    assert top([Evaluated(1, "exp(exp(x))", 0.0)], 10) == []


def test_the_earlier_of_two_equals_comes_first() -> None:
    history = [Evaluated(2, "tanh(x)", 50.0), Evaluated(1, "relu(x)", 50.0)]
    assert [e.number for e in top(history, 2)] == [1, 2]


def test_dominated_functions_are_left_out() -> None:
    assert pareto({"a": (1, 5), "b": (2, 4), "c": (1, 4), "d": (2, 4)}) == ["a", "b", "d"]


@given(scores)
def test_the_front_dominates_all_others_and_none_of_its_own(
    found: dict[str, tuple[int, ...]],
) -> None:
    front = pareto(found)

    def beats(a: str, b: str) -> bool:
        pairs = list(zip(found[a], found[b], strict=True))
        return all(p >= q for p, q in pairs) and any(p > q for p, q in pairs)

    assert not any(beats(a, b) for a in front for b in front)
    assert all(any(beats(a, b) for a in front) for b in found if b not in front)

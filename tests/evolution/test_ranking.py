"""The best of the trials, and the functions that none dominates."""

import random
from collections.abc import Mapping, Sequence
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from pangaea.evolution.ranking import Round, distinct, pareto, played, ranked, top
from pangaea.evolution.trials import Measured, Trial

scores = st.dictionaries(
    st.text("abcdef", min_size=1, max_size=3),
    st.tuples(*(st.integers(0, 4) for _ in range(3))),
    max_size=12,
)


def trial(number: int, text: str, score: float | None) -> Trial:
    return Trial(number, text, None, (Measured(1, score),), score)


def test_the_best_come_first_and_no_two_are_equivalent() -> None:
    trials = [
        trial(1, "tanh(x)", 50.0),
        trial(2, "identity(tanh(x))", 60.0),
        trial(3, "relu(x)", 55.0),
        trial(4, "max(x, zero(x))", 54.0),
        trial(5, "alpha*relu(x)", 20.0),
    ]
    assert [t.number for t in top(trials, 10)] == [2, 3, 5]
    assert [t.number for t in top(trials, 1)] == [2]


def test_the_best_are_the_same_whether_few_are_equivalent_or_most() -> None:
    """A few of the best are looked at first, and all if that does not do."""
    rng = random.Random(0)
    texts = ["relu(x)", "max(x, zero(x))", "tanh(x)", "swish(x)", "elu(x)", "erf(x)"]
    for most in (1, 2, 6):
        for scores in ((1.0,), (1.0, 2.0), tuple(range(40))):
            trials = [
                trial(n, rng.choice(texts[:most]), rng.choice([None, *scores])) for n in range(60)
            ]
            rng.shuffle(trials)
            for count in (1, 2, 3, 5):
                assert top(trials, count) == distinct(ranked(trials), count)


def test_failures_are_never_among_the_best_and_bad_scores_are() -> None:
    trials = [trial(1, "exp(exp(x))", None), trial(2, "exp(x)", -1e9), trial(3, "tanh(x)", 0.0)]
    assert [t.number for t in top(trials, 10)] == [3, 2]


def test_the_earlier_of_two_equals_comes_first() -> None:
    trials = [trial(2, "tanh(x)", 50.0), trial(1, "relu(x)", 50.0)]
    assert [t.number for t in top(trials, 2)] == [1, 2]


def order(functions: str, rounds: Sequence[int], scores: Mapping[str, list[float]]) -> Any:
    """After rounds with one budget."""
    by_budget = {(function, 7): each for function, each in scores.items()}
    return played(functions, [Round(count, 7) for count in rounds], by_budget)


def test_in_each_round_fewer_functions_are_run_again_and_stand_by_their_mean() -> None:
    scores = {"a": [1.0, 9.0], "b": [3.0, 1.0, 2.0], "c": [2.0, 4.0, 6.0], "d": [0.0]}
    assert order("abcde", (), scores) == ([*"abcde"], 0)
    assert order("abcde", (4,), scores) == ([*"bcade"], 1)
    assert order("abcde", (4, 3), scores) == ([*"acbde"], 2)  # 5, 3 and 2
    assert order("abcde", (4, 2, 2), scores) == ([*"cbade"], 3)  # what a had later came too late


def test_in_a_round_that_is_not_complete_only_those_with_all_their_runs_change_places() -> None:
    scores = {"a": [1.0], "b": [2.0, -1.0], "c": [3.0, 5.0]}
    assert order("abc", (3, 2, 1), scores) == ([*"cba"], 2)
    assert order("abcd", (4, 2), scores) == ([*"cbad"], 0)  # d had no run yet
    assert order("abc", (3, 3), scores) == ([*"cba"], 1)  # a had one run of two
    assert order("abcd", (4, 4), {"d": [-9.0]}) == ([*"abcd"], 0)  # nobody to change with
    assert order("abcd", (4, 4), {"b": [1.0], "d": [2.0]}) == ([*"adcb"], 0)
    assert order("", (3, 3), scores) == ([], 2)


def test_a_worst_possible_run_never_wins_a_round() -> None:
    scores = {"a": [float("-inf"), 5.0], "b": [-1.0, -1.0]}
    assert order("ab", (2, 2), scores) == (["b", "a"], 2)


def test_after_a_round_only_runs_with_its_budget_count() -> None:
    scores = {
        ("a", 5): [9.0],
        ("b", 5): [8.0],
        ("c", 5): [7.0],
        ("d", 5): [6.0],
        ("a", 10): [1.0],
        ("b", 10): [2.0, 9.0],
        ("c", 10): [3.0, 4.0],
        ("d", 10): [99.0],  # it had left
    }
    rounds = [Round(4, 5), Round(3, 10), Round(2, 10)]
    assert played("dcba", rounds[:1], scores) == ([*"abcd"], 1)
    assert played("dcba", rounds[:2], scores) == ([*"cbad"], 2)
    assert played("dcba", rounds, scores) == ([*"bcad"], 3)  # 5.5 and 3.5
    del scores["a", 10]
    assert played("dcba", rounds, scores) == ([*"acbd"], 1)


def test_dominated_functions_are_left_out() -> None:
    assert pareto({"a": (1, 5), "b": (2, 4), "c": (1, 4), "d": (2, 4)}) == ["a", "b", "d"]


@given(scores)
def test_the_front_dominates_all_others_and_none_of_its_own(
    by_name: dict[str, tuple[int, ...]],
) -> None:
    front = pareto(by_name)

    def beats(a: str, b: str) -> bool:
        pairs = list(zip(by_name[a], by_name[b], strict=True))
        return all(p >= q for p, q in pairs) and any(p > q for p, q in pairs)

    assert not any(beats(a, b) for a in front for b in front)
    assert all(any(beats(a, b) for a in front) for b in by_name if b not in front)

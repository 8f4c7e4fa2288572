"""Strategies: who breeds, who enters the population, and a golden seeded run."""

from random import Random

import pytest

from pangaea import catalog
from pangaea.errors import PangaeaError
from pangaea.evolution.strategies import (
    STRATEGIES,
    Evaluated,
    Settings,
    Strategy,
    generator,
)
from pangaea.evolution.strategies.thrifty import may_learn
from pangaea.functions.equivalence import fingerprint
from pangaea.functions.expression import Function
from pangaea.functions.parser import parse

evolution = STRATEGIES["evolution"]
nonparametric = STRATEGIES["nonparametric"]
random_sampling = STRATEGIES["random-sampling"]
random_search = STRATEGIES["random-search"]
thrifty = STRATEGIES["thrifty"]


def history(*fitness: float) -> list[Evaluated]:
    return [Evaluated(number, "relu(x)", value) for number, value in enumerate(fitness)]


def test_initial_functions_are_drawn_until_p_have_passed() -> None:
    settings = Settings(population=3, sample=2, threshold=20)
    for past in ([], history(50, 10, 0, 60), history(19.9, 19.9, 19.9, 70, 80)):
        assert evolution(past, Random(0), settings).mutation == "initial"
    assert evolution(history(50, 0, 20, 60), Random(0), settings).mutation != "initial"


def test_parents_are_among_the_p_most_recent_that_passed() -> None:
    settings = Settings(population=3, sample=1, threshold=20)
    past = history(90, 30, 10, 40, 50, 0)
    parents = {evolution(past, Random(seed), settings).parent for seed in range(300)}
    assert parents == {1, 3, 4}


def test_the_fittest_of_the_sample_breeds() -> None:
    settings = Settings(population=4, sample=200, threshold=20)
    past = history(30, 80, 50, 40)
    assert {evolution(past, Random(seed), settings).parent for seed in range(50)} == {1}


def test_sampling_is_with_replacement() -> None:
    settings = Settings(population=4, sample=4, threshold=20)
    past = history(30, 80, 50, 40)
    missed = sum(evolution(past, Random(s), settings).parent != 1 for s in range(4000)) / 4000
    assert missed == pytest.approx((3 / 4) ** 4, abs=0.03)


def test_random_search_breeds_from_the_last_whatever_its_fitness() -> None:
    for seed in range(50):
        assert random_search(history(90, 50, 0), Random(seed), Settings()).parent == 2


def test_nonparametric_evolution_has_no_parameters() -> None:
    for seed in range(50):
        proposal = nonparametric(history(*[50] * 64), Random(seed), Settings())
        assert proposal.function.parameters == ()


def test_random_sampling_mutates_three_times_and_forgets_the_past() -> None:
    proposal = random_sampling([], Random(7), Settings())
    assert proposal.mutation.count("+") == 3
    assert proposal == random_sampling(history(90, 90), Random(7), Settings())


def test_thrifty_evolution_tries_nothing_twice_and_nothing_hopeless() -> None:
    """Of the same length, the paper's evolution repeats itself and tries constants."""
    tried = {name: evolved(STRATEGIES[name], 150) for name in ("evolution", "thrifty")}
    different = {name: {fingerprint(f) for f in tried[name]} for name in tried}
    hopeless = {name: sum(not may_learn(f) for f in tried[name]) for name in tried}
    assert len(different["thrifty"]) == 150 > len(different["evolution"])
    assert hopeless["thrifty"] == 0 < hopeless["evolution"]


def evolved(propose: Strategy, count: int) -> list[Function]:
    past: list[Evaluated] = []
    functions = []
    for number in range(count):
        functions.append(propose(past, generator(0, number), Settings(population=8)).function)
        past.append(Evaluated(number, str(functions[-1]), 30.0 + number % 7))
    return functions


def test_thrifty_evolution_takes_what_evolution_proposes_if_it_is_new() -> None:
    new = 0
    for number in range(40):
        first = evolution([], generator(0, number), Settings())
        if may_learn(first.function):
            new += 1
            assert thrifty([], generator(0, number), Settings()) == first
    assert new > 20


def test_thrifty_evolution_ends_where_everything_was_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    for told in ("_form", "_whole"):
        monkeypatch.setattr(f"pangaea.evolution.strategies.thrifty.{told}", lambda text: "")
    assert thrifty(history(50), Random(0), Settings()).mutation == "initial"


@pytest.mark.parametrize(
    ("text", "may"),
    [
        ("relu(x)", True),
        ("square(x)", True),
        ("alpha*x - beta*log(sigmoid(gamma*x))", True),
        ("one(x)", False),
        ("sub(x, x)", False),
        ("cosh(x)", False),
        ("exp(square(x))", False),
        ("pow(x, tanh(x))", False),
    ],
)
def test_what_may_learn(text: str, may: bool) -> None:
    assert may_learn(parse(text)) == may


def test_everything_in_the_catalog_may_learn() -> None:
    assert [name for name, function in catalog().items() if not may_learn(function)] == []


def test_a_child_forgets_its_parents_parameters() -> None:
    past = [Evaluated(0, "alpha*relu(beta*x)", 50.0)]
    settings = Settings(population=1, sample=1, threshold=0)
    counts = {len(evolution(past, Random(s), settings).function.parameters) for s in range(200)}
    assert counts == {0, 1, 2, 3}


def test_every_candidate_has_its_own_generator() -> None:
    draws = {generator(seed, number).random() for seed in range(20) for number in range(20)}
    assert len(draws) == 400
    assert generator(3, 5).random() == generator(3, 5).random()


@pytest.mark.parametrize("name", STRATEGIES)
def test_strategies_propose_the_same_from_the_same_past(name: str) -> None:
    past, propose = history(*[40, 50] * 40), STRATEGIES[name]
    assert propose(past, generator(0, 80), Settings()) == propose(
        past, generator(0, 80), Settings()
    )


def test_a_golden_run() -> None:
    """If this changes, studies recorded before no longer replay: say so in the changelog."""
    past: list[Evaluated] = []
    settings = Settings(population=4, sample=2, threshold=20)
    for number in range(8):
        proposal = evolution(past, generator(0, number), settings)
        fitness = 10.0 + 7 * (sum(map(ord, str(proposal.function))) % 11)
        past.append(Evaluated(number, str(proposal.function), fitness))
    assert [e.text for e in past] == GOLDEN


GOLDEN = [
    "alpha*tanh(beta*selu(gamma*x))",
    "alpha*div(beta*swish(gamma*x), bessel_i1e(x))",
    "alpha*mul(beta*asinh(x), gamma*one(x))",
    "sub(zero(alpha*x), beta*square(gamma*x))",
    "pow(logsigmoid(x), asinh(x))",
    "alpha*div(sinh(swish(x)), bessel_i1e(x))",
    "sub(swish(x), alpha*identity(beta*x))",
    "alpha*mul(beta*asinh(x), elu(gamma*x))",
]


@pytest.mark.parametrize(
    "wrong", [{"population": 0}, {"sample": 0}, {"threshold": -1}, {"threshold": 101}]
)
def test_impossible_settings_are_refused(wrong: dict[str, int]) -> None:
    with pytest.raises(PangaeaError, match="at least 1"):
        Settings(**wrong)

"""Strategies: who breeds, who enters the population, and a golden seeded run."""

from random import Random
from statistics import fmean

import pytest

from pangaea import catalog
from pangaea.errors import PangaeaError, UnknownNameError
from pangaea.evolution import strategies as room
from pangaea.evolution.freedom import freedom
from pangaea.evolution.strategies import choosy, strategies, strategy
from pangaea.evolution.strategies.evolution import Settings
from pangaea.evolution.strategies.thrifty import may_learn
from pangaea.evolution.trials import Again, Measured, Proposal, Trial, generator, mean_score
from pangaea.functions.equivalence import fingerprint
from pangaea.functions.expression import Function
from pangaea.functions.parser import parse
from pangaea.testing import StrategyContract

evolution = strategy("evolution").propose
nonparametric = strategy("nonparametric").propose
random_sampling = strategy("random-sampling").propose
random_search = strategy("random-search").propose
thrifty = strategy("thrifty").propose
BLIND = room.Settings()


def trial(number: int, text: str, score: float | None, budget: int = 20) -> Trial:
    return Trial(number, text, None, (Measured(budget, score),), score)


def history(*scores: float | None) -> list[Trial]:
    return [trial(number, "relu(x)", score) for number, score in enumerate(scores)]


def test_initial_functions_are_drawn_until_p_have_passed() -> None:
    settings = Settings(population=3, sample=2, threshold=20)
    for past in ([], history(50, 10, None, 60), history(19.9, 19.9, 19.9, 70, 80)):
        assert evolution(past, Random(0), settings).mutation == "initial"
    assert evolution(history(50, None, 20, 60), Random(0), settings).mutation != "initial"


def test_parents_are_among_the_p_most_recent_that_passed() -> None:
    settings = Settings(population=3, sample=1, threshold=20)
    past = history(90, 30, 10, 40, 50, None)
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


@pytest.mark.parametrize("last", [None, -1e9, 0, 90])
def test_random_search_breeds_from_the_last_whatever_its_score(last: float | None) -> None:
    for seed in range(50):
        assert random_search(history(90, 50, last), Random(seed), BLIND).parent == 2


def test_a_failure_is_no_score_and_never_breeds() -> None:
    """Not where scores are below zero either, nor where there is no threshold."""
    settings = Settings(population=2, sample=5)
    past = history(-3.0, None, -1.0, None)
    parents = {evolution(past, Random(seed), settings).parent for seed in range(60)}
    assert parents == {0, 2}
    assert evolution(history(None, None, -5.0), Random(0), settings).mutation == "initial"


def test_without_a_threshold_every_score_breeds() -> None:
    settings = Settings(population=3, sample=1)
    past = history(-1e9, 0.0, 1e9)
    assert {evolution(past, Random(seed), settings).parent for seed in range(60)} == {0, 1, 2}


def test_a_trial_that_was_trained_again_keeps_its_place_and_breeds_by_its_new_score() -> None:
    past = history(10, 50, 60)
    past[0] = past[0].after(Measured(40, 90.0), 1.0, None)
    settings = Settings(population=3, sample=60)
    assert {evolution(past, Random(seed), settings).parent for seed in range(30)} == {0}
    settings = Settings(population=2, sample=60)
    assert {evolution(past, Random(seed), settings).parent for seed in range(30)} == {2}


@pytest.mark.parametrize(
    ("runs", "mean"),
    [
        ([], None),
        ([(1, None)], None),
        ([(1, 3.0)], 3.0),
        ([(1, 3.0), (1, 5.0)], 4.0),
        ([(1, 3.0), (2, 5.0)], 5.0),
        ([(2, 5.0), (1, 3.0)], 5.0),
        ([(1, 3.0), (2, None)], 3.0),
        ([(2, -5.0), (2, None), (2, -7.0), (1, 90.0)], -6.0),
    ],
)
def test_the_score_is_the_mean_at_the_largest_budget_that_gave_one(
    runs: list[tuple[int, float | None]], mean: float | None
) -> None:
    assert mean_score([Measured(*run) for run in runs]) == mean
    if runs:
        first, *others = (Measured(*run) for run in runs)
        whole = Trial(1, "relu(x)", None, (first,), first.score, 1.0, None)
        for other in others:
            whole = whole.after(other, 2.0, "diverged" if other.score is None else None)
        assert (whole.score, whole.cost) == (mean, 2.0 * len(runs) - 1.0)
        assert [(run.budget, run.score) for run in whole.runs] == runs
        assert whole.failure == ("diverged" if None in [r.score for r in others] else None)


def test_nonparametric_evolution_has_no_parameters() -> None:
    for seed in range(50):
        proposal = nonparametric(history(*[50] * 64), Random(seed), Settings())
        assert proposal.function.parameters == ()


def test_random_sampling_mutates_three_times_and_forgets_the_past() -> None:
    proposal = random_sampling([], Random(7), BLIND)
    assert proposal.mutation.count("+") == 3
    assert proposal == random_sampling(history(90, 90), Random(7), BLIND)


def test_thrifty_evolution_tries_nothing_twice_and_nothing_hopeless() -> None:
    """Of the same length, the paper's evolution repeats itself and tries constants."""
    tried = {name: evolved(strategy(name).propose, 150) for name in ("evolution", "thrifty")}
    different = {name: {fingerprint(f) for f in tried[name]} for name in tried}
    hopeless = {name: sum(not may_learn(f) for f in tried[name]) for name in tried}
    assert len(different["thrifty"]) == 150 > len(different["evolution"])
    assert hopeless["thrifty"] == 0 < hopeless["evolution"]


def evolved(propose: room.Propose, count: int, told: Settings | None = None) -> list[Function]:
    told = told or Settings(population=8)
    past: list[Trial] = []
    functions = []
    for number in range(count):
        proposal = propose(past, generator(0, number), told)
        assert isinstance(proposal, Proposal)
        functions.append(proposal.function)
        past.append(trial(number, str(functions[-1]), 30.0 + number % 7))
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
    ("text", "least", "most"),
    [
        ("relu(x)", 0, 0),  # no parameters
        ("one(alpha*x)", 0, 0),  # no spread
        ("alpha*swish(x)", 0, 1e-6),  # a scale, which the next layer undoes
        ("add(tanh(x), alpha*one(x))", 0, 1e-6),  # a shift
        ("relu(alpha*x)", 0, 1e-3),
        ("swish(alpha*x)", 0.1, 0.2),
        ("sub(alpha*swish(x), beta*x)", 0.8, 3),
        ("exp(exp(alpha*x))", 0, 1e9),  # beyond what floats hold
    ],
)
def test_freedom_is_what_parameters_do_beyond_scale_and_shift(
    text: str, least: float, most: float
) -> None:
    assert least <= freedom(text) <= most


def test_the_freedom_of_a_function_does_not_depend_on_its_scale() -> None:
    assert freedom("sub(alpha*swish(x), beta*x)") == pytest.approx(
        freedom("sinh(one(x)) * (sub(alpha*swish(x), beta*x))"), rel=1e-3
    )


def test_a_choosy_search_trains_freer_functions_than_a_thrifty_one() -> None:
    thrifty_ones = [freedom(str(f)) for f in evolved(thrifty, 60)]
    told = choosy.Settings(population=8, children=10)
    free = [freedom(str(f)) for f in evolved(choosy.propose, 60, told)]
    assert fmean(map(freed, free)) > 2 * fmean(map(freed, thrifty_ones))
    assert all(may_learn(f) for f in evolved(choosy.propose, 10, told))


def freed(free: float) -> float:
    """What the strategy thinks of it: beyond 3 a function is hardly there."""
    return free if free < 3 else 0.0


def test_with_rungs_the_best_of_so_many_is_trained_again_twice_as_long() -> None:
    told = choosy.Settings(population=8, rungs=3)
    scores = {1: 0.5, 2: 0.9, 3: 0.7, 4: 0.8, 5: 0.6}
    trials = [trial(number, "relu(x)", score) for number, score in scores.items()]

    def proposed(trials: list[Trial]) -> Proposal | Again:
        return choosy.propose(trials, generator(0, 9), told)

    assert isinstance(proposed(trials[:2]), Proposal)
    assert proposed(trials[:3]) == Again(2, 2 * trials[1].runs[0].budget)
    trials[1] = trials[1]._replace(waiting=1)  # it runs
    assert isinstance(proposed(trials), Proposal)
    six = [*trials, trial(6, "relu(x)", None)]
    assert proposed(six) == Again(4, 2 * trials[3].runs[0].budget)
    six[1] = six[1].after(Measured(40, 0.4), 1.0, None)
    assert (six[1].waiting, six[1].score) == (0, 0.4)
    assert proposed(six) == Again(4, 2 * trials[3].runs[0].budget)


def test_a_choosy_search_takes_a_part_as_it_comes() -> None:
    whole = choosy.Settings(children=5, unscreened=1.0)
    for number in range(10):
        rng = generator(0, number)
        rng.random()  # decides that it is one of those
        first = thrifty([], rng, whole)
        assert choosy.propose([], generator(0, number), whole) == first


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
    past = [trial(0, "alpha*relu(beta*x)", 50.0)]
    settings = Settings(population=1, sample=1, threshold=0)
    counts = {len(evolution(past, Random(s), settings).function.parameters) for s in range(200)}
    assert counts == {0, 1, 2, 3}


def test_every_candidate_has_its_own_generator() -> None:
    draws = {generator(seed, number).random() for seed in range(20) for number in range(20)}
    assert len(draws) == 400
    assert generator(3, 5).random() == generator(3, 5).random()


class TestEveryStrategy(StrategyContract):
    @pytest.fixture(params=strategies())
    def strategy(self, request: pytest.FixtureRequest) -> room.Strategy:
        return strategy(request.param)


def test_a_golden_run() -> None:
    """If this changes, studies recorded before no longer replay: say so in the changelog."""
    past: list[Trial] = []
    settings = Settings(population=4, sample=2, threshold=20)
    for number in range(8):
        proposal = evolution(past, generator(0, number), settings)
        score = 10.0 + 7 * (sum(map(ord, str(proposal.function))) % 11)
        past.append(trial(number, str(proposal.function), score))
    assert [t.text for t in past] == GOLDEN


def test_a_golden_run_of_negative_scores_is_the_same() -> None:
    """Only the order of scores counts: a loss turned round draws what an accuracy draws."""
    past: list[Trial] = []
    settings = Settings(population=4, sample=2, threshold=-80)
    for number in range(8):
        proposal = evolution(past, generator(0, number), settings)
        score = 10.0 + 7 * (sum(map(ord, str(proposal.function))) % 11) - 100
        past.append(trial(number, str(proposal.function), score))
    assert [t.text for t in past] == GOLDEN


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
    ("wrong", "sentence"),
    [
        ({"population": 0}, "population must be at least 1, got 0"),
        ({"sample": 0}, "sample must be at least 1, got 0"),
        ({"threshold": float("nan")}, "threshold must be a finite number, got nan"),
    ],
)
def test_impossible_settings_are_refused(wrong: dict[str, float], sentence: str) -> None:
    with pytest.raises(PangaeaError, match=sentence):
        Settings(**wrong)


def test_an_unknown_strategy_is_answered_with_near_ones() -> None:
    with pytest.raises(UnknownNameError, match="did you mean thrifty"):
        strategy("thirfty")

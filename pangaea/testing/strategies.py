"""What a search relies on in a strategy."""

import random
from collections.abc import Sequence
from random import Random
from typing import Any

import pytest

from pangaea.evolution.strategies import Strategy
from pangaea.evolution.trials import Again, Measured, Proposal, Trial, generator
from pangaea.functions.space import PRESETS
from pangaea.settings import declarations

_FUNCTIONS = (
    *("relu(x)", "tanh(x)", "alpha*swish(beta*x)", "max(x, zero(x))", "alpha*mul(x, erf(x))"),
    "sub(alpha*x, beta*logsigmoid(gamma*x))",
)
_BUDGET = 20
# What may have come of a search so far, each candidate's score; None is a failure.
HISTORIES: dict[str, tuple[float | None, ...]] = {
    "nothing yet": (),
    "one": (50.0,),
    "failures alone": (None,) * 30,
    "a failure between scores": (40.0, None, 60.0),
    "scores below zero": tuple(-100.0 + i for i in range(100)),
    "all alike": (1.5,) * 100,
    "many": tuple(None if i % 7 == 0 else (37 * i) % 101 for i in range(300)),
}


def history(*scores: float | None) -> list[Trial]:
    """Candidates with these scores, of one run each; the larger number came of the smaller one."""
    return [
        Trial(
            number,
            _FUNCTIONS[number % len(_FUNCTIONS)],
            number - 1 if number else None,
            (Measured(_BUDGET, score),),
            score,
            1.0,
            "diverged" if score is None else None,
        )
        for number, score in enumerate(scores)
    ]


class StrategyContract:
    """Subclass it with a fixture `strategy`, and `given` for settings that are not the defaults."""

    given: dict[str, Any] = {}  # noqa: RUF012 (a subclass replaces it)

    @pytest.fixture
    def strategy(self) -> Strategy:
        raise NotImplementedError("a fixture `strategy` gives it: return strategy('my-own')")

    def proposed(
        self, strategy: Strategy, past: Sequence[Trial], rng: Random, **more: Any
    ) -> Proposal | Again:
        """What the strategy answers, after a look whether a search can do that."""
        settings = strategy.settings(**self.given | more)
        answer = strategy.propose(past, rng, settings)
        known = {trial.number for trial in past}
        if isinstance(answer, Again):
            assert answer.number in known, "another run is of a candidate that has had one"
            assert answer.budget >= 1
            return answer
        assert isinstance(answer, Proposal)
        assert answer.parent is None or answer.parent in known
        assert isinstance(answer.mutation, str)
        assert answer.budget is None or answer.budget >= 1
        assert settings.space.holds(answer.function), f"{answer.function} is not of the space"
        return answer

    def test_it_says_what_it_does_and_what_it_can_be_told(self, strategy: Strategy) -> None:
        assert strategy.about.strip()
        assert all(declared.help.strip() for declared in declarations(strategy.settings))
        strategy.settings(**self.given)

    @pytest.mark.parametrize("name", HISTORIES)
    def test_it_has_an_answer_whatever_came_of_the_search(
        self, strategy: Strategy, name: str
    ) -> None:
        past = history(*HISTORIES[name])
        for number in range(5):
            self.proposed(strategy, past, generator(0, len(past) + number))

    @pytest.mark.parametrize("name", HISTORIES)
    def test_it_answers_the_same_to_the_same_past_and_leaves_it_alone(
        self, strategy: Strategy, name: str
    ) -> None:
        """Or a study that was killed and resumed would be another one."""
        past = history(*HISTORIES[name])
        first, second = (self.proposed(strategy, past, generator(0, 80)) for _ in range(2))
        assert first == second
        assert past == history(*HISTORIES[name])

    def test_it_draws_from_the_generator_that_it_is_given_and_no_other(
        self, strategy: Strategy
    ) -> None:
        past = history(*HISTORIES["many"])
        answers = []
        for seed in (1, 2):
            random.seed(seed)
            state = random.getstate()
            answers.append(self.proposed(strategy, past, generator(0, 300)))
            assert random.getstate() == state
        assert answers[0] == answers[1]

    def test_another_seed_is_another_search(self, strategy: Strategy) -> None:
        answers = [self.proposed(strategy, [], generator(seed, 1)) for seed in range(20)]
        assert len({str(answer) for answer in answers}) > 1

    @pytest.mark.parametrize("preset", ["paper", "cheap", "smooth", "s1"])
    def test_it_stays_in_the_space_that_it_is_told(self, strategy: Strategy, preset: str) -> None:
        trials = self.searched(strategy, 40, space=PRESETS[preset])
        assert all(PRESETS[preset].holds(trial.function) for trial in trials)

    def test_a_search_comes_to_new_functions(self, strategy: Strategy) -> None:
        trials = self.searched(strategy, 60)
        assert len({trial.text for trial in trials}) > 1

    def searched(self, strategy: Strategy, count: int, **more: Any) -> list[Trial]:
        """The trials after so many runs, scored by the letters of a function's text."""
        trials: dict[int, Trial] = {}
        for number in range(count):
            answer = self.proposed(strategy, [*trials.values()], generator(0, number), **more)
            text = trials[answer.number].text if isinstance(answer, Again) else str(answer.function)
            score = None if number % 9 == 8 else float(sum(map(ord, text)) % 97)
            run = Measured(answer.budget or _BUDGET, score)
            if isinstance(answer, Again):
                trials[answer.number] = trials[answer.number].after(run, 1.0, None)
            else:
                trials[number] = Trial(number, text, answer.parent, (run,), score, 1.0, None)
        return list(trials.values())

"""Which functions are the best of a study, and in which order."""

from collections.abc import Mapping, Sequence
from itertools import takewhile
from typing import Any, Protocol

from pangaea.evolution.ranking import Round, played, runs_of
from pangaea.evolution.trials import Trial
from pangaea.study.settings import Settings
from pangaea.study.stages import RERANK, TEST
from pangaea.tasks.goal import Goal


class Judged(Protocol):
    """A study, or what was read of one: the results that decide which function is the best."""

    @property
    def goal(self) -> Goal: ...
    @property
    def settings(self) -> Settings: ...
    @property
    def task(self) -> dict[str, Any]: ...
    @property
    def baseline_score(self) -> float | None: ...
    def runs(self, stage: str | None) -> list[dict[str, Any]]: ...
    def scores(self, stage: str) -> dict[str, list[float | None]]: ...
    def validations(self) -> dict[str, list[float | None]]: ...


def standing(study: Judged, trials: Sequence[Trial]) -> list[dict[str, Any]]:
    """The best candidates in their final order, with what each stage found of them.

    They come as the rounds of training them again leave them. Those that were tested come in the
    order of their mean validation score in all runs of the full budget, of which there are more
    than the rounds had, if the test's runs have such scores.
    """
    goal, baseline = study.goal, study.baseline_score
    rerank, test, full = trained_again(study), study.scores(TEST.name), study.validations()
    functions, complete = contest(study, trials)
    rounds = rounds_of(study)[: complete or None]  # without those that time cut off

    def order(mean: float | None) -> float:
        return float("inf") if mean is None else -goal.oriented(mean)

    rows: list[dict[str, Any]] = []
    for trial in trials:
        assert trial.score is not None
        score = goal.oriented(trial.score)
        again = rerank.get(trial.text, {})
        rows.append(
            {
                "number": trial.number,
                "function": trial.text,
                "score": score,
                "gain": None if baseline is None else goal.gain(score, baseline),
                "reranked": goal.mean(again[max(again)]) if again else None,
                "reranked_budget": max(again, default=None),
                "believed": goal.mean(unbiased(again, rounds)) if again else score,
                "validation": goal.mean(full[trial.text]) if trial.text in full else None,
                "test": test.get(trial.text),
                "seconds": trial.cost,
            }
        )
    places = {text: place for place, text in enumerate(functions)}
    rows.sort(key=lambda r: places[r["function"]])
    validated = any("validation" in run["values"] for run in study.runs(TEST.name))
    runs = max(1, study.settings.runs)
    first = [*takewhile(lambda row: len(row["test"] or ()) >= runs, rows)]
    if validated and len(first) >= min(study.settings.tested, len(rows)):
        first.sort(key=lambda row: order(row["validation"]))
    return [*first, *rows[len(first) :]]


def rounds_of(study: Judged) -> list[Round]:
    """In which the best are trained again."""
    full = int(study.task["budgets"]["full"])
    return [
        Round(count, full if budget is None else budget) for count, budget in study.settings.again
    ]


def contest(study: Judged, trials: Sequence[Trial]) -> tuple[list[str], int]:
    """Functions in their order after the complete rounds of training them again; how many these."""
    scores = {
        (text, budget): [study.goal.oriented(worth) for worth in study.goal.worths(scores)]
        for text, by_budget in trained_again(study).items()
        for budget, scores in by_budget.items()
    }
    return played([trial.text for trial in trials], rounds_of(study), scores)


def unbiased(
    scores: Mapping[int, Sequence[float | None]], rounds: Sequence[Round]
) -> Sequence[float | None]:
    """The runs that came after a function was chosen: those before flatter what was chosen."""
    last = rounds[-1]
    before = runs_of(rounds[: rounds.index(last)], last.budget)
    return scores.get(last.budget, ())[before:] or scores[max(scores)]


def trained_again(study: Judged) -> dict[str, dict[int, list[float | None]]]:
    """What training the best again gave: by function, then by budget."""
    scores: dict[str, dict[int, list[float | None]]] = {}
    for run in study.runs(RERANK.name):
        scores.setdefault(run["function"], {}).setdefault(run["budget"], []).append(run["score"])
    return scores

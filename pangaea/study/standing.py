"""Which functions are the best of a study, and in which order."""

from collections.abc import Sequence
from typing import Any, Protocol

from pangaea.evolution.ranking import played
from pangaea.evolution.trials import Trial
from pangaea.study.settings import Settings
from pangaea.study.stages import RERANK, TEST, TESTED
from pangaea.tasks.goal import Goal


class Judged(Protocol):
    """A study, or what was read of one: the results that decide which function is the best."""

    @property
    def goal(self) -> Goal: ...
    @property
    def settings(self) -> Settings: ...
    @property
    def baseline_score(self) -> float | None: ...
    def scores(self, stage: str) -> dict[str, list[float | None]]: ...
    def validations(self) -> dict[str, list[float | None]]: ...


def standing(study: Judged, trials: Sequence[Trial]) -> list[dict[str, Any]]:
    """The best candidates in their final order, with what each stage found of them.

    They come as the rounds of training them again leave them. Those that were tested come in the
    order of their mean validation score in all runs of the full budget, of which there are more
    than the rounds had.
    """
    goal, baseline = study.goal, study.baseline_score
    rerank, test, full = study.scores(RERANK.name), study.scores(TEST.name), study.validations()

    def order(mean: float | None) -> float:
        return float("inf") if mean is None else -goal.oriented(mean)

    rows: list[dict[str, Any]] = []
    for trial in trials:
        assert trial.score is not None
        score = goal.oriented(trial.score)
        again = rerank.get(trial.text)
        rows.append(
            {
                "number": trial.number,
                "function": trial.text,
                "score": score,
                "gain": None if baseline is None else goal.gain(score, baseline),
                "reranked": goal.mean(again) if again else None,
                "believed": goal.mean(unbiased(again, study.settings.again)) if again else score,
                "validation": goal.mean(full[trial.text]) if again else None,
                "test": test.get(trial.text),
                "seconds": trial.cost,
            }
        )
    places = {text: place for place, text in enumerate(contest(study, trials)[0])}
    rows.sort(key=lambda r: places[r["function"]])
    first = rows[:TESTED]
    runs = study.settings.runs
    if runs and all(len(row["test"] or ()) >= runs for row in first):
        first.sort(key=lambda r: order(r["validation"]))
    return [*first, *rows[TESTED:]]


def contest(study: Judged, trials: Sequence[Trial]) -> tuple[list[str], int]:
    """Functions in their order after the complete rounds of training them again; how many these."""
    scores = {
        text: [study.goal.oriented(worth) for worth in study.goal.worths(scores)]
        for text, scores in study.scores(RERANK.name).items()
    }
    return played([trial.text for trial in trials], study.settings.again, scores)


def unbiased(scores: Sequence[float | None], rounds: Sequence[int]) -> Sequence[float | None]:
    """The runs that came after a function was chosen: those before flatter what was chosen."""
    return scores[rounds.index(rounds[-1]) :] or scores

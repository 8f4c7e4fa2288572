"""The best function at every cost: what nothing as cheap is better than."""

import math

from pangaea.errors import PangaeaError
from pangaea.functions.cost import relative
from pangaea.report import texts
from pangaea.report.measures import bare, finite
from pangaea.report.records import Row, Snapshot
from pangaea.study.standing import trained_again
from pangaea.tasks.goal import Goal

_MOST = 2000  # of the best: to read so many functions takes half a second


def priced(study: Snapshot) -> list[Row]:
    """The candidates that are better than the baseline, the best first, with what each costs.

    The cost is in times of the baseline's, of the function alone: its operators' times added up.
    """
    goal, level = study.goal, study.baseline_score
    if level is None:
        return []
    better = [
        row
        for row in study.finished
        if row["score"] is not None and goal.gain(row["score"], level) > 0
    ]
    better.sort(key=lambda row: (-goal.oriented(row["score"]), row["number"]))
    rows = [row | {"cost": times(study, row["function"])} for row in better[:_MOST]]
    return [row for row in rows if row["cost"] is not None]


def front(study: Snapshot) -> list[Row]:
    """The baseline, then ever dearer functions that none as cheap is better than: plain values.

    Two functions are compared by the longest training that both had. Nothing if none is better than
    the baseline.
    """
    goal, level, longer = study.goal, study.baseline_score, _longer(study)
    rows = sorted(priced(study), key=lambda row: (row["cost"], -goal.oriented(row["score"])))
    best: list[Row] = []
    highest = -math.inf  # of all cheaper ones in the search
    for place, row in enumerate(rows):
        score, mine = goal.oriented(row["score"]), longer.get(row["function"])
        if mine is None:
            beaten = score <= highest
        else:
            others = ((other, longer.get(other["function"], {})) for other in rows[:place])
            beaten = any(
                theirs[max(common)] >= mine[max(common)]
                if (common := mine.keys() & theirs.keys())
                else goal.oriented(other["score"]) >= score
                for other, theirs in others
            )
        if not beaten:
            best.append(_plain(row, goal, mine))
        highest = max(highest, score)
    if not best:
        return []
    name, baseline = texts.name(study.baseline), study.baseline
    first = {"number": 0, "function": baseline, "score": level, "cost": 1.0}
    return [_plain(first, goal, longer.get(baseline)) | {"readable": name}, *best]


def _longer(study: Snapshot) -> dict[str, dict[int, float]]:
    """What functions scored in longer trainings than the search's, larger being better."""
    scores: dict[str, dict[int, list[float | None]]] = {}
    for text, by_budget in trained_again(study).items():
        scores.setdefault(text, {}).update(by_budget)
    for text, full in study.validations().items():
        scores.setdefault(text, {})[study.budget("full")] = full
    means = {
        text: {
            budget: study.goal.oriented(mean)
            for budget, each in by_budget.items()
            if budget > study.budget("search") and (mean := study.goal.mean(each)) is not None
        }
        for text, by_budget in scores.items()
    }
    return {text: by_budget for text, by_budget in means.items() if by_budget}


def _plain(row: Row, goal: Goal, longer: dict[int, float] | None) -> Row:
    kept = {name: row[name] for name in ("number", "function", "score", "cost")}
    budget = max(longer, default=None) if longer else None
    score = None if budget is None or longer is None else finite(goal.oriented(longer[budget]))
    return kept | {"readable": texts.short(row["function"]), "longer": score, "budget": budget}


def longest(goal: Goal, row: Row) -> str:
    """What one of them scored in its longest training, `73.30 @200`; nothing without any."""
    return "" if row["budget"] is None else f"{bare(goal, row['longer'])} @{row['budget']}"


def comparing(study: Snapshot) -> str:
    """What is compared where functions were trained for longer than the search did."""
    return (
        f"longer: the longest training it had, @ so many {study.unit}; functions are compared by "
        "the longest that both had"
    )


def times(study: Snapshot, function: str) -> float | None:
    """A function's cost in times of the baseline's; None if it is not one of this version's."""
    try:
        return relative(function, study.baseline)
    except PangaeaError:
        return None


def shown(cost: float | None) -> str:
    """`1.8×`."""
    return "" if cost is None else f"{cost:.1f}×"


def meaning(study: Snapshot) -> str:
    """What a cost is."""
    return f"cost: of the function alone on a CPU, in times of {texts.name(study.baseline)}'s"

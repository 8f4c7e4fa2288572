"""The best function at every cost: what nothing as cheap is better than."""

from pangaea.errors import PangaeaError
from pangaea.functions.cost import relative
from pangaea.report import texts
from pangaea.report.records import Row, Snapshot

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
    """The baseline, then ever dearer functions, each better than all cheaper ones: plain values.

    Nothing if none is better than the baseline.
    """
    goal, level = study.goal, study.baseline_score
    rows = sorted(priced(study), key=lambda row: (row["cost"], -goal.oriented(row["score"])))
    best: list[Row] = []
    for row in rows:
        if not best or goal.gain(row["score"], best[-1]["score"]) > 0:
            best.append(row)
    if not best:
        return []
    name, baseline = texts.name(study.baseline), study.baseline
    first = {"number": 0, "function": baseline, "readable": name, "score": level, "cost": 1.0}
    return [first, *(_plain(row) for row in best)]


def _plain(row: Row) -> Row:
    kept = {name: row[name] for name in ("number", "function", "score", "cost")}
    return kept | {"readable": texts.short(row["function"])}


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

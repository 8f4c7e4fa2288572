"""One candidate of a study: what is known of it, and what training made of its parameters."""

from dataclasses import dataclass
from pathlib import Path

from pangaea.errors import PangaeaError
from pangaea.report import texts
from pangaea.report.measures import spread
from pangaea.report.records import Row, Snapshot, opened
from pangaea.study.stages import TEST
from pangaea.study.trained import at_the_end, by_layer, recorded

_GREEK = {"alpha": "α", "beta": "β", "gamma": "γ"}


@dataclass(frozen=True)
class Candidate:
    """What there is to say of it, in words, and its parameters after training."""

    function: str
    facts: dict[str, str]
    means: dict[str, float]  # over the network
    layers: dict[str, list[float]]

    @classmethod
    def read(cls, path: Path, number: int | None) -> "Candidate":
        """The candidate of this number, or the best."""
        with opened(path) as study:
            row = study.candidate(number)
            if row is None:
                raise PangaeaError(f"{study.name} has no candidate that could be trained")
            parameters = recorded(study, row["function"])
            means = at_the_end(study, row["function"])
            facts = _facts(study, row)
            if means:
                values = (f"{_GREEK.get(name, name)} = {v:.4g}" for name, v in means.items())
                facts["trained"] = f"{', '.join(values)}: the means over the network, shown below"
            return cls(row["function"], facts, means, by_layer(parameters))


def _facts(study: Snapshot, row: Row) -> dict[str, str]:
    goal, tests = study.goal, study.scores(TEST.name).get(row["function"])
    parent = "" if row["parent"] is None else f", from #{row['parent']} by {row['mutation']}"
    score = f"failed: {row['failure']}" if row["score"] is None else goal.shown(row["score"])
    facts = {"candidate": f"#{row['number']} of {study.name}{parent}", "search": score}
    if tests:
        facts["test"] = f"{spread(goal, tests)}{goal.suffix} (n = {len(tests)})"
    return {name: texts.inert(fact) for name, fact in facts.items()}

"""Tables of judged functions, and of the tasks to judge them on."""

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from pangaea.functions.catalog import resolve
from pangaea.functions.learnable import LEARNABLE
from pangaea.report import texts
from pangaea.report.measures import legend, mean_or_none, probability, welch
from pangaea.report.terminal.columns import Functions, Line
from pangaea.tasks.goal import Goal

if TYPE_CHECKING:
    from pangaea.tasks.evaluate import Evaluation


def rows(evaluations: Sequence["Evaluation"], against: "Evaluation | None") -> list[dict[str, Any]]:
    """One plain row for each function, with p against the reference."""
    return [
        {
            "function": e.function,
            "task": e.task,
            "goal": e.goal.as_dict(),
            "data": e.results[0].part,
            "mean": mean_or_none(e.goal, e.scores),
            "sd": e.sd,
            "n": len(e.scores),
            "failures": e.failures,
            "reasons": sorted({r.failure for r in e.results if r.failure}),
            "details": sorted({r.detail for r in e.results if r.failure and r.detail}),
            "p": None
            if against is None or e is against
            else welch(e.goal, e.scores, against.scores),
            "against": None if against is None else against.function,
            "seconds": e.seconds,
            "scores": [score if math.isfinite(score) else None for score in e.scores],
            "device": e.results[0].device,
        }
        for e in evaluations
    ]


def table(judged: Sequence[dict[str, Any]]) -> Functions:
    goals = [Goal(**row["goal"]) for row in judged]
    worths = [
        goal.oriented(row["mean"])
        for goal, row in zip(goals, judged, strict=True)
        if row["mean"] is not None
    ]
    best = max(worths, default=None)
    lines = []
    formulas = [_formula(row["function"]) for row in judged]
    for formula, goal, row in zip(formulas, goals, judged, strict=True):
        known = row["mean"] is not None
        reasons = f" ({', '.join(map(texts.inert, row['reasons']))})" if row["reasons"] else ""
        lines.append(
            Line(
                # What people read the same is told apart by the text.
                formula if formulas.count(formula) == 1 else texts.inert(row["function"]),
                [
                    goal.shown_mean(row["mean"], row["sd"]) if known else _unknown(goal, row),
                    str(row["n"]),
                    f"{row['failures']}{reasons}",
                    probability(row["p"]),
                    f"{row['seconds']:.1f}",
                ],
                bold=0 if known and goal.oriented(row["mean"]) == best else None,
            )
        )
    name = texts.inert(goals[0].name) if goals else "score"
    return Functions([name, "n", "failed", "p", "seconds"], lines)


def footer(judged: Sequence[dict[str, Any]]) -> str:
    """What the table says, and what went wrong."""
    first = judged[0]
    what = Goal(**first["goal"]).label(first["data"])
    lines = [
        f"\n{what} on {first['task']}, mean ± sample sd; seconds: of the quickest run, starting up "
        "among those of a process's first"
    ]
    if first["against"] is not None:
        lines.append(legend(_formula(first["against"])))
    wrong = {
        detail: row["function"]
        for row in judged
        for detail in row["details"]
        if "exception" in row["reasons"]
    }
    lines += [f"{texts.inert(text)}: {texts.inert(detail)}" for detail, text in wrong.items()]
    return "\n".join(lines)


def _formula(text: str) -> str:
    return resolve(text).readable() if text in LEARNABLE else texts.short(text)


def _unknown(goal: Goal, row: dict[str, Any]) -> str:
    """No run that counts, or one that is infinitely bad."""
    return goal.bare(goal.worst) if row["n"] else "none"

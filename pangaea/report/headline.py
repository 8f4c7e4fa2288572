"""What a study found, in a sentence, and the facts beside it."""

import math
from collections.abc import Iterable
from typing import Any

from pangaea.functions.equivalence import equivalent
from pangaea.functions.parser import parse
from pangaea.report import texts
from pangaea.report.findings import cost, extent, references, state, tested
from pangaea.report.measures import Scores, duration, moment, probability, spread, welch
from pangaea.report.records import Row, Snapshot
from pangaea.study.stages import EVALUATION, PAPER, TEST
from pangaea.tasks.goal import Goal
from pangaea.wording import counted


def headline(study: Snapshot) -> dict[str, Any]:
    """The function that was found, a sentence on how good it is, and the facts beside it."""
    first = study.best(1)
    best = first[0] if first else None
    return {
        "function": texts.short(best["function"]) if best else None,
        "sentence": _start(study, best) + _sentence(study, best),
        "state": state(study),
        "facts": dict(_facts(study, best)),
        "tested": tested(study),
    }


def _sentence(study: Snapshot, best: Row | None) -> str:
    if study.general:
        functions, tasks = extent(study)
        return f"{functions} of other studies, judged on {tasks} with the full budget."
    if study.paper:
        return f"{counted(len(study.runs(PAPER.name)), 'run')} of the paper's experiments."
    if not study.finished:
        if evaluated := study.runs(EVALUATION.name):
            functions = counted(len({run["function"] for run in evaluated}), "function")
            return (
                f"{counted(len(evaluated), 'run')} of {functions}, evaluated without a search; "
                "pangaea.plot.evaluated draws how they trained."
            )
        return "No candidate has its result yet."
    if all(row["score"] is None for row in study.finished):
        why = ", ".join(f"{count} × {reason}" for reason, count in study.failures.items())
        return f"None of the {counted(len(study.finished), 'candidate')} could be trained: {why}."
    if best is None:
        return "The functions in this file are not written as this version of pangaea writes them."
    goal, scores = study.goal, study.scores(TEST.name)
    mine, reference = scores.get(best["function"]), scores.get(study.baseline)
    name = texts.name(study.baseline)
    if mine and reference:
        compared = [
            _compared(goal, mine, scores[text], texts.name(text))
            for text in references(study)
            if text in scores and text != best["function"]
        ]
        return f"{spread(goal, mine)}{goal.suffix} on test data, {'; '.join(compared)}."
    level = study.baseline_score
    than = "" if level is None else f", {_better(goal, best['score'], level)} {name}"
    runs = {trial.number: len(trial.runs) for trial in study.trials}[best["number"]]
    return (
        f"{goal.shown(best['score'])} on validation data in {counted(runs, 'run')} of the search"
        f"{than}{_again(study, best)}. It has not been tested yet."
    )


def _again(study: Snapshot, best: Row) -> str:
    """What the best function scored when the best were trained again."""
    if best["reranked"] is None:
        return ""
    score = study.goal.shown(best["reranked"]) if math.isfinite(best["reranked"]) else "a failure"
    budget = f"{best['reranked_budget']} {study.unit}"
    return f", and {score} after {budget}, when the best were trained again"


def _start(study: Snapshot, best: Row | None) -> str:
    """That the search had a warm start, and whether the best function is one of that."""
    given = study.settings.given
    if best is None or not given:
        return ""
    if any(equivalent(parse(best["function"]), f) for f in given):
        return "Not found, for the search began with it: "
    return "After a warm start: "


def _compared(goal: Goal, mine: Scores, reference: Scores, name: str) -> str:
    """`1.20 points better than GELU's 71.00 ± 1.00% (n = 10 and 10, p = 0.012 *)`."""
    p = welch(goal, mine, reference)
    sizes = f"n = {len(mine)} and {len(reference)}"
    return (
        f"{_better(goal, goal.mean(mine), goal.mean(reference))} {name}'s "
        f"{spread(goal, reference)}{goal.suffix} "
        f"({sizes}{'' if p is None else f', p = {probability(p)}'})"
    )


def _better(goal: Goal, score: float | None, than: float | None) -> str:
    """`1.20 points better than`; without a number where one is infinitely bad."""
    assert score is not None
    assert than is not None
    if score == than:
        return "no better than"
    word = "better than" if goal.oriented(score) > goal.oriented(than) else "worse than"
    gain = goal.gain(score, than)
    if not math.isfinite(gain):
        return word
    return f"{f'{goal.shown_distance(score, than)} {goal.points}'.rstrip()} {word}"


def _facts(study: Snapshot, best: Row | None) -> Iterable[tuple[str, str]]:
    settings, rows = study.settings, study.finished
    yield "goal", f"{study.goal.name}, {'larger' if study.goal.maximised else 'smaller'} is better"
    if study.general:
        yield "functions", extent(study)[0]
    elif study.paper:
        yield "runs", str(len(study.runs(PAPER.name)))
    else:
        yield "task", texts.inert(settings.task)
        yield "strategy", f"{settings.strategy}, per {study.scope}"
        if settings.given:
            yield "warm start", ", ".join(texts.name(str(f)) for f in settings.given)
        runs = sum(len(trial.runs) for trial in study.trials)
        yield "candidates", f"{len(rows)}" + (f" in {runs} runs" if runs > len(rows) else "")
    if rows:
        yield "failed", f"{sum(row['score'] is None for row in rows) / len(rows):.0%}"
    if ended := study.runs():
        yield "compute", duration(sum(run["seconds"] for run in ended))
        last = max(run["finished"] for run in ended)
        begun = [run["started"] for run in ended if run["started"] is not None]
        if begun:
            yield "wall clock", duration(last - min(begun))
        if last:  # 0 is that of lines which do not say
            yield "last result", moment(last)
    if best and (times := cost(study, best)) is not None:
        yield "training time", f"{times:.2f} × {texts.name(study.baseline)}"

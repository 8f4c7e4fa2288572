"""What a study found, in words and numbers: each of them is made here, and nowhere else."""

import math
import shlex
from collections import Counter
from collections.abc import Mapping
from operator import itemgetter
from statistics import fmean
from typing import Any

from pangaea.evolution.ranking import runs_of, top
from pangaea.report import texts
from pangaea.report.front import times
from pangaea.report.measures import (
    bare,
    finite,
    mean_or_none,
    moment,
    probability,
    spread,
    stars,
    welch,
)
from pangaea.report.paper import every_table
from pangaea.report.records import Row, Snapshot
from pangaea.study.settings import MOST_CANDIDATES
from pangaea.study.stages import (
    BASELINE,
    BEST,
    GENERAL,
    PAPER,
    RERANK,
    STAGES,
    TEST,
    TESTED,
)
from pangaea.study.standing import contest, rounds_of
from pangaea.wording import counted

# What training with a function costs


def baseline_seconds(study: Snapshot) -> float | None:
    """How long the baseline trains; a worker's first run also loads the data."""
    return min((r["seconds"] for r in study.trained(study.baseline, [BASELINE.name])), default=None)


def cost(study: Snapshot, row: Row) -> float | None:
    """How many times as long as with the baseline training takes, with the same budget."""
    tested, reference = (
        [run["seconds"] for run in study.trained(text, [TEST.name])]
        for text in (row["function"], study.baseline)
    )
    if tested and reference and fmean(reference) > 0:
        return fmean(tested) / fmean(reference)
    budget, alone = study.budget("search"), _warm_seconds(study)
    runs = [
        run["seconds"]
        for run in study.trained(row["function"], (s.name for s in STAGES.values() if s.proposed))
        if run["budget"] == budget
    ]
    return fmean(runs) / alone if runs and alone else None


def _warm_seconds(study: Snapshot) -> float | None:
    """How long the baseline trains on a worker that had a run before; None if there is no such."""
    workers: set[str | None] = set()
    seconds = []
    for run in sorted(study.trained(study.baseline, [BASELINE.name]), key=itemgetter("finished")):
        if run["worker"] in workers:
            seconds.append(run["seconds"])
        workers.add(run["worker"])
    return min(seconds, default=None)


# The best functions


def columns(study: Snapshot) -> dict[str, str]:
    """What the scores in every table of functions are called, and what each of them is."""
    validation = study.goal.label("validation")
    search, full = study.budget("search"), study.budget("full")
    more = " or more" if _tries(study) == "runs" else ""
    last = f"{validation} in the rounds with its largest budget, @ so many {study.unit}"
    shorter = study.settings.rerank and any(budget for _, budget in study.settings.again)
    return {
        "search": f"{validation} after {search}{more} {study.unit}, as the search saw it",
        **({"again": last} if shorter else {}),
        "full": f"{validation} after {full} {study.unit}, the mean of all such runs",
        "test": f"{study.goal.label('test')} after {full} {study.unit}",
    }


def again(study: Snapshot, row: Row) -> str:
    """What a function scored in the rounds with the largest budget it was in, `72.98 @100`."""
    budget = row["reranked_budget"]
    return "" if budget is None else f"{bare(study.goal, row['reranked'])} @{budget}"


def references(study: Snapshot) -> list[str]:
    """The baseline, and the functions that were to be tested beside it."""
    return [*dict.fromkeys([study.baseline, *study.settings.further])]


def rows(study: Snapshot, count: int = TESTED) -> list[Row]:
    """The references and the best functions, with what each stage found of them: plain values.

    Of a study of general functions: those.
    """
    if study.general:
        return general(study)
    goal, reference = study.goal, study.scores(TEST.name).get(study.baseline)
    best = study.best(count)
    known = {row["function"] for row in best}
    first = [_reference(study, text) for text in references(study) if text not in known]
    results = []
    for row in [*first, *best]:
        tested = row["test"]
        against = None if row["function"] == study.baseline else reference
        results.append(
            plain(row)
            | {
                "readable": _named(study, row["function"]),
                "cost": times(study, row["function"]),
                "test_mean": mean_or_none(goal, tested),
                "test_sd": goal.sd(tested) if tested else None,
                "test_failures": tested.count(None) if tested else 0,
                "p": welch(goal, tested, against) if tested and against else None,
            }
        )
    return results


def plain(row: Row) -> Row:
    """Without the means that JSON cannot say: those of failures may be infinite."""
    return row | {name: finite(row[name]) for name in ("reranked", "believed", "validation")}


def _reference(study: Snapshot, text: str) -> Row:
    """What is known of the baseline; of a function that is only tested, its tests."""
    score = study.baseline_score if text == study.baseline else None
    return {
        "number": 0,
        "function": text,
        "score": score,
        "gain": None if score is None else 0.0,
        "reranked": None,
        "reranked_budget": None,
        "believed": None,
        "validation": study.goal.mean(study.validations().get(text, [])),
        "test": study.scores(TEST.name).get(text),
        "seconds": baseline_seconds(study) if text == study.baseline else None,
    }


def _named(study: Snapshot, text: str) -> str:
    return texts.name(text) if text in references(study) else texts.short(text)


def tested(study: Snapshot) -> list[Row]:
    """The references, then the tested functions in their final order, with p against the first."""
    if study.general or study.paper:  # whose tests are on several tasks
        return []
    goal, scores = study.goal, study.scores(TEST.name)
    reference = scores.get(study.baseline, [])
    order = [*references(study), *(row["function"] for row in study.best(BEST))]
    rows = []
    for text in sorted(scores, key=lambda t: order.index(t) if t in order else len(order)):
        p = None if text == study.baseline else welch(goal, scores[text], reference)
        rows.append(
            {
                "function": text,
                "readable": _named(study, text),
                "mean": mean_or_none(goal, scores[text]),
                "sd": goal.sd(scores[text]),
                "shown": spread(goal, scores[text]),
                "n": len(scores[text]),
                "failures": scores[text].count(None),
                "p": p,
                "p_shown": probability(p),
                "stars": stars(p),
            }
        )
    return rows


def general(study: Snapshot) -> list[Row]:
    """Of a study of general functions: each function's mean score and failures on every task."""
    runs: dict[tuple[str, str | None], dict[str, list[float | None]]] = {}
    for run in study.runs(GENERAL.name):
        by_task = runs.setdefault((run["function"], run["scope"]), {})
        by_task.setdefault(run["task"], []).append(run["score"])
    rows = [
        {
            "function": text,
            "scope": scope,
            "readable": texts.scoped(text, scope),
            "scores": {task: _mean(study, task, scores) for task, scores in by_task.items()},
            "runs": sum(map(len, by_task.values())),
            "failures": sum(scores.count(None) for scores in by_task.values()),
        }
        for (text, scope), by_task in runs.items()
    ]
    task = study.settings.task  # the first

    def worth(row: Row) -> float:
        score = row["scores"].get(task)
        return -math.inf if score is None else study.goal.oriented(score)

    return sorted(rows, key=worth, reverse=True)


def _mean(study: Snapshot, task: str, scores: list[float | None]) -> float | None:
    """A failed run counts as the task's goal says; for nothing, if the file does not know it."""
    if task in study.goals:
        return mean_or_none(study.goals[task], scores)
    return fmean(known) if (known := [s for s in scores if s is not None]) else None


def judged_table(study: Snapshot) -> dict[str, Any] | None:
    """The functions that were judged in the end, as a head and rows of texts; None if none was.

    Columns of words come first, and say what a page is to show them as.
    """
    notes: list[str] = []
    words = ["", "formula", "made"] if study.paper and not study.general else ["formula"]
    if study.general:
        results = general(study)
        tasks = list(dict.fromkeys(task for row in results for task in row["scores"]))
        head = ["function", *tasks, "runs", "failed"]
        cells = [
            [
                row["readable"],
                *(bare(study.goals.get(task), row["scores"].get(task)) for task in tasks),
                str(row["runs"]),
                str(row["failures"]),
            ]
            for row in results
        ]
    elif study.paper:
        head, cells, notes = every_table(study.runs(PAPER.name))
    else:
        head = [
            *("tested function", study.goal.label("test")),
            *(f"p against {texts.name(study.baseline)}", "n", "failed"),
        ]
        cells = [
            [row["readable"], row["shown"], row["p_shown"], str(row["n"]), str(row["failures"])]
            for row in tested(study)
        ]
    return {"head": head, "rows": cells, "words": words, "notes": notes} if cells else None


# How far it is, and what is the best of it


def state(study: Snapshot) -> str:
    """How far the study is."""
    if study.general or study.paper:
        stage = GENERAL if study.general else PAPER
        ended, waiting = len(study.runs(stage.name)), study.waiting
        return f"{ended} of {ended + waiting} runs" if waiting else "finished"
    settings = study.settings
    searched = sum(len(trial.runs) for trial in study.trials)
    if searched < settings.candidates:
        return _tried(study)
    functions = [row["function"] for row in study.best(settings.tested)]
    if functions and settings.rerank and (again := _trained_again(study)) is not None:
        return again
    finalists = {*references(study), *functions} if functions else set()
    scores, runs = study.scores(TEST.name), settings.runs
    done = sum(min(runs, len(scores.get(text, ()))) for text in finalists)
    if done < runs * len(finalists):
        return f"{TEST.name}: {done} of {runs * len(finalists)} runs"
    return "finished"


def _trained_again(study: Snapshot) -> str | None:
    """How far training the best again is; None if that is done."""
    rounds = rounds_of(study)
    best = top(study.trials, rounds[0].functions)
    order, complete = contest(study, best)
    if complete == len(rounds):
        return None
    counts = [min(count, len(best)) for count, _ in rounds]
    functions, budget = rounds[complete]
    end = len(rounds) - rounds[::-1].index(rounds[complete])  # of the rounds that are alike
    before, wanted = (runs_of(rounds[:place], budget) for place in (complete, end))
    ended = Counter(r["function"] for r in study.runs(RERANK.name) if r["budget"] == budget)
    now = sum(min(ended[text], wanted) - before for text in order[:functions])
    return f"{RERANK.name}: {sum(counts[:complete]) + now} of {sum(counts)} runs"


def _tried(study: Snapshot) -> str:
    """`37 of 200 candidates`."""
    number, settings = sum(len(trial.runs) for trial in study.trials), study.settings
    if settings.candidates == MOST_CANDIDATES:
        return f"{number} {_tries(study)} so far, {settings.extent} in all"
    return f"{number} of {settings.candidates} {_tries(study)}"


def _tries(study: Snapshot) -> str:
    """A strategy may try a candidate more than once: then runs are counted."""
    several = any(len(trial.runs) > 1 for trial in study.trials)
    return "runs" if several else "candidates"


def progress(study: Snapshot) -> str:
    """Where the study stands, in a line: its task, how far it is, what failed."""
    task = texts.inert(study.settings.task)
    if study.general:
        functions, tasks = extent(study)
        parts = [f"general functions: {functions} on {tasks}, {state(study)}"]
    elif study.paper:
        parts = [f"the paper's experiments: {state(study)}"]
    else:
        how_far, tried = state(study), _tried(study)
        done = how_far if how_far == tried else f"{tried}, {how_far}"
        parts = [f"{task}: {done}"]
        if study.settings.given:
            parts.append("warm start")
        short = {
            **dict.fromkeys(("rerank", "rounds"), "all rounds of training the best again"),
            **dict.fromkeys(("tested", "runs"), "all test runs"),
        }
        if missing := dict.fromkeys(w for name, w in short.items() if name in study.left_out):
            parts.append(f"no time for {' and '.join(missing)}")
    if study.failures:
        parts.append(f"failed: {_reasons(study.failures)}")
    if study.failed_later:
        parts.append(f"failed when trained again or tested: {_reasons(study.failed_later)}")
    return " · ".join(parts)


def _reasons(failures: Mapping[str, int]) -> str:
    return ", ".join(f"{n} {why}" for why, n in failures.items())


def extent(study: Snapshot) -> tuple[str, str]:
    """How many general functions there are, and on how many tasks."""
    results = general(study)
    tasks = {task for row in results for task in row["scores"]}
    return counted(len(results), "function"), counted(len(tasks), "task")


# How to run it again


def reproduce(study: Snapshot) -> dict[str, Any]:
    """What somebody needs to run the same search again."""
    task = {name: value for name, value in study.task.items() if name not in ("recipe", "goal")}
    return {
        "command": command(study),
        "settings": texts.harmless(study.settings.as_dict()),
        "task": task,
        "goal": study.goal.as_dict(),
        "recipe": study.task.get("recipe") or {},
        "versions": study.versions,
        "created": moment(study.created),
    }


def command(study: Snapshot) -> str:
    if study.general:
        return f"pangaea general STUDY... --out {shlex.quote(study.name)}"
    if study.paper:
        return f"pangaea paper run NAME --study {shlex.quote(study.name)}"
    words = ["pangaea", "search"]
    asked = study.settings.as_dict() | study.left_out
    if asked["candidates"] == MOST_CANDIDATES:  # as many as there is time for
        del asked["candidates"]
    for name, value in asked.items():
        if isinstance(value, bool):
            words.append(f"--{'' if value else 'no-'}{name}")
        elif value is not None:
            words += [f"--{name.replace('_', '-')}", str(value)]
    return texts.inert(shlex.join(words))

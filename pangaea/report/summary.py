"""What a study found, in words and numbers: the headline, the tested functions, the settings."""

import shlex
from collections.abc import Iterable
from datetime import datetime
from statistics import fmean, stdev
from typing import Any

from pangaea.report.records import TESTED, Row, best, cost, every_run, finished, formula
from pangaea.report.statistics import stars, welch
from pangaea.study.study import RELU, RERANK_RUNS, RERANKED, Study


def headline(study: Study) -> dict[str, Any]:
    """The function that was found, a sentence on how good it is, and the facts beside it."""
    rows = finished(study)
    found = best(study, TESTED)
    chosen = found[0] if found else None
    return {
        "function": formula(chosen["function"]) if chosen else None,
        "sentence": _sentence(study, rows, chosen),
        "state": state(study),
        "facts": dict(_facts(study, rows, chosen)),
        "tested": judged(study),
    }


def _sentence(study: Study, rows: list[Row], chosen: Row | None) -> str:
    if not rows:
        return "No candidate has its result yet."
    if not any(row["fitness"] for row in rows):
        why = ", ".join(f"{count} × {reason}" for reason, count in study.failures().items())
        return f"None of the {len(rows)} candidates could be trained: {why}."
    if chosen is None:
        return "The functions in this file are not written as this version of pangaea writes them."
    by_function = {row["function"]: row for row in judged(study)}
    own, relu = by_function.get(chosen["function"]), by_function.get(RELU)
    if own and relu:
        return (
            f"{_spread(own)} on test data: {_away(own['mean'] - relu['mean'])} ReLU's "
            f"{_spread(relu)} (n = {own['n']} and {relu['n']}{_p(own)})."
        )
    level = "" if study.relu is None else f", {_away(chosen['fitness'] - study.relu)} ReLU"
    return (
        f"{chosen['fitness']:.2f} % on validation data in one run of the search recipe{level}. "
        "It has not been tested yet."
    )


def _spread(row: Row) -> str:
    return f"{row['mean']:.2f}" + ("" if row["sd"] is None else f" ± {row['sd']:.2f}") + " %"


def _away(points: float) -> str:
    return f"{abs(points):.2f} points {'above' if points >= 0 else 'below'}"


def _p(row: Row) -> str:
    return "" if row["p"] is None else f", p = {probability(row['p'])}"


def probability(p: float) -> str:
    """With the paper's stars: `0.012 *`, `1.6·10⁻⁸ ***`."""
    digits, _, exponent = f"{p:.2g}".partition("e")
    power = "·10" + str(int(exponent)).translate(_SUPERSCRIPT) if exponent else ""
    return f"{digits}{power} {stars(p)}".rstrip()


_SUPERSCRIPT = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def state(study: Study) -> str:
    """How far the study is."""
    settings, results = study.settings, len(finished(study))
    if results < settings.candidates:
        return f"{results} of {settings.candidates} candidates"
    functions = best(study, RERANKED)
    again = RERANK_RUNS * len(functions) if settings.rerank else 0
    tests = settings.runs * len({RELU, *(row["function"] for row in functions[:TESTED])})
    for name, wanted in (("rerank", again), ("test", tests if functions else 0)):
        done = len(study.runs(name))
        if done < wanted:
            return f"{name}: {done} of {wanted} runs"
    return "finished"


def _facts(study: Study, rows: list[Row], chosen: Row | None) -> Iterable[tuple[str, str]]:
    settings = study.settings
    yield "task", settings.task
    yield "strategy", f"{settings.strategy}, per {settings.scope or 'channel'}"
    yield "candidates", f"{len(rows)} of {settings.candidates}"
    if rows:
        yield "failed", f"{sum(row['failure'] is not None for row in rows) / len(rows):.0%}"
    runs = every_run(study)
    if runs:
        yield "compute", duration(sum(run["seconds"] for run in runs))
        begun = [run["started"] for run in runs if run["started"] is not None]
        if begun:
            yield "wall clock", duration(max(run["finished"] for run in runs) - min(begun))
        yield "last result", _moment(max(run["finished"] for run in runs))
    if chosen and (times := cost(study, chosen)) is not None:
        yield "cost of the function", f"{times:.2f} × ReLU"


def duration(seconds: float) -> str:
    if seconds < 120:
        return f"{seconds:.0f} s"
    if seconds < 7200:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.1f} h"


def _moment(seconds: float) -> str:
    return datetime.fromtimestamp(seconds).strftime("%Y-%m-%d %H:%M:%S")


def judged(study: Study) -> list[Row]:
    """ReLU and the best functions on test data, with p against ReLU."""
    runs = study.accuracies("test")
    relu = runs.get(RELU, [])
    failed = [run["function"] for run in study.runs("test") if run["failure"] is not None]
    rows = []
    for text, values in runs.items():
        p = None if text == RELU else welch(values, relu)
        rows.append(
            {
                "function": text,
                "readable": "ReLU" if text == RELU else formula(text),
                "mean": fmean(values),
                "sd": stdev(values) if len(values) > 1 else None,
                "n": len(values),
                "failures": failed.count(text),
                "p": p,
                "stars": stars(p),
                "p_shown": "" if p is None else probability(p),
            }
        )
    return rows


def reproduce(study: Study) -> dict[str, Any]:
    """What somebody needs to run the same search again."""
    return {
        "command": command(study),
        "settings": study.settings.as_dict(),
        "recipes": study.recipes,
        "versions": study.versions,
        "created": _moment(study.created),
    }


def command(study: Study) -> str:
    words = ["pangaea", "search"]
    for name, value in study.settings.as_dict().items():
        if name == "rerank":
            words += [] if value else ["--no-rerank"]
        elif value is not None:
            words += [f"--{name}", str(value)]
    return shlex.join(words)

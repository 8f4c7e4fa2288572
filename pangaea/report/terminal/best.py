"""What a study found: its best functions as a table, what the table says, and what to do next."""

import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path

from pangaea.functions.parser import parse
from pangaea.report import findings, sources, texts
from pangaea.report.front import front, longest, meaning, shown
from pangaea.report.measures import bare, legend, probability, spread, stars, welch
from pangaea.report.records import Row, Snapshot
from pangaea.report.terminal.columns import Functions, Line
from pangaea.study.stages import TESTED
from pangaea.tasks.goal import Goal
from pangaea.wording import counted
from pangaea.workers.judge import OUTSIDE


def table(study: Snapshot, count: int = TESTED) -> Functions:
    """The baseline and the best functions; of a study of general functions, those."""
    if study.general:
        return general_table(findings.general(study), study.goals)
    goal, columns = study.goal, [*findings.columns(study), "p", "cost"]
    lines, bold = [], columns.index("test")
    for row in findings.rows(study, count):
        cells = {
            "search": bare(goal, row["score"]),
            "again": findings.again(study, row),
            "full": bare(goal, row["validation"]),
            "test": spread(goal, row["test"] or []),
            "p": probability(row["p"]),
            "cost": shown(row["cost"]),
        }
        number = f"#{row['number']}" if row["number"] else ""
        lines.append(Line(row["readable"], [cells[name] for name in columns], number, bold=bold))
    return Functions(columns, lines)


def front_table(study: Snapshot) -> Functions | None:
    """The best function at every cost; None as long as none is better than the baseline."""
    rows = [] if study.general or study.paper else front(study)
    longer = any(row["longer"] is not None for row in rows)
    lines = [
        Line(
            row["readable"],
            [
                shown(row["cost"]),
                bare(study.goal, row["score"]),
                *([longest(study.goal, row)] if longer else []),
            ],
            f"#{row['number']}" if row["number"] else "",
        )
        for row in rows
    ]
    return Functions(["cost", "search", *(["longer"] * longer)], lines) if lines else None


def general_table(rows: Sequence[Row], goals: Mapping[str, Goal]) -> Functions:
    """Functions by their scores on several tasks; `goals` say how these are printed."""
    tasks = list(dict.fromkeys(task for row in rows for task in row["scores"]))
    lines = [
        Line(
            texts.scoped(row["function"], row["scope"]),
            [*(bare(goals.get(task), row["scores"].get(task)) for task in tasks), _mark(row)],
            bold=len(tasks) if row.get("general") else None,
        )
        for row in rows
    ]
    return Functions([*map(texts.inert, tasks), ""], lines)


def tested_table(rows: Sequence[Row], goals: Mapping[str, Goal]) -> Functions:
    """The general functions by their test scores, the baselines' above them."""
    tested = [row for row in rows if row["test"]]
    reference = tested[0]["reference"]
    lines = [Line("baseline", [spread(goals[task], reference[task]) for task in goals])]
    for row in tested:
        cells = []
        for task, goal in goals.items():
            scores = row["test"][task]
            p = welch(goal, scores, reference[task])
            cells.append(f"{spread(goal, scores)} {stars(p)}".rstrip())
        lines.append(Line(texts.scoped(row["function"], row["scope"]), cells))
    return Functions([*map(texts.inert, goals)], lines)


def _mark(row: Row) -> str:
    """Whether it is a general one, and why not; in a study's file that is not known."""
    if "general" in row:
        return "general" if row["general"] else str(row["discarded"])
    return f"{row['failures']} of {row['runs']} failed" if row["failures"] else ""


def footer(study: Snapshot) -> str:
    """What the columns say, and where the study stands; a line each, to be wrapped at words."""
    lines = []
    if not study.general and study.best(1):
        held = {"search", "again"} | ({"full"} if study.validations() else set())
        held |= {"test"} if findings.tested(study) else set()
        lines = [
            f"{name}: {what}" for name, what in findings.columns(study).items() if name in held
        ]
        lines.append(meaning(study))
        if "test" in held:
            lines.append(legend(texts.name(study.baseline)))
    return "\n".join(["", *lines, findings.progress(study)])


def export_hint(study: Snapshot) -> str:
    """How to take the best function elsewhere; nothing as long as there is none."""
    best = study.best(1)
    if not best:
        return ""
    hint = f"take it away: {sources.command(best[0]['function'])}, or jax, keras, …"
    trained = sources.trained_command(study, best[0])
    return (
        f"{hint}\nas it was trained: {trained}, in its first layer: --layer 1" if trained else hint
    )


def advice(study: Snapshot, page: Path) -> str:
    """What to do next, as commands that can be pasted; the page is the study's report."""
    best = study.best(1)
    where = texts.inert(shlex.quote(str(study.path)))
    if not best and not study.trials:
        return "\nno candidate was tried: there was no time for one"
    if not best:
        return f"\nno candidate could be trained; why: pangaea report {where} --format csv"
    shorter = str(parse(best[0]["function"]).simplified())
    settings = study.settings
    failed = sum(n for reason, n in study.failed_later.items() if reason in OUTSIDE)
    again = f"  # {counted(failed, 'run')} failed" if failed else ""
    more = f"--candidates {2 * settings.candidates}"
    if settings.minutes is not None:  # without more of them there may be no time to try again
        more = f"--minutes {2 * settings.minutes:g}{again}"
    steps = {
        "use it": f'pangaea.Activation("{shorter}")',
        "look at it": f"pangaea show {where} {best[0]['number']}",
        "take it away": sources.command(best[0]["function"]),
        "as trained": sources.trained_command(study, best[0]),
        "see it all": texts.inert(str(page)),
        "more": f"pangaea top {where}",
        "try again": f"pangaea resume {where}{again}" if again and not settings.minutes else "",
        "search on": f"pangaea resume {where} {more}",
    }
    return "".join(f"\n{what:<12} {how}" for what, how in steps.items() if how)

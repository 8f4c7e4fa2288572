"""The page of a report and of the dashboard: one HTML document that needs nothing else."""

import base64
import hashlib
import html
import json
import re
from collections.abc import Callable, Sequence
from functools import cache
from importlib.resources import files
from typing import Any

from pangaea.errors import PangaeaError
from pangaea.report import texts
from pangaea.report.figures import part as figures_of
from pangaea.report.figures import theme
from pangaea.report.figures.theme import Spec, rounded
from pangaea.report.findings import again, columns, judged_table, reproduce
from pangaea.report.headline import headline
from pangaea.report.measures import mean_or_none, spread
from pangaea.report.records import Row, Snapshot, alike, names
from pangaea.report.sources import sources, trained
from pangaea.study.stages import BEST

_PARTS = ("progress", "functions", "search")
_DETAIL = 200  # letters of a failure's detail
_MANY = 10_000  # candidates, which take 8 s to simplify: as long as the rest of their page


def document(studies: Sequence[Snapshot], *, live: bool = False) -> str:
    """The whole page; a live one carries the first study and asks for the others."""
    shown = studies[:1] if live else studies
    data = {
        "studies": names(studies),
        "reports": [report(study, studies) for study in shown],
        "live": live,
        "light": theme.template(),
        "dark": theme.template(dark=True),
    }
    about = headline(studies[0])
    title = about["function"] or studies[0].name
    plain = html.escape(f"{title}: {about['sentence']}")
    return filled("page.html", title, script(), data, plain=plain)


def filled(body: str, title: str, script: str, data: Any, **more: str) -> str:
    """One HTML document that needs nothing else: this body with a script and what it shows."""
    parts = more | {
        "title": html.escape(f"{title} · pangaea"),
        "style": part("page.css"),
        "plotly": part("plotly-basic.min.js"),
        "script": script,
        "data": embedded(data),
        "policy": html.escape(policy(script)),
    }
    return re.sub(r"\{\{(\w+)\}\}", lambda match: parts[match[1]], part("head.html") + part(body))


def report(study: Snapshot, together: Sequence[Snapshot], since: int = 0) -> dict[str, Any]:
    """What the page shows of a study; of its candidates those with a later result than `since`."""
    goal = study.goal
    return {
        "path": texts.inert(str(study.path)),
        "tag": tag(together),
        "headline": headline(study),
        "judged": judged_table(study),
        "goal": {
            "suffix": goal.suffix,
            "digits": goal.digits,
            "limits": goal.limits,
            "maximised": goal.maximised,
        },
        "baseline": {"name": texts.name(study.baseline), "score": study.baseline_score},
        "columns": columns(study),
        "full": {
            text: [goal.oriented(mean), spread(goal, scores)]
            for text, scores in study.validations().items()
            if (mean := mean_or_none(goal, scores)) is not None
        },
        "again": {
            row["function"]: [-place, again(study, row)]
            for place, row in enumerate(study.best(study.settings.contenders))
            if row["reranked_budget"] is not None
        },
        "figures": {name: _figures(name, study, together) for name in _PARTS},
        "details": [_details(study, row) for row in study.best(BEST)],
        "rows": _rows(study, since),
        "reproduce": reproduce(study),
    }


def tag(studies: Sequence[Snapshot]) -> str:
    """Another one as soon as any of the studies has something new to show."""
    return ",".join(study.tag for study in studies)


def _figures(
    part: str, study: Snapshot, together: Sequence[Snapshot], row: Row | None = None
) -> list[Spec]:
    """The figures of a part of the page; with a row, of that candidate."""
    specs: list[Spec] = []
    for figure, on in figures_of(part):
        if figure.takes == "studies":
            drawn = figure.make(*alike(together, study))
        elif row is None:
            drawn = figure.make(study)
        elif figure.takes == "function":
            drawn = figure.make(row["function"])
        else:
            drawn = figure.make(study, row["number"])
        for spec in [drawn] if isinstance(drawn, dict) else drawn:
            spec["layout"]["meta"]["span"] = on.span
            specs.append(spec)
    return specs


def _details(study: Snapshot, row: Row) -> dict[str, Any]:
    return {
        "number": row["number"],
        "label": f"{texts.short(row['function'])} ({study.goal.shown(row['score'])})",
        "text": row["function"],
        "copies": sources(row["function"]),
        "trained": trained(study, row["function"]),
        "figures": _figures("details", study, [study], row),
    }


def _rows(study: Snapshot, since: int) -> list[list[Any]]:
    """The candidates with a later result; beyond so many, only the best are simplified."""
    best = {row["number"] for row in study.best(BEST)}
    few = len(study.finished) <= _MANY
    return [
        _row(row, texts.short if few or row["number"] in best else texts.formula)
        for row in study.finished
        if row["position"] > since
    ]


def _row(row: Row, written: Callable[[str], str]) -> list[Any]:
    """In the order in which the page's script reads it."""
    text = row["function"]
    return [
        row["number"],
        text,
        written(text),
        None if row["score"] is None else rounded(row["score"]),
        round(row["seconds"], 2),
        row["parent"],
        row["mutation"],
        row["failure"],
        row["detail"] and row["detail"][:_DETAIL],
        texts.latex(text),
        row["runs"],
    ]


def embedded(data: Any) -> str:
    """JSON that no text in it can break out of: an HTML parser finds no tag and no comment."""
    text = finite_json(data)
    return text.replace("&", r"\u0026").replace("<", r"\u003c").replace(">", r"\u003e")


def finite_json(data: Any) -> str:
    try:
        return json.dumps(data, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    except ValueError:
        raise PangaeaError(
            "a study holds numbers that are not finite: it is damaged, or pangaea did not write it"
        ) from None


@cache
def policy(script: str) -> str:
    """Only Plotly and this script may run, and nothing may be fetched from another host."""
    scripts = " ".join(map(_hash, (part("plotly-basic.min.js"), script)))
    return (
        f"default-src 'none'; script-src {scripts}; style-src 'unsafe-inline'; "
        "img-src data: blob:; connect-src 'self'; base-uri 'none'; form-action 'none'"
    )


def _hash(script: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()}'"


@cache
def script() -> str:
    return "\n".join(part(name) for name in ("figures.js", "table.js", "page.js"))


@cache
def part(name: str) -> str:
    return files("pangaea.report.page").joinpath(name).read_text(encoding="utf-8")

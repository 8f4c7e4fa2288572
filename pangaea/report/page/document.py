"""The page of a report and of the dashboard: one HTML document that needs nothing else."""

import base64
import hashlib
import html
import json
import re
from collections.abc import Sequence
from functools import cache
from importlib.resources import files
from statistics import fmean
from typing import Any

from pangaea.errors import PangaeaError
from pangaea.report.figures import theme
from pangaea.report.figures.cost import cost
from pangaea.report.figures.functions import adaptation, curves, gallery
from pangaea.report.figures.population import failures, operators, timeline
from pangaea.report.figures.search import average, compute, progress
from pangaea.report.figures.theme import Spec
from pangaea.report.figures.trees import graph, lineage
from pangaea.report.records import Row, Still, best, finished, formula, latex, names
from pangaea.report.summary import headline, reproduce
from pangaea.study.study import RERANKED

_SHAPES = 6  # functions in the gallery
_DETAIL = 200  # letters of a failure's detail


def document(studies: Sequence[Still], *, live: bool = False) -> str:
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
    found = about["function"] or studies[0].path.name
    parts = {
        "title": html.escape(f"{found} · pangaea"),
        "plain": html.escape(f"{found}: {about['sentence']}"),
        "style": part("page.css"),
        "plotly": part("plotly-basic.min.js"),
        "script": script(),
        "data": embedded(data),
        "policy": html.escape(policy()),
    }
    return re.sub(r"\{\{(\w+)\}\}", lambda found: parts[found[1]], part("page.html"))


def report(study: Still, together: Sequence[Still], since: int = 0) -> dict[str, Any]:
    """What the page shows of a study; of its candidates those with a later result than `since`."""
    top = best(study, RERANKED)
    return {
        "path": str(study.path),
        "tag": tag(together),
        "headline": headline(study),
        "relu": study.relu,
        "reranked": {text: fmean(runs) for text, runs in study.accuracies("rerank").items()},
        "figures": {
            "progress": [
                progress(*together),
                _half(compute(*together)),
                _half(average(*together)),
                cost(*together),
            ],
            "functions": [
                *(_third(shape) for shape in gallery(study, _SHAPES)),
                curves(study),
            ],
            "search": [operators(study), _half(failures(study)), _half(timeline(study))],
        },
        "details": [_details(study, row) for row in top],
        "rows": [_row(row) for row in finished(study) if since < row["position"] <= study.last],
        "reproduce": reproduce(study),
    }


def tag(studies: Sequence[Still]) -> str:
    """Another one as soon as any of the studies has something new to show."""
    return ",".join(study.tag for study in studies)


def _details(study: Still, row: Row) -> dict[str, Any]:
    return {
        "number": row["number"],
        "label": f"{formula(row['function'])} ({row['fitness']:.2f} %)",
        "figures": [
            *(_half(spec) for spec in adaptation(study, row["number"])),
            _half(graph(row["function"])),
            _half(curves(study, [row["number"]])),
            lineage(study, row["number"]),
        ],
    }


def _half(spec: Spec) -> Spec:
    spec["layout"]["meta"]["span"] = "half"
    return spec


def _third(spec: Spec) -> Spec:
    spec["layout"]["meta"]["span"] = "third"
    return spec


def _row(row: Row) -> list[Any]:
    """In the order in which the page's script reads it."""
    text = row["function"]
    return [
        row["number"],
        text,
        formula(text),
        round(row["fitness"], 3),
        round(row["seconds"], 2),
        row["parent"],
        row["mutation"],
        row["failure"],
        row["detail"] and row["detail"][:_DETAIL],
        latex(text),
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
def policy() -> str:
    """Only the page's own two scripts may run, and nothing may be fetched from another host."""
    scripts = " ".join(map(_hash, (part("plotly-basic.min.js"), script())))
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

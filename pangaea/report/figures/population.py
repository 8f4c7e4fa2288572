"""What the population was made of, what failed, and what the workers did."""

import re
from collections import Counter, deque
from collections.abc import Sequence
from itertools import cycle

from pangaea.report.figures import On, figure, theme
from pangaea.report.figures.theme import (
    BLUE,
    GREEN,
    GREY,
    ORANGE,
    PALETTE,
    PURPLE,
    SKY,
    VERMILION,
    Spec,
    shown,
)
from pangaea.report.measures import time_unit
from pangaea.report.records import Row, Snapshot
from pangaea.study.stages import PROPOSED, STAGES
from pangaea.wording import counted

_OPERATOR = re.compile(r"(\w+)\(")  # in canonical text, whatever stands before a parenthesis
_SAMPLES = 150
_COLOURS = dict(zip(STAGES, cycle((GREY, BLUE, SKY, ORANGE, GREEN, PURPLE)), strict=False))
_FAILED = "failed"
_APART = 1000  # pauses that take up less of a timeline than one part in so many are not drawn


@figure(On("search", 1))
def operators(study: Snapshot) -> Spec:
    """Each operator's share of the population's nodes, over time."""
    title = "Operators in the population"
    passed = [row["function"] for row in study.finished if study.passes(row)]
    counts = _counts(passed, study.population)
    if not counts:
        return theme.nothing(title, "No candidate has passed the threshold yet.")
    total: Counter[str] = sum((count for _, count in counts), Counter())
    names = [name for name, _ in total.most_common(len(PALETTE))]
    rest = {"others": [n for n in total if n not in names]} if len(total) > len(names) else {}
    data = []
    for i, (name, members) in enumerate([*((n, [n]) for n in names), *rest.items()]):
        shares = [100 * sum(c[m] for m in members) / c.total() for _, c in counts]
        data.append(
            {
                "type": "scatter",
                "name": shown(name),
                "x": [after for after, _ in counts],
                "y": [round(share, 2) for share in shares],
                "mode": "lines",
                "stackgroup": "one",
                "line": {"width": 0.5, "color": PALETTE[i] if i < len(PALETTE) else GREY},
                "hovertemplate": "%{y:.1f} %",
            }
        )
    return theme.figure(
        title,
        f"Of all nodes in the last {study.population} functions that passed the threshold.",
        data,
        x="functions that passed the threshold",
        y="share of nodes (%)",
        yaxis={"range": [0, 100]},
        hovermode="x unified",
        showlegend=True,
    )


def _counts(functions: Sequence[str], population: int) -> list[tuple[int, Counter[str]]]:
    """The operators in the last P functions, at some 150 moments of the search."""
    stride = 1 + len(functions) // _SAMPLES
    window: deque[Counter[str]] = deque()
    now: Counter[str] = Counter()
    moments = []
    for after, text in enumerate(functions, 1):
        window.append(Counter(_OPERATOR.findall(text)))
        now.update(window[-1])
        if len(window) > population:
            now.subtract(window.popleft())
        if now.total() and (after % stride == 0 or after == len(functions)):
            moments.append((after, +now))
    return moments


@figure(On("search", 2, "half"))
def failures(study: Snapshot) -> Spec:
    """How many runs of the search failed, by reason."""
    title = "Failures"
    runs = [run for stage in PROPOSED for run in study.runs(stage)]
    if not study.failures:
        return theme.nothing(title, "No run has failed." if runs else "No results yet.")
    reasons = list(reversed(study.failures.items()))
    example = {run["failure"]: run["detail"] or "" for run in reversed(runs)}
    return theme.figure(
        title,
        f"{sum(study.failures.values())} of {len(runs)} runs of the search gave no score, for "
        "these reasons.",
        [
            {
                "type": "bar",
                "orientation": "h",
                "y": [shown(reason, 30) for reason, _ in reasons],
                "x": [count for _, count in reasons],
                "text": [f"{count} ({count / len(runs):.0%})" for _, count in reasons],
                "customdata": [shown(example.get(reason, ""), 120) for reason, _ in reasons],
                "textposition": "auto",
                "marker": {"color": VERMILION},
                "hovertemplate": "such as: %{customdata}<extra></extra>",
            }
        ],
        x="runs",
        height=100 + 40 * len(reasons),
        showlegend=False,
    )


@figure(On("search", 3, "half"))
def timeline(study: Snapshot) -> Spec:
    """Who trained what when: a row for each worker, a bar for each job."""
    title = "Workers"
    runs = [run for run in study.runs() if run["started"] is not None]
    if not runs:
        return theme.nothing(title, "No worker has finished a job yet.")
    begin = min(run["started"] for run in runs)
    span = max(run["finished"] for run in runs) - begin
    unit, size = time_unit(span)
    workers = list(dict.fromkeys(_worker(run) for run in sorted(runs, key=lambda r: r["started"])))
    data = []
    for name, colour in {**_COLOURS, _FAILED: VERMILION}.items():
        some = [r for r in runs if name == (_FAILED if r["failure"] else r["stage"])]
        spans = _merged(some, span / _APART)
        if spans:
            data.append(_spans(name, spans, begin, size, {"color": colour, "width": 12}))
    return theme.figure(
        title,
        f"When each of {len(workers)} workers was training: a gap is time that it waited.",
        data,
        x=f"elapsed ({unit})",
        height=170 + 30 * len(workers),
        yaxis={
            "type": "category",
            "categoryorder": "array",
            "categoryarray": workers[::-1],
            "range": [-0.7, len(workers) - 0.3],
        },
        showlegend=True,
    )


def _worker(run: Row) -> str:
    return shown(run["worker"] or "unknown", 30)


def _merged(runs: Sequence[Row], pause: float) -> list[tuple[str, float, float, int]]:
    """Worker, start, end and number of runs; those that follow at once are drawn as one."""
    lines: dict[str, list[tuple[str, float, float, int]]] = {}
    for run in sorted(runs, key=lambda run: (run["started"], run["finished"])):
        line = lines.setdefault(_worker(run), [])
        start, end, count = run["started"], run["finished"], 1
        if line and start - line[-1][2] < pause and end - line[-1][1] < 20 * pause:
            _, start, last, before = line.pop()
            end, count = max(last, end), before + 1
        line.append((_worker(run), start, end, count))
    return [span for line in lines.values() for span in line]


def _spans(
    name: str, spans: Sequence[tuple[str, float, float, int]], begin: float, size: float, line: Spec
) -> Spec:
    def split(values: Sequence[tuple[object, object]]) -> list[object]:
        return [part for first, second in values for part in (first, second, None)]

    times = [(round((s - begin) / size, 4), round((e - begin) / size, 4)) for _, s, e, _ in spans]
    return {
        "type": "scatter",
        "name": name,
        "x": split(times),
        "y": split([(worker, worker) for worker, *_ in spans]),
        "text": split([(counted(count, "run"),) * 2 for *_, count in spans]),
        "mode": "lines",
        "line": line,
        "connectgaps": False,
        "hovertemplate": "%{y}: %{text}<extra>" + name + "</extra>",
    }

"""Known functions: shape, formula, where each one won, what it costs."""

import html
import json
from collections.abc import Iterable
from functools import cache

from pages import ROOT, drawing
from pangaea.functions.catalog import resolve
from pangaea.functions.paper import FIGURES, Printed
from pangaea.functions.parser import parse
from pangaea.report.figures.functions import shape
from pangaea.tasks.goal import Goal

RESULTS = ROOT / "results"

# Groups of the paper's tables and what they are called here, in this order.
GROUPS = {
    "specialized-wrn-10-4": "Found for WRN-10-4",
    "specialized-resnet-v1-56": "Found for ResNet-v1-56",
    "specialized-resnet-v2-56": "Found for ResNet-v2-56",
    "general": "Good on all three",
    "pangaea": "Found for All-CNN-C",
    "fixed-baseline": "Fixed baselines",
    "parametric-baseline": "Parametric baselines",
    "learnable-baseline": "Learnable baselines",
    "parameterized": "Baselines with parameters put in",
    "per-layer-pangaea": "Found with parameters per layer",
    "per-channel-pangaea-run-1": "Found with parameters per channel, two searches more",
    "per-channel-pangaea-run-2": "Found with parameters per channel, two searches more",
    "per-neuron-pangaea": "Found with parameters per neuron",
    "random-search": "Found by random search",
    "nonparametric-evolution": "Found without parameters",
    "random-sample": "Sampled at random",
    "wrn-10-4": "With their parameters taken away",
    "resnet-v1-56": "With their parameters taken away",
}
_INTRO = """# Gallery

Every function that the paper's tables print, and what our own searches found: the function (blue)
and its derivative (orange) from −5 to 5, with the parameters at the values that they start with,
its formula, where it is better than ReLU, and what it costs. `pangaea show NAME` says more about
one, `pangaea export NAME --to jax` takes it away, and `pg.Activation("NAME")` trains with it; what
our own searches found has no name, and its formula does the same.

A network's name stands before the test accuracy that the paper prints, and the points over ReLU's:
means of ten runs, \\* p ≤ 0.05, \\*\\* p ≤ 0.01, \\*\\*\\* p ≤ 0.001 in its own test; CIFAR-10 for
All-CNN-C, CIFAR-100 elsewhere. *Here* is what our own runs measured (`results/`). *Cost* is the
time of the function's kernel forwards and back, in float32 and bfloat16 on an H200
([what each function costs](costs.md)).
"""


def page() -> str:
    parts = [_INTRO, "## Found here", _searches()]
    for title in dict.fromkeys(GROUPS.values()):
        names = [name for name, group in _first_group().items() if GROUPS.get(group) == title]
        parts += [f"## {title}", _cards(_card(name, _won(name)) for name in names)]
    return "\n\n".join(parts) + "\n"


@cache
def _first_group() -> dict[str, str]:
    """The group in which the paper prints a function first."""
    groups: dict[str, str] = {}
    for figure in FIGURES:
        groups.setdefault(figure.name, figure.group)
    return groups


def _cards(cards: Iterable[str]) -> str:
    return '<div class="gallery">\n' + "\n".join(cards) + "\n</div>"


def _card(name: str, facts: Iterable[str], function: str | None = None) -> str:
    """One function on a line of HTML, so that nothing in it is read as Markdown."""
    form = resolve(function or name)
    formula = form.readable()
    picture = drawing.small(shape(function or name), html.escape(formula, quote=True))
    lines = "".join(f"<li>{fact}</li>" for fact in facts)
    title = f"<code>{html.escape(name)}</code>"
    return (
        f'<article id="{html.escape(name.replace(" ", "-"))}">{picture}<p>{title}</p>'
        f'<p class="formula">{html.escape(formula)}</p><ul>{lines}</ul></article>'
    )


def _won(name: str) -> list[str]:
    """Where it is better than ReLU in the paper, what our runs say, and its cost."""
    better = [text for figure in _judged(name) if (text := _gain(figure))]
    if not better and name != "relu":
        better = ["nowhere better than ReLU in the paper"]
    return [*better, *_here(name), *_cost(name)]


def _judged(name: str) -> list[Printed]:
    """Its accuracies, one for each network: the paper prints some of them again."""
    rows = [figure for figure in FIGURES if figure.name == name and figure.mean is not None]
    return list({(row.network, row.dataset): row for row in reversed(rows)}.values())[::-1]


def _gain(figure: Printed) -> str | None:
    reference = next(
        (
            row.mean
            for row in FIGURES
            if (row.name, row.network, row.dataset) == ("relu", figure.network, figure.dataset)
            and row.mean is not None
        ),
        None,
    )
    if reference is None or figure.mean is None or figure.mean <= reference:
        return None
    stars = "*" * (figure.stars or 0)
    return f"{figure.network}: {figure.mean:.2f}, +{figure.mean - reference:.2f} {stars}".rstrip()


def _here(name: str) -> list[str]:
    """What our own files of results say of it."""
    function = str(resolve(name))
    facts = []
    for path in sorted(RESULTS.glob("*.json")):
        data = json.loads(path.read_text(encoding="utf-8"))
        judged = data.get("functions") if isinstance(data, dict) else None
        for row in judged if isinstance(judged, list) else ():
            full = isinstance(row, dict) and row.get("n", 0) >= 3 and row.get("mean") is not None
            if full and row.get("function") == function:
                goal = Goal(**data.get("goal", {"name": "accuracy", "digits": 2}))
                spread = f"{goal.shown_mean(row['mean'], row['sd'])} (n = {row['n']})"
                facts.append(f"here, {data['task']}: {spread}")
    return facts


def _cost(name: str) -> list[str]:
    ratios = _ratios().get(name)
    return [f"cost: {' and '.join(f'{ratio:.2f}' for ratio in ratios)} × SiLU"] if ratios else []


@cache
def _ratios() -> dict[str, list[float]]:
    """By name: the cost in float32 and in bfloat16."""
    ratios: dict[str, list[float]] = {}
    for dtype in ("float32", "bfloat16"):
        text = (RESULTS / f"activation-{dtype}.json").read_text(encoding="utf-8")
        for row in json.loads(text)["dtypes"][dtype]["rows"]:
            ratios.setdefault(row["function"], []).append(row["ratio"])
    return ratios


def _searches() -> str:
    """What searches on the default task found."""
    data = json.loads((RESULTS / "search-mnist1d.json").read_text(encoding="utf-8"))
    cards = []
    for study in data["studies"]:
        baseline, first = study["headline"]["tested"][:2]
        facts = [
            f"mnist1d: {first['shown']}, ReLU {baseline['shown']} (n = {first['n']})",
            f"<code>pangaea search --seed {study['settings']['seed']}</code>",
        ]
        simplified = str(parse(first["function"]).simplified())
        cards.append(_card(f"seed {study['settings']['seed']}", facts, simplified))
    return _cards(cards)

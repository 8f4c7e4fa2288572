"""The paper's tables with what was measured here, as plain text, Markdown and LaTeX."""

import re
import shlex
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from pangaea.errors import PangaeaError, UnknownNameError
from pangaea.functions.catalog import spelled
from pangaea.functions.learnable import LEARNABLE
from pangaea.paper.contents import Cell, experiment, experiments
from pangaea.paper.scales import Scale
from pangaea.paper.scales import scale as sized
from pangaea.paper.standing import Standing, found_here, standings
from pangaea.report import texts
from pangaea.report.measures import legend, spread, stars, welch

HEAD = ("function", "task", "here", "n", "paper", "n", "difference", "recipe")
_APART = "‡"


class Shown(NamedTuple):
    """A table as texts."""

    caption: str
    groups: dict[str, list[list[str]]]  # rows by the group they stand in
    notes: list[str]
    missing: list[str]  # which cells have no run, or not all that they shall have

    @property
    def below(self) -> list[str]:
        return [*self.notes, *self.missing]


def table(
    name: str,
    runs: Iterable[Mapping[str, Any]],
    scale: Scale | None = None,
    *,
    every: bool = False,
    brief: bool = False,
) -> Shown:
    """An experiment's cells with runs, or `every` cell; below, what is missing, or how many."""
    row, runs = experiment(name), [*runs]
    rows = standings(row, runs, scale)
    groups: dict[str, list[list[str]]] = {}
    compared = row.kind != "figure" and any(cell.printed for cell in row.cells)
    for one in [*rows, *(found_here(row, runs) if compared else [])]:
        if one.scores or one.failures or every:
            groups.setdefault(one.cell.group, []).append(_texts(one))
    return Shown(row.caption, groups, _notes(rows), missing(row.name, rows, scale, brief=brief))


def function(cell: Cell) -> str:
    """A cell's function as people write it, with its scope where that is not the usual one."""
    usual = {"apl": "neuron", "pau": "layer", "splash": "layer"}
    if not cell.name:  # no function of the paper's
        return texts.short(cell.function)
    several = cell.function in LEARNABLE and cell.function not in usual
    plain = not several and cell.scope in (None, usual.get(cell.function, "channel"))
    return texts.inert(spelled(cell.function)) + ("" if plain else f" per {cell.scope}")


def _texts(one: Standing) -> list[str]:
    printed, goal = one.cell.printed, one.goal
    failed = f" ({one.failures} failed)" if one.failures else ""
    here = f"{spread(goal, one.scores)} {stars(_compared(one))}".strip() + failed
    known = printed is not None and printed.mean is not None
    paper = goal.shown_mean(printed.mean, printed.sd) if known else ""  # type: ignore[union-attr,arg-type]
    paper += f" {'*' * printed.stars}" if printed is not None and printed.stars else ""
    beside = f" ({printed.failed} failed)" if printed is not None and printed.failed else ""
    return [
        function(one.cell),
        texts.inert(one.cell.task),
        here.strip() or "–",
        str(len(one.scores)),
        paper + beside,
        str(printed.n) if known and printed is not None else "",
        _difference(one),
        one.recipe,
    ]


def _compared(one: Standing) -> float | None:
    """p of a Welch test against the baseline trained alike, if there are runs enough of both."""
    return None if one.baseline else welch(one.goal, one.scores, one.reference)


def _difference(one: Standing) -> str:
    if one.difference is None:
        return ""
    signed = f"{one.difference:+.{one.goal.digits}f}".replace("-", "−")
    error = "" if one.error is None else f" ± {one.goal.bare(one.error)}"
    return signed + error + (_APART if one.apart else "")


def _notes(rows: Sequence[Standing]) -> list[str]:
    with_runs = [one for one in rows if one.scores]
    if not with_runs:
        return []
    task = with_runs[0].task
    about = [f"{task.goal.label('test')}, mean ± sample sd."]
    if any(_compared(one) is not None for one in with_runs):
        about.append(f"{legend(spelled(task.baseline))}.")
    if any(one.difference is not None and one.error is not None for one in with_runs):
        about.append("The difference has its standard error; one run scatters as the paper's do.")
    notes = [" ".join(about)]
    if any(one.failures and not one.task.drops_failures for one in rows):
        (worth,) = task.goal.worths([None])
        notes.append(f"A run that failed counts as {task.goal.bare(worth)} in a mean.")
    if any(one.apart for one in with_runs):
        notes.append(f"{_APART} further from the paper's than two standard errors.")
    return notes


def missing(
    name: str, rows: Sequence[Standing], scale: Scale | None = None, *, brief: bool = False
) -> list[str]:
    """Which cells have no run yet, a shorter or smaller one alone, or fewer than they shall have.

    Of a scale's runs each is one of those that were asked for, however short.
    """
    without = [one for one in rows if one.kind is None]
    shorter = [one for one in rows if one.recipe and scale is None]
    wanted = {one: one.cell.runs if scale is None else scale.runs(one.cell) for one in rows}
    fewer = [one for one in rows if one not in shorter if 0 < one.runs < wanted[one]]
    count = f"{len(without)} of {len(rows)} cells of {name}"
    if brief:
        return [f"{count} have no run yet: pangaea paper show {name} names them."] * bool(without)
    return [
        *_listed(f"Missing are {count}.", without, lambda one: ""),
        *_listed(
            f"Trained shorter, or on fewer data, alone: {len(shorter)}.",
            shorter,
            lambda one: f" ({one.recipe})",
        ),
        *_listed(
            f"With fewer runs than they shall have: {len(fewer)}.",
            fewer,
            lambda one: f" ({one.runs} of {wanted[one]})",
        ),
    ]


def _listed(title: str, rows: Sequence[Standing], more: Callable[[Standing], str]) -> list[str]:
    """Their functions by their tasks, below a title; nothing without any."""
    names: dict[str, list[str]] = {}
    for one in rows:
        names.setdefault(one.cell.task, []).append(function(one.cell) + more(one))
    return [title] * bool(rows) + [f"{task}: {', '.join(each)}" for task, each in names.items()]


def every_table(
    runs: Sequence[Mapping[str, Any]],
) -> tuple[list[str], list[list[str]], list[str]]:
    """What there is of any table, as a head and rows, each with the table's name first; notes."""
    tables = {
        name: table(name, runs, brief=True)
        for name, row in experiments().items()
        if row.cells and (row.kind == "table" or name == "choices")
    }
    rows = [
        [name, *cells]
        for name, shown in tables.items()
        for group in shown.groups.values()
        for cells in group
    ]
    with_runs = [shown for shown in tables.values() if shown.groups]
    notes = [*dict.fromkeys(note for shown in with_runs for note in shown.notes)]
    notes = [note for note in notes if sum(other.startswith(note) for other in notes) == 1]
    return ["table", *HEAD], rows, [*notes, " ".join(m for s in with_runs for m in s.missing)]


def plain(shown: Shown) -> str:
    """In columns."""
    rows = [row for group in shown.groups.values() for row in group]
    used = [i for i in range(len(HEAD)) if any(row[i] for row in rows)]
    head = [HEAD[i] for i in used]
    widths = [
        max(len(r) for r in (h, *(row[i] for row in rows))) for i, h in zip(used, head, strict=True)
    ]

    def line(cells: Sequence[str]) -> str:
        return "  ".join(c.ljust(w) for c, w in zip(cells, widths, strict=True)).rstrip()

    parts = [shown.caption]
    if rows:
        parts += ["", line(head)]
    for group, members in shown.groups.items():
        parts += [f"— {texts.inert(group)}", *(line([row[i] for i in used]) for row in members)]
    return "\n".join([*parts, *(f"\n{note}" for note in shown.below)]) + "\n"


def markdown(shown: Shown, *, grouped: bool = False) -> str:
    """A table; `grouped` under the names of all groups, or of what was found here alone."""
    rows = [row for group in shown.groups.values() for row in group]
    used = [i for i in range(len(HEAD)) if any(row[i] for row in rows)]
    lines = [[HEAD[i] for i in used], ["---"] * len(used)]
    for group, members in shown.groups.items():
        if grouped or group.startswith("found"):
            lines.append([f"**{_unmarked(group)}**", *[""] * (len(used) - 1)])
        lines += [[_unmarked(row[i]) for i in used] for row in members]
    drawn = "\n".join(f"| {' | '.join(line)} |" for line in lines) if rows else ""
    return "\n\n".join(filter(None, (drawn, *map(_unmarked, shown.below)))) + "\n"


def _unmarked(text: str) -> str:
    """A text that Markdown leaves as it is."""
    return re.sub(r"([\\`*_{}\[\]<>#|~$&])", r"\\\1", text)


def latex(shown: Shown) -> str:
    rows = [row for group in shown.groups.values() for row in group]
    used = [i for i in range(len(HEAD)) if any(row[i] for row in rows)]
    parts = [f"% {shown.caption}", r"\begin{tabular}{" + "l" * len(used) + "}", r"\toprule"]
    parts += [" & ".join(rf"\textbf{{{HEAD[i]}}}" for i in used) + r" \\", r"\midrule"]
    for group, members in shown.groups.items():
        parts.append(rf"\multicolumn{{{len(used)}}}{{l}}{{\textbf{{{_tex(group)}}}}} \\")
        parts += [" & ".join(_tex(row[i]) for i in used) + r" \\" for row in members]
    parts += [r"\bottomrule", r"\end{tabular}"]
    notes = [rf"\par{{\footnotesize {_tex(note)}\par}}" for note in shown.notes]
    return "\n".join([*parts, *notes, *(f"% {note}" for note in shown.missing)]) + "\n"


_TEX = {
    **{c: f"\\{c}" for c in "&%#_{}$"},
    "±": r"$\pm$",
    "−": "$-$",
    "·": r"$\cdot$",
    "–": "--",
    _APART: r"$^\ddagger$",
    "α": r"$\alpha$",
    "β": r"$\beta$",
    "γ": r"$\gamma$",
    "σ": r"$\sigma$",
    "²": "$^2$",
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "|": r"$|$",
    "<": "$<$",
    ">": "$>$",
    "*": r"$*$",
}


def _tex(text: str) -> str:
    parts = re.split(r"\^(\d+)", text)  # every second one is an exponent
    shown = ["".join(_TEX.get(c, c) for c in part) for part in parts]
    return "".join(rf"$^{{{part}}}$" if i % 2 else part for i, part in enumerate(shown))


def _captioned(shown: Shown) -> str:
    return f"{_unmarked(shown.caption)}\n\n{markdown(shown, grouped=True)}"


FORMATS: dict[str, Callable[[Shown], str]] = {"text": plain, "md": _captioned, "latex": latex}


def written(kind: str, shown: Shown) -> str:
    if kind not in FORMATS:
        raise UnknownNameError("format", kind, FORMATS)
    return FORMATS[kind](shown)


_BLOCK = re.compile(r"(<!-- pangaea paper show (.*?) -->\n).*?(<!-- end -->)", re.DOTALL)


def filled(text: str, read: Callable[[str], Sequence[Mapping[str, Any]]]) -> str:
    """A Markdown text with every block made anew that says by which command it is made.

    `read` gives the runs of a file. A block begins with `<!-- pangaea paper show NAME --from FILE
    --scale SCALE -->` and ends with `<!-- end -->`.
    """

    def block(match: re.Match[str]) -> str:
        name, *words = shlex.split(match[2])
        options = dict(zip(words[::2], words[1::2], strict=False))
        if [*options] != ["--from", "--scale"] or name not in experiments():
            raise PangaeaError(
                "a block is made by `pangaea paper show NAME --from FILE --scale SCALE`, got "
                f"{match[2]!r}"
            )
        runs, size = read(options["--from"]), sized(options["--scale"])
        return match[1] + markdown(table(name, runs, size, brief=True)) + match[3]

    return _BLOCK.sub(block, text)

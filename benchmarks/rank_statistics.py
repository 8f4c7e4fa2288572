"""How settings rank functions: what `rank_audit.py --report` finds in its runs.

A failed run counts as chance, as in the paper's means. Intervals are bootstrap ones over functions.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata

Scores = NDArray[np.float64]  # functions by repeats; NaN for a run that was not made
CHANCE = 1.0  # percent, of a hundred classes
DRAWS = 4000
FEWEST = 8  # functions, below which no correlation is worth printing
BEST = {"all": None, "the best twelve": 12, "the best eight": 8}  # by whole trainings
CUT = (6, 15, 30, 35, 40, 45)  # epochs at which a longer run is looked at before its end


def spearman(a: Scores, b: Scores) -> Scores:
    """Correlation of ranks along the last axis; NaN where all are tied."""
    a, b = (rankdata(x, axis=-1) - (x.shape[-1] + 1) / 2 for x in (a, b))
    with np.errstate(invalid="ignore"):
        return (a * b).sum(-1) / np.sqrt((a * a).sum(-1) * (b * b).sum(-1))


def with_interval(pairs: Sequence[tuple[Scores, Scores]]) -> dict[str, Any]:
    """The mean Spearman of these pairs of columns, over the functions that all of them have."""
    have = ~np.isnan(np.stack([column for pair in pairs for column in pair])).any(0)
    count = int(have.sum())
    if count < FEWEST:
        return {"n": count}
    drawn = np.random.default_rng(0).integers(count, size=(DRAWS, count))
    values, boots = [], []
    for a, b in pairs:
        a, b = a[have], b[have]
        values.append(spearman(a, b))
        boots.append(spearman(a[drawn], b[drawn]))
    low, high = np.nanpercentile(np.mean(boots, axis=0), (2.5, 97.5))
    return {
        "spearman": round(float(np.mean(values)), 3),
        "interval": [round(float(low), 3), round(float(high), 3)],
        "n": count,
    }


def compared(a: Scores, b: Scores) -> dict[str, Any]:
    """Two settings: their means, single runs of both, and one run of the first with b's mean."""
    repeats = range(a.shape[1])
    return {
        "means": with_interval([(a.mean(1), b.mean(1))]),
        "single runs": with_interval([(a[:, i], b[:, j]) for i in repeats for j in repeats]),
        "one run with the mean": with_interval([(a[:, i], b.mean(1)) for i in repeats]),
    }


def repeated(a: Scores) -> dict[str, Any]:
    """A setting with itself: how far its first run foretells its second."""
    return {"single runs": with_interval([(a[:, 0], a[:, 1])])}


def spread(a: Scores, failed: NDArray[np.bool_]) -> dict[str, Any]:
    """Standard deviations within and between functions, over those without a failure."""
    whole = a[~np.isnan(a).any(1) & ~failed.any(1)]
    within = float(np.sqrt(whole.var(1, ddof=1).mean()))
    between = float(np.sqrt(max(0.0, whole.mean(1).var(ddof=1) - within**2 / a.shape[1])))
    return {
        "within a function": round(within, 3),
        "between functions": round(between, 3),
        "share of one run's variance": round(between**2 / (between**2 + within**2), 3),
        "n": len(whole),
    }


def survivors(a: Scores, reference: Scores) -> dict[str, float]:
    """What part of the reference's best six stays if one run each decides who goes on."""
    best = set(np.argsort(-reference.mean(1))[:6])
    found = {}
    for name, keep in (("half", 2), ("third", 3), ("quarter", 4)):
        kept = [
            len(best & set(np.argsort(-a[:, i], kind="stable")[: len(a) // keep])) / len(best)
            for i in range(a.shape[1])
        ]
        found[name] = round(float(np.mean(kept)), 3)
    return found


class Audit:
    """The runs as tables: one for each setting, with the functions in the same order in all."""

    def __init__(self, runs: Sequence[Mapping[str, Any]], names: Sequence[str], repeats: int):
        self.names = list(names)
        self.scores: dict[str, Scores] = {}
        self.failed: dict[str, NDArray[np.bool_]] = {}
        self.runs = {(label(r), r["name"], r["repeat"]): r for r in runs}
        for setting, name, repeat in self.runs:
            shape = len(names), repeats
            table = self.scores.setdefault(setting, np.full(shape, np.nan))
            lost = self.failed.setdefault(setting, np.zeros(shape, dtype=bool))
            run, place = self.runs[setting, name, repeat], (self.names.index(name), repeat)
            lost[place] = run["failure"] is not None
            table[place] = CHANCE if lost[place] else run["score"]

    @property
    def complete(self) -> list[str]:
        return [s for s, table in self.scores.items() if not np.isnan(table).any()]

    @property
    def reference(self) -> str | None:
        """The longest training of the task itself, the first one's, that is complete."""
        own = [s for s in self.complete if task(s) == task(next(iter(self.scores)))]
        return max(own, key=epochs, default=None)

    def better(self, reference: str, part: int = 2) -> NDArray[np.intp]:
        """The better half, or the best third."""
        means = self.scores[reference].mean(1)
        return np.sort(np.argsort(-means)[: len(means) // part])

    def pairs(self, functions: NDArray[np.intp] | slice) -> dict[str, Any]:
        found = {}
        for i, a in enumerate(self.scores):
            found[a] = repeated(self.scores[a][functions])
            for b in list(self.scores)[i + 1 :]:
                short, long = sorted((a, b), key=epochs)
                both = self.scores[short][functions], self.scores[long][functions]
                found[f"{short} with {long}"] = compared(*both)
        return found

    def cut_off(self, reference: str, functions: NDArray[np.intp] | slice) -> dict[str, Any]:
        """The reference's runs before their end, with the end of the function's other run."""
        end, found = self.scores[reference], {}
        for epoch in (e for e in CUT if e < epochs(reference)):
            early = np.full_like(end, CHANCE)
            for i, name in enumerate(self.names):
                for j in range(end.shape[1]):
                    curve = dict(self.runs[reference, name, j]["validation"])
                    early[i, j] = curve.get(epoch, CHANCE)
            early, late = early[functions], end[functions]
            found[f"after epoch {epoch}"] = with_interval(
                [(early[:, 0], late[:, 1]), (early[:, 1], late[:, 0])]
            )
        return found

    def foretold(self, whole: Mapping[str, float]) -> dict[str, Any]:
        """How settings rank functions as whole trainings do, which some of them have had."""
        known = [i for i, name in enumerate(self.names) if name in whole]
        means = np.array([whole[self.names[i]] for i in known])
        order = np.argsort(-means)
        return {
            "functions": {self.names[known[i]]: whole[self.names[known[i]]] for i in order},
            "settings": {
                setting: {
                    name: with_interval([(scores[order[:most]], means[order[:most]])])
                    for name, most in BEST.items()
                    if most is None or most < len(known)
                }
                for setting in self.complete
                for scores in [self.scores[setting][known].mean(1)]
            },
        }


def label(run: Mapping[str, Any]) -> str:
    return f"{run['task']}:{run['epochs']}"


def task(setting: str) -> str:
    return setting.rpartition(":")[0]


def epochs(setting: str) -> int:
    return int(setting.rpartition(":")[2])


def described(audit: Audit, setting: str) -> dict[str, Any]:
    """A setting by itself; what needs every run of it only where it has them."""
    made = [run for (of, _, _), run in audit.runs.items() if of == setting]
    found = {
        "runs": len(made),
        "failures": [f"{run['name']}: {run['failure']}" for run in made if run["failure"]],
        "median seconds": round(float(np.median([run["seconds"] or 0 for run in made])), 1),
    }
    if (reference := audit.reference) is not None and setting in audit.complete:
        table, failed = audit.scores[setting], audit.failed[setting]
        better, best = audit.better(reference), audit.better(reference, 3)
        found |= {
            "sd": spread(table, failed),
            "sd, better half": spread(table[better], failed[better]),
            "sd, best third": spread(table[best], failed[best]),
            "best six kept": survivors(table, audit.scores[reference]),
        }
    return found


def report(
    runs: Sequence[Mapping[str, Any]],
    names: Sequence[str],
    repeats: int,
    whole: Mapping[str, Mapping[str, float]],
) -> dict[str, Any]:
    """Everything as plain data; no better half where no setting is complete.

    `whole` has what functions came to when they were trained to the end, by who did.
    """
    audit = Audit(runs, names, repeats)
    found = {
        "n": len(audit.runs),
        "complete": audit.complete,
        "reference": audit.reference,
        "settings": {setting: described(audit, setting) for setting in audit.scores},
        "all": audit.pairs(slice(None)),
        **{who: audit.foretold(scores) for who, scores in whole.items()},
    }
    if (reference := audit.reference) is not None:
        better = audit.better(reference)
        found |= {
            "better half": [audit.names[i] for i in better],
            "the better half": audit.pairs(better),
            "cut off": audit.cut_off(reference, slice(None)),
            "cut off, the better half": audit.cut_off(reference, better),
        }
    return found

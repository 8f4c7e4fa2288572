"""A function as source to be copied from where it is shown, as it starts and as it was trained."""

import shlex
from functools import lru_cache

from pangaea.errors import PangaeaError
from pangaea.export import export
from pangaea.functions.parser import parse
from pangaea.report import texts
from pangaea.report.records import Row, Snapshot
from pangaea.study.trained import at_the_end

TARGETS = {"PyTorch": "torch", "JAX": "jax", "Keras": "keras"}  # a button, and where it leads


def sources(text: str) -> dict[str, str]:
    """By what its button says: the function's source; nothing for a text that is no function."""
    return _exported(text, ())


def trained(study: Snapshot, text: str) -> dict[str, str]:
    """The same at the means of its trained parameters; nothing if there is no record of any."""
    means = at_the_end(study, text).items()
    # Four digits: layers differ from their mean in the second.
    return _exported(text, tuple((name, float(f"{m:.4g}")) for name, m in means)) if means else {}


@lru_cache(maxsize=1 << 10)
def _exported(text: str, values: tuple[tuple[str, float], ...]) -> dict[str, str]:
    given = dict(values)
    try:
        files = {label: str(export(text, to, parameters=given)) for label, to in TARGETS.items()}
        return {**files, "LaTeX": str(export(text, "latex", parameters=given)).strip()}
    except PangaeaError:
        return {}


def command(text: str) -> str:
    """How to export it, simplified, as it can be pasted."""
    shorter = str(parse(text).simplified())
    return f"pangaea export {texts.inert(shlex.quote(shorter))} --to torch"


def trained_command(study: Snapshot, row: Row) -> str:
    """How to export it with its trained parameters; nothing if there is no record of any."""
    if not at_the_end(study, row["function"]):
        return ""
    return f"pangaea export {texts.inert(shlex.quote(str(study.path)))} {row['number']} --to torch"

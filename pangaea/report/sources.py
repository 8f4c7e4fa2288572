"""A function as source to be copied from where it is shown."""

import shlex
from functools import lru_cache

from pangaea.errors import PangaeaError
from pangaea.export import export
from pangaea.report import texts

TARGETS = {"PyTorch": "torch", "JAX": "jax", "Keras": "keras"}  # a button, and where it leads


@lru_cache(maxsize=1 << 10)
def sources(text: str) -> dict[str, str]:
    """By what its button says: the function's source; nothing for a text that is no function."""
    try:
        return {label: str(export(text, target)) for label, target in TARGETS.items()}
    except PangaeaError:
        return {}


def command(text: str) -> str:
    """How to export it, as it can be pasted."""
    return f"pangaea export {texts.inert(shlex.quote(text))} --to torch"

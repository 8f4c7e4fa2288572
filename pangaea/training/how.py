"""How a network is trained, whatever it is: on which device, in which precision, kept where."""

from dataclasses import asdict, dataclass
from typing import Any

from pangaea.settings import Declared, setting

PRECISIONS = ("bf16", "fp32")


@dataclass(frozen=True, kw_only=True)
class How(Declared):
    """One way to train; plain data, so that it travels to workers."""

    device: str | None = setting(None, "cpu, cuda or cuda:1. Default: a GPU if there is one.")
    precision: str | None = setting(
        None,
        "The numbers of the network. Default: bf16 on a GPU, fp32 elsewhere.",
        names=lambda: PRECISIONS,
    )
    compile: bool = setting(False, "Compile the network first: for long runs on the CPU.")
    checkpoints: str | None = setting(
        None, "A folder for checkpoints; the same command goes on where it was stopped."
    )
    # Checkpoints of one run alone: another's is passed over, and none is left when it ends.
    passing: bool = False
    keep_model: bool = False  # hand the trained network back, which stays in this process

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)

"""Every function and accuracy the paper prints, row by row as it prints them."""

import csv
from dataclasses import dataclass
from importlib import resources


@dataclass(frozen=True, slots=True)
class Printed:
    """One accuracy (percent, mean and sample sd over n runs), or a function printed without one."""

    table: str
    group: str
    name: str
    function: str
    scope: str | None
    network: str | None
    dataset: str | None
    mean: float | None
    sd: float | None
    n: int | None
    failed: int | None
    stars: int | None


def _figure(row: dict[str, str]) -> Printed:
    def real(key: str) -> float | None:
        return float(row[key]) if row[key] else None

    def whole(key: str) -> int | None:
        return int(row[key]) if row[key] else None

    return Printed(
        table=row["table"],
        group=row["group"],
        name=row["name"],
        function=row["function"],
        scope=row["scope"] or None,
        network=row["network"] or None,
        dataset=row["dataset"] or None,
        mean=real("mean"),
        sd=real("sd"),
        n=whole("n"),
        failed=whole("failed"),
        stars=whole("stars"),
    )


_TEXT = resources.files("pangaea.functions").joinpath("paper.csv").read_text(encoding="utf-8")

FIGURES: tuple[Printed, ...] = tuple(map(_figure, csv.DictReader(_TEXT.splitlines(), strict=True)))

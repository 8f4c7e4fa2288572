"""One function's curve and slope: in the terminal, or as a PNG."""

import io
import math
from collections.abc import Callable, Sequence
from pathlib import Path

from pangaea.errors import PangaeaError
from pangaea.files import save

Curve = Callable[[float], float]

_NARROWEST = 8
_DOTS = ((0x01, 0x02, 0x04, 0x40), (0x08, 0x10, 0x20, 0x80))


def points(count: int, low: float = -5.0, high: float = 5.0) -> list[float]:
    return [low + (high - low) * i / (count - 1) for i in range(count)]


def terminal(value: Curve, *, width: int = 60, height: int = 15, most: int | None = None) -> str:
    """A plot in braille dots over [−5, 5], with the axes' ends labelled.

    It is as wide as asked for, but with its labels no wider than the `most` columns that there are.
    """
    low, high = frame([value(x) for x in points(2 * width)])
    labels = [f"{high:.3g}", *[""] * (height - 2), f"{low:.3g}"]
    margin = max(map(len, labels))
    width = width if most is None else max(min(width, most - margin - 2), _NARROWEST)
    xs = points(2 * width)
    ys = [value(x) for x in xs]
    cells = [[0] * width for _ in range(height)]

    def dot(column: int, y: float) -> None:
        row = (high - y) / (high - low) * (4 * height - 1)
        if math.isfinite(row) and -0.5 <= row <= 4 * height - 0.5:
            row = min(max(round(row), 0), 4 * height - 1)
            cells[row // 4][column // 2] |= _DOTS[column % 2][row % 4]

    for column, y in enumerate(ys):
        dot(column, y)
        if column % 4 == 0:
            dot(column, 0.0)
    for row in range(0, 4 * height, 2):
        cells[row // 4][width // 2] |= _DOTS[0][row % 4]
    for previous, (column, y) in zip(ys, enumerate(ys[1:], 1), strict=False):
        # Steep pieces are joined, so that the curve stays one line.
        if math.isfinite(previous) and math.isfinite(y):
            steps = int(min(abs(y - previous) / (high - low), 1) * 4 * height)
            for k in range(1, steps):
                dot(column, previous + (y - previous) * k / steps)
    lines = [
        f"{label:>{margin}} ┤" + "".join(chr(0x2800 + cell) for cell in row)
        for label, row in zip(labels, cells, strict=True)
    ]
    ends = f"{'':>{margin}}  {xs[0]:.3g}"
    return "\n".join([*lines, ends + f"{xs[-1]:.3g}".rjust(width - len(f"{xs[0]:.3g}"))])


def frame(ys: Sequence[float]) -> tuple[float, float]:
    """The range to show: all finite values, but an explosion does not flatten the rest."""
    finite = sorted(y for y in ys if math.isfinite(y))
    if not finite:
        return -1.0, 1.0
    low, high = max(finite[0], -20.0), min(finite[-1], 20.0)
    if not low < high:
        centre = min(max(finite[len(finite) // 2], -1e300), 1e300)
        low, high = centre - max(1.0, abs(centre) / 2), centre + max(1.0, abs(centre) / 2)
    return low, high


def _drawable(y: float) -> float:
    """Far outside any frame, or NaN: matplotlib cannot scale what is near infinity."""
    return min(max(y, -1e6), 1e6) if y == y else y


def png(path: Path, value: Curve, slope: Curve, title: str) -> None:
    """A picture of the curve and its slope over [−5, 5]."""
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure as Canvas
    except ImportError:
        raise PangaeaError(
            "a picture is drawn by matplotlib: pip install 'pangaea-search[pictures]'"
        ) from None
    xs = points(1001)
    ys = [_drawable(value(x)) for x in xs]
    slopes = [_drawable(slope(x)) for x in xs]
    figure = Canvas(figsize=(6.4, 4.2), dpi=150, layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.add_subplot()
    axes.axhline(0, color="0.8", linewidth=1, zorder=0)
    axes.axvline(0, color="0.8", linewidth=1, zorder=0)
    axes.plot(xs, ys, color="#0072b2", linewidth=2, label="value")
    axes.plot(xs, slopes, color="#d55e00", linestyle="--", label="slope")
    low, high = frame([*ys, *slopes])
    axes.set_ylim(low - 0.08 * (high - low), high + 0.08 * (high - low))
    axes.set_xlabel("x")
    axes.set_title(title, fontsize=11)
    axes.legend(frameon=False)
    picture = io.BytesIO()
    figure.savefig(picture, format="png")
    save(path, picture.getvalue())

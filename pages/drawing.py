"""The lines of a figure as a small picture in a page: SVG that takes the page's own colours."""

from pangaea.report.figures.theme import Spec

_WIDTH, _HEIGHT = 180, 120
_EVERY = 2  # points of a line: a figure has more than a small picture shows


def small(spec: Spec, label: str) -> str:
    """Every line of the figure, the axes through 0 where they are in sight."""
    low, high = spec["layout"]["yaxis"]["range"]
    xs = spec["data"][0]["x"]
    left, right = xs[0], xs[-1]

    def across(x: float) -> float:
        return _WIDTH * (x - left) / (right - left)

    def down(y: float) -> float:
        return _HEIGHT * (high - y) / (high - low)

    lines = [f'<path class="axis" d="M{across(0):.0f} 0V{_HEIGHT}"/>']
    if low < 0 < high:
        lines.append(f'<path class="axis" d="M0 {down(0):.1f}H{_WIDTH}"/>')
    for number, trace in reversed(list(enumerate(spec["data"]))):
        seen = zip(trace["x"][::_EVERY], trace["y"][::_EVERY], strict=True)
        points = [
            None if y is None or not low <= y <= high else f"{across(x):.1f} {down(y):.1f}"
            for x, y in seen
        ]
        lines.append(f'<path class="line-{number}" d="{_path(points)}"/>')
    return (
        f'<svg viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img" aria-label="{label}">'
        f"{''.join(lines)}</svg>"
    )


def _path(points: list[str | None]) -> str:
    """A line that stops where there is no value in sight."""
    steps, drawing = [], False
    for point in points:
        if point is not None:
            steps.append(("L" if drawing else "M") + point)
        drawing = point is not None
    return "".join(steps)

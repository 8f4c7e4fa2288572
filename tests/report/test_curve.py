"""A curve in the terminal and as a picture: where its dots are, and what it survives."""

import math
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from pangaea.errors import PangaeaError
from pangaea.functions.catalog import parse
from pangaea.report.terminal.curve import png, terminal

WIDTH, HEIGHT = 60, 15
COLUMNS, ROWS = 2 * WIDTH, 4 * HEIGHT
# Unicode numbers a braille cell's dots down the left, down the right, then the bottom two.
BRAILLE = {0: (0, 0), 1: (0, 1), 2: (0, 2), 3: (1, 0), 4: (1, 1), 5: (1, 2), 6: (0, 3), 7: (1, 3)}

WILD: dict[str, Callable[[float], float]] = {
    "undefined": lambda x: math.nan,
    "infinite": lambda x: math.inf,
    "minus infinity": lambda x: -math.inf,
    "pole": lambda x: 1 / x if x else math.inf,
    "half": lambda x: math.nan if x < 0 else x,
    "jump": lambda x: math.copysign(1e308, x),
    "explosion": parse("exp(exp(exp(x)))"),
    "power": parse("pow(x, tanh(x))"),
    "huge": lambda x: 1e308,
    "tiny": lambda x: 5e-324,
}


def lines(plot: str) -> list[str]:
    return [line.split("┤")[1] for line in plot.splitlines() if "┤" in line]


def rows_by_column(plot: str) -> list[list[int]]:
    """For each column of dots, the rows that are set, from the top."""
    found = [set[int]() for _ in range(2 * len(lines(plot)[0]))]
    for j, line in enumerate(lines(plot)):
        for i, cell in enumerate(line):
            for bit, (right, down) in BRAILLE.items():
                if ord(cell) >> bit & 1:
                    found[2 * i + right].add(4 * j + down)
    return [sorted(rows) for rows in found]


def curve(plot: str) -> dict[int, list[int]]:
    """The dots of the curve alone: no axis has a dot in these columns."""
    columns = rows_by_column(plot)
    return {c: columns[c] for c in range(len(columns)) if c % 4 != 0}


@pytest.mark.parametrize(("width", "height"), [(60, 15), (20, 4), (33, 7)])
def test_a_plot_has_the_size_asked_for(width: int, height: int) -> None:
    plot = terminal(lambda x: x, width=width, height=height)
    assert [len(line) for line in lines(plot)] == [width] * height
    assert all(0x2800 <= ord(cell) <= 0x28FF for line in lines(plot) for cell in line)
    assert len(plot.splitlines()) == height + 1
    assert len({len(line) for line in plot.splitlines()}) == 1


def test_the_ends_of_the_axes_are_labelled() -> None:
    first, *_, last, ends = terminal(lambda x: x / 2).splitlines()
    assert first.startswith(" 2.5 ┤")
    assert last.startswith("-2.5 ┤")
    assert ends.split() == ["-5", "5"]
    assert ends.index("-5") == last.index("┤") + 1


def test_the_identity_is_the_diagonal() -> None:
    for column, rows in curve(terminal(lambda x: x)).items():
        (row,) = rows
        assert abs(row - (ROWS - 1) * (1 - column / (COLUMNS - 1))) <= 0.5, column


def test_relu_is_flat_and_then_rises_to_the_corner() -> None:
    for column, rows in curve(terminal(parse("relu(x)"))).items():
        (row,) = rows
        rise = max(0.0, 2 * column / (COLUMNS - 1) - 1)
        assert abs(row - (ROWS - 1) * (1 - rise)) <= 0.5, column


def test_the_axes_cross_at_zero() -> None:
    columns = rows_by_column(terminal(lambda x: x + 2.5))
    assert set(columns[WIDTH]) >= set(range(0, ROWS, 2))
    # From −2.5 to 7.5, zero is a quarter of the way up.
    assert all(round((ROWS - 1) * 0.75) in columns[c] for c in range(0, COLUMNS, 4))


@pytest.mark.parametrize("constant", [0.0, 1.0, -3.5, 1000.0, -1e12])
def test_a_constant_is_a_line_across_the_middle(constant: float) -> None:
    for rows in curve(terminal(lambda x: constant)).values():
        assert rows in ([ROWS // 2 - 1], [ROWS // 2])


def test_a_jump_is_drawn_as_one_line() -> None:
    columns = rows_by_column(terminal(lambda x: math.copysign(1.0, x)))
    assert set(columns[WIDTH - 1] + columns[WIDTH]) == set(range(ROWS))
    assert columns[1] == [ROWS - 1]
    assert columns[-1] == [0]


def test_an_explosion_does_not_flatten_the_rest() -> None:
    plot = terminal(lambda x: 1e9 if x > 4.5 else x)
    assert plot.startswith("20 ┤")
    heights = [rows[-1] for column, rows in curve(plot).items() if column < 110]
    assert heights == sorted(heights, reverse=True)
    # From −5 to 20: the straight piece takes up 9.5 of 25.
    assert heights[0] - heights[-1] == pytest.approx(9.5 / 25 * ROWS, abs=2)


def test_where_a_function_is_undefined_there_is_no_dot() -> None:
    for column, rows in curve(terminal(WILD["half"])).items():
        assert bool(rows) == (column >= WIDTH), column


@pytest.mark.parametrize("name", ["undefined", "infinite", "minus infinity"])
def test_a_function_without_a_finite_value_shows_the_axes_alone(name: str) -> None:
    plot = terminal(WILD[name])
    assert plot.startswith(" 1 ┤")
    assert not any(curve(plot).values())


@pytest.mark.parametrize("name", WILD)
def test_no_function_breaks_a_plot_or_a_picture(name: str, tmp_path: Path) -> None:
    assert len(terminal(WILD[name]).splitlines()) == HEIGHT + 1
    png(tmp_path / "wild.png", WILD[name], WILD[name], name)
    with Image.open(tmp_path / "wild.png") as image:
        image.verify()


def test_a_picture_shows_the_curve_and_its_slope(tmp_path: Path) -> None:
    f = parse("relu(x)")
    path = tmp_path / "relu.png"
    png(path, f, f.slope, f.readable())
    with Image.open(path) as image:
        assert image.format == "PNG"
        assert image.size == (960, 630)
        pixels = np.asarray(image.convert("RGB"))
    blue, orange = (
        np.argwhere((pixels == colour).all(axis=-1)) for colour in ((0, 114, 178), (213, 94, 0))
    )
    # Rows count from the top. ReLU is low on the left and high on the right; so is its slope,
    # but at 0 and 1, and the curve goes from 0 to 5.
    below = blue[blue[:, 0] > 500]
    assert below[:, 1].min() < 150
    assert below[:, 1].max() == pytest.approx(480, abs=60)
    assert blue[blue[:, 1].argmax(), 0] < 100
    assert 350 < orange[orange[:, 1].argmax(), 0] < below[:, 0].min()


def test_a_picture_that_cannot_be_written_says_where(tmp_path: Path) -> None:
    nowhere = tmp_path / "a file" / "x.png"
    nowhere.parent.touch()
    with pytest.raises(PangaeaError, match=r"cannot write .*x\.png: Not a directory") as caught:
        png(nowhere, math.tanh, math.cosh, "tanh")
    assert str(nowhere) in str(caught.value)


@pytest.mark.parametrize("columns", [20, 40, 60, 61, 80])
@pytest.mark.parametrize("name", ["explosion", "jump", "tiny"])
def test_a_plot_is_no_wider_than_the_terminal(name: str, columns: int) -> None:
    plot = terminal(WILD[name], most=columns)
    widths = {len(line) for line in plot.splitlines()}
    assert max(widths) <= columns
    assert columns > 70 or max(widths) == columns
    assert plot.splitlines()[-1].split() == ["-5", "5"]

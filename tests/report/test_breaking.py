"""Formulas in narrow places."""

import re

import pytest

import pangaea as pg
from pangaea.report.terminal.breaking import broken

TEXTS = [text for f in pg.catalog().values() for text in (str(f), f.readable())]


@pytest.mark.parametrize("width", [28, 48, 70])
def test_lines_fit_and_no_name_is_broken(width: int) -> None:
    for text in TEXTS:
        lines = broken(text, width).split("\n")
        assert all(len(line) <= width for line in lines), lines
        assert "".join(lines).replace(" ", "") == text.replace(" ", "")
        names = [re.findall(r"\w+", part) for part in (text, " ".join(lines))]
        assert names[0] == names[1]


def test_nothing_closes_at_the_start_of_a_line() -> None:
    for text in TEXTS:
        assert not any(line.startswith((")", ",", " ")) for line in broken(text, 24).split("\n"))


def test_a_text_that_fits_stays_in_one_line() -> None:
    assert broken("α·swish(x − β·0)", 16) == "α·swish(x − β·0)"
    assert broken("", 10) == ""


def test_a_name_wider_than_the_line_stays_whole() -> None:
    assert broken("hard_sigmoid(x)", 5) == "hard_sigmoid(\nx)"

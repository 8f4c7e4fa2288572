"""Texts of a study as they are shown: they do nothing."""

import pytest

from pangaea.report.texts import formula, harmless, inert, name


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain α·x − β", "plain α·x − β"),
        ("\x1b[31mred", r"\x1b[31mred"),
        ("\x9b2J", r"\x9b2J"),
        ("two\nlines\tand a tab", "two lines and a tab"),
        ("\u202eleft", r"\u202eleft"),
        ("\udcff", r"\udcff"),
        ("\x00", r"\x00"),
    ],
)
def test_what_cannot_be_printed_is_written_out(text: str, shown: str) -> None:
    assert inert(text) == shown
    assert inert(text).isprintable()
    assert harmless({text: [text, 1, None]}) == {shown: [shown, 1, None]}


def test_functions_are_called_what_people_call_them() -> None:
    assert [name(text) for text in ("relu(x)", "gelu(x)", "mul(x, sigmoid(alpha*x))")] == [
        "ReLU",
        "GELU",
        "PSwish",
    ]
    assert name("tanh(alpha*x)") == "tanh(α·x)"
    assert name("PReLU") == "PReLU"
    assert formula("\x1b") == r"\x1b"

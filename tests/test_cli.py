"""The program as a person runs it: what it prints, and what it says to mistakes."""

import json
import math
import subprocess
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest
from PIL import Image

import pangaea as pg
from pangaea.cli import main
from pangaea.functions.counting import splits
from pangaea.functions.learnable import LEARNABLE
from pangaea.functions.operators import OPERATORS
from pangaea.functions.paper import FIGURES
from pangaea.functions.space import PRESETS

Done = subprocess.CompletedProcess[str]

PROGRAM = (sys.executable, "-c", "from pangaea.cli import main; main()")
# Nothing of the caller's: a CI machine asks for colours where there is no terminal.
PLAIN = (("COLUMNS", "120"), ("NO_COLOR", "1"))


@cache
def run(*arguments: str, env: tuple[tuple[str, str], ...] = PLAIN) -> Done:
    return subprocess.run(
        [*PROGRAM, *arguments], env=dict(env), capture_output=True, encoding="utf-8", timeout=300
    )


@pytest.fixture
def run_here(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[..., Done]:
    """The same without a process of its own, for the tests that go through many texts."""

    def run(*arguments: str) -> Done:
        monkeypatch.setattr(sys, "argv", ["pangaea", *arguments])
        with pytest.raises(SystemExit) as left:
            main()
        said = capsys.readouterr()
        assert isinstance(left.value.code, int)
        return Done(arguments, left.value.code, said.out, said.err)

    return run


def output(done: Done) -> str:
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def complaint(done: Done) -> str:
    """The one sentence that a mistake is answered with."""
    assert done.returncode == 2
    assert done.stderr.startswith("error: ")
    assert done.stderr.count("\n") == 1
    assert done.stderr.endswith("\n")
    return done.stderr


def cells(text: str) -> list[list[str]]:
    return [line.split() for line in text.splitlines()]


def test_the_version_is_the_packages() -> None:
    assert output(run("--version")) == f"pangaea {pg.__version__}\n"


def test_space_shows_both_totals_and_says_why_they_differ() -> None:
    rows = cells(output(run("space")))
    assert ["all", "10,339,202,744,514", "10,170,042,948,450"] in rows
    assert ["7", "3", "4", "11", "5", "211,449,745,080"] in rows
    why = "one arrangement of three binary and four unary nodes; there are five"
    text = " ".join(output(run("space")).split())
    assert why in text
    assert "Neither total is the number of functions that a search can reach" in text
    assert all([name] in [row[:1] for row in rows] for name in PRESETS)


def test_space_shows_a_preset_with_its_own_total_only() -> None:
    shown = output(run("space", "--preset", "cheap"))
    rows = cells(shown)
    (total,) = (row for row in rows if row[:1] == ["all"])
    assert total[1:] == [f"{sum(split.functions for split in splits(PRESETS['cheap'])):,}"]
    assert "erf" not in shown.split("nodes")[0].replace("erf, erfc and Bessel", "")
    assert "The total is not the number of functions that a search can reach" in shown


def test_space_of_core_units_is_said_to_be_closed() -> None:
    shown = output(run("space", "--preset", "s2"))
    assert "core units in at most 2 levels" in shown
    assert "no parameters" in shown
    assert "a search stays among these functions" in shown


def test_space_takes_operators_and_leaves_some_out() -> None:
    few = output(run("space", "--operators", "relu, GELU,add,max", "--exclude", "max"))
    rows = cells(few)
    assert ["unary", "relu,", "gelu"] in rows
    assert ["binary", "add"] in rows
    less = output(run("space", "--exclude", "bessel_i0e,bessel_i1e"))
    assert "paper without bessel_i0e, bessel_i1e" in less
    assert "in the paper" not in less


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (("--preset", "smoth"), "no space is called 'smoth'; did you mean smooth?"),
        (("--exclude", "bessel"), "no operator is called 'bessel'; did you mean bessel_i"),
        (("--operators", "add"), "at least one unary operator"),
        (("--operators", ""), "at least one unary operator"),
    ],
)
def test_a_space_that_cannot_be_is_answered_with_a_sentence(
    arguments: tuple[str, ...], why: str, run_here: Callable[..., Done]
) -> None:
    assert why in complaint(run_here("space", *arguments))


def test_operators_are_listed_with_the_presets_that_have_them() -> None:
    shown = output(run("operators", env=(("COLUMNS", "80"), ("NO_COLOR", "1"))))
    rows = cells(shown)
    assert "paper and nonparametric; s1 and s2" in shown
    assert {*OPERATORS} <= {row[0] for row in rows if row}
    assert ["tanh", "tanh(x)", "1", *"✓✓✓✓✓"] in rows
    assert ["max", "max(x₁,", "x₂)", *"✓✓✓✓"] in rows
    assert ["mish", "mish(x)", "0.6"] in rows


def test_operators_fit_into_sixty_columns() -> None:
    shown = output(run("operators", env=(("COLUMNS", "60"), ("NO_COLOR", "1"))))
    table = shown.split("\n\n")[0]
    assert "…" not in table
    assert max(map(len, table.splitlines())) <= 60
    assert table.split()[:7] == ["operator", "formula", "paper", "s1", "swish", "smooth", "cheap"]


def test_operators_as_json_are_the_whole_table() -> None:
    listed = {row["name"]: row for row in json.loads(output(run("operators", "--json")))}
    assert [*listed] == [*OPERATORS]
    assert listed["pow"] == {
        "name": "pow",
        "arity": 2,
        "formula": "x₁^x₂",
        "latex": "{x_1}^{x_2}",
        "slope_at_0": None,
        "smooth": False,
        "special": False,
        "presets": ["paper", "nonparametric", "cheap"],
    }
    assert (listed["erf"]["special"], listed["erf"]["slope_at_0"]) == (True, 2 / math.sqrt(math.pi))
    assert listed["one"]["latex"] == "1"


def test_an_operator_that_does_not_exist_is_answered_with_those_that_do(
    run_here: Callable[..., Done],
) -> None:
    said = complaint(run_here("show", "relu(x) + sin(x)"))
    assert "position 10" in said
    assert "did you mean sinh, asinh? 'pangaea operators' lists them" in said
    said = complaint(run_here("show", "wobble(x)"))
    assert "'pangaea operators' lists them" in said
    assert "did you mean" not in said


def test_list_names_the_whole_catalog() -> None:
    first = {row[0] for row in cells(output(run("list"))) if row}
    assert {*pg.catalog(), *LEARNABLE} - first == set()


def test_list_fits_a_narrow_window() -> None:
    narrow = (("COLUMNS", "60"), ("NO_COLOR", "1"))
    lines = output(run("list", env=narrow)).split("\n\n")[0].splitlines()
    assert max(map(len, lines)) <= 60
    assert lines[0].rstrip() == "wrn-1: log(σ(α·x))·β·asinh(x)"
    assert lines[1].startswith("wrn-10-4 73.20 ± 0.37; resnet-v1-56 18.63 ± 21.04;")


def test_list_shows_the_papers_best_accuracy_beside_its_function() -> None:
    lines = output(run("list")).splitlines()
    (first,) = (i for i, line in enumerate(lines) if line.startswith("wrn-1 "))
    assert "wrn-10-4 73.20 ± 0.37" in lines[first + 1]


def test_list_of_one_table_shows_that_table_only() -> None:
    rows = cells(output(run("list", "--table", "scale_up")))
    head, *body = rows[: rows.index([])]
    assert head == ["function", "wrn-16-8", "resnet-v1-110", "resnet-v2-110"]
    assert {row[0] for row in body} == {f.name for f in FIGURES if f.table == "scale_up"}
    assert body[0][:3] == ["wrn-1", "log(σ(α·x))·β·asinh(x)", "78.36"]


def test_the_papers_main_table_has_networks_as_columns() -> None:
    head, first, *_ = output(run("list", "--table", "results")).splitlines()
    assert head.split() == ["function", "wrn-10-4", "resnet-v1-56", "resnet-v2-56"]
    numbers = ["73.20", "±", "0.37***", "18.63", "±", "21.04", "45.88", "±", "30.70"]
    assert first.split() == ["wrn-1", "log(σ(α·x))·β·asinh(x)", *numbers]


def test_an_unknown_table_is_answered_with_tables_that_exist() -> None:
    said = complaint(run("list", "--table", "nonsense"))
    assert "'nonsense'" in said
    assert any(figure.table in said for figure in FIGURES)


def test_list_as_json_has_every_figure() -> None:
    listed = json.loads(output(run("list", "--json")))
    assert len(listed) == len(FIGURES)
    first = {key: listed[0][key] for key in ("name", "network", "mean", "sd", "n", "failed")}
    assert first == {
        "name": "wrn-1",
        "network": "wrn-10-4",
        "mean": 73.2,
        "sd": 0.37,
        "n": 10,
        "failed": None,
    }


def test_show_explains_an_expression_and_draws_it_in_a_file(tmp_path: Path) -> None:
    picture = tmp_path / "curve.png"
    text = "alpha*x - log(sigmoid(beta*x))"
    shown = output(run("show", text, "--alpha", "2", "--png", str(picture)))
    rows = cells(shown)
    assert ["function", "α·x", "−", "log(σ(β·x))"] in rows
    assert ["canonical", "sub(alpha*x,", "logsigmoid(beta*x))"] in rows
    assert ["LaTeX", r"\alpha", "x", "-", r"\log(\sigma(\beta", "x))"] in rows
    assert ["parameters", "alpha,", "beta"] in rows
    assert ["shown", "at", "alpha", "=", "2"] in rows
    # 2x + log(1 + e⁻ˣ) and its slope 2 − 1/(1 + eˣ)
    assert ["0", "0.693147", "1.5"] in rows
    assert ["1", "2.31326", "1.73106"] in rows
    assert str(picture) in shown
    assert picture.read_bytes().startswith(b"\x89PNG\r\n\x1a\n")
    with Image.open(picture) as image:
        assert 400 <= image.height < image.width <= 2000
        colours = {colour[:3]: n for n, colour in image.getcolors(2**24)}
    assert colours[0x00, 0x72, 0xB2] > image.width


def test_show_takes_a_name_of_the_catalog() -> None:
    shown = output(run("show", "wrn-1"))
    rows = cells(shown)
    assert ["canonical", "mul(logsigmoid(alpha*x),", "beta*asinh(x))"] in rows
    assert ["├──", "logsigmoid"] in rows
    assert ["└──", "β·asinh"] in rows
    assert sum("┤" in line for line in shown.splitlines()) == 15


def test_show_takes_a_learnable_baseline() -> None:
    rows = cells(output(run("show", "prelu")))
    assert ["canonical", "prelu"] in rows
    assert ["-2", "-0.5", "0.25"] in rows
    assert ["kinks", "at", "x", "=", "0"] in rows


@pytest.mark.parametrize(
    ("text", "row"),
    [
        ("exp(exp(exp(x)))", ["5", "inf", "inf"]),
        ("pow(x, tanh(x))", ["-1", "nan", "nan"]),
        ("1/x", ["0", "0", "0"]),
        ("zero(x)", ["function", "0"]),
    ],
)
def test_show_copes_with_functions_that_explode_or_are_undefined(
    text: str, row: list[str], run_here: Callable[..., Done]
) -> None:
    shown = output(run_here("show", text))
    assert row in cells(shown)
    assert sum("┤" in line for line in shown.splitlines()) == 15


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("relu(x", "position 6"),
        ("wibble(x)", "'wibble'"),
        ("", "the end"),
        ("x + \x1b[31m\n\x07", "U+001B"),
        ("x+" * 2500, "4096 bytes"),
    ],
    ids=["unbalanced", "unknown", "empty", "control", "long"],
)
def test_a_text_that_is_no_function_is_answered_in_one_sentence(
    text: str, reason: str, run_here: Callable[..., Done]
) -> None:
    said = complaint(run_here("show", text))
    assert reason in said
    assert len(said) < 200
    assert said.rstrip("\n").isprintable()


def test_what_a_plot_cannot_be_is_answered_in_one_sentence() -> None:
    assert "the plot is a PNG file: call it x.png" in complaint(
        run("show", "relu", "--png", "x.jpg")
    )
    assert "alpha is a finite number, got nan" in complaint(run("show", "wrn-1", "--alpha", "nan"))


def test_a_file_that_cannot_be_written_is_answered_in_one_sentence() -> None:
    said = complaint(run("show", "relu", "--png", "/dev/null/x.png"))
    assert "cannot write /dev/null/x.png: Not a directory" in said


@pytest.mark.parametrize("arguments", [("wibble",), ("show", "relu", "--wibble")])
def test_an_unknown_command_or_option_is_named_and_refused(arguments: tuple[str, ...]) -> None:
    done = run(*arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert arguments[-1] in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(("arguments", "code"), [(("list",), 0), (("list", "--json"), 1)])
def test_a_reader_that_goes_away_is_no_error(arguments: tuple[str, ...], code: int) -> None:
    with subprocess.Popen(
        [*PROGRAM, *arguments], env=dict(PLAIN), stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        said = process.stderr.read()
    assert (process.returncode, said) == (code, b"")


@pytest.mark.parametrize("arguments", [("--help",), ("show", "relu")])
def test_output_to_a_file_has_no_escape_codes(arguments: tuple[str, ...]) -> None:
    done = run(*arguments, env=(("COLUMNS", "120"), ("TERM", "xterm-256color")))
    assert done.stdout + done.stderr
    assert "\x1b" not in done.stdout + done.stderr


@pytest.mark.parametrize("columns", [40, 60])
@pytest.mark.parametrize("text", ["wrn-1", "random-search-3", "apl"])
def test_show_fits_a_narrow_terminal(text: str, columns: int) -> None:
    shown = output(run("show", text, env=(("COLUMNS", str(columns)), ("NO_COLOR", "1"))))
    assert max(map(len, shown.splitlines())) <= columns
    assert sum("┤" in line for line in shown.splitlines()) == 15
    assert not any(line.strip() in (")", "))") for line in shown.splitlines())


def test_show_says_how_a_function_is_simplified() -> None:
    rows = cells(output(run("show", "alpha*swish(x - beta*0)")))
    assert ["function", "α·swish(x", "−", "β·0)"] in rows
    assert ["simplified", "α·swish(x)"] in rows
    assert "simplified" not in output(run("show", "wrn-1"))


def test_show_honours_the_parameters_of_a_learnable_baseline() -> None:
    rows = cells(output(run("show", "prelu", "--alpha", "2")))
    assert ["-2", "-4", "2"] in rows


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (("relu", "--alpha", "2"), "no parameter of relu(x) is called 'alpha'; it has none"),
        (("prelu", "--beta", "2"), "is called 'beta'; did you mean alpha?"),
        (("pau", "--alpha", "2"), "is called 'alpha'"),
    ],
)
def test_show_refuses_parameters_that_a_function_does_not_have(
    arguments: tuple[str, ...], reason: str
) -> None:
    assert reason in complaint(run("show", *arguments))


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no device here is always full")
@pytest.mark.parametrize(
    "arguments", [("show", "relu"), ("list", "--json"), ("--help",), ("--version",)]
)
def test_a_full_disk_is_answered_in_one_sentence(arguments: tuple[str, ...]) -> None:
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [*PROGRAM, *arguments],
            env=dict(PLAIN),
            stdout=full,
            stderr=subprocess.PIPE,
            encoding="utf-8",
            timeout=300,
        )
    assert complaint(done) == "error: cannot write the output: No space left on device\n"


BRIEF = ("--runs", "1", "--epochs", "1", "--workers", "0", "--json")


def test_evaluate_takes_learnable_baselines() -> None:
    done = run("evaluate", "prelu", "PReLU", "relu", *BRIEF)
    assert done.returncode == 0, done.stderr
    assert [row["function"] for row in json.loads(done.stdout)] == ["prelu", "relu(x)"]

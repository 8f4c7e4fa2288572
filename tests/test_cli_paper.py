"""`pangaea paper` from the command line."""

import shutil
from pathlib import Path

import pytest
from typer.testing import CliRunner

from pangaea.cli.app import app
from pangaea.errors import PangaeaError
from pangaea.paper.running import run
from pangaea.tasks.classification import Classification
from tests.study.driving import REPOSITORY
from tests.study.judges import instant

RESULTS = str(REPOSITORY / "results" / "paper.jsonl")
PUBLISHED = len(Path(RESULTS).read_text(encoding="utf-8").splitlines())
BESIDE = 18  # runs of the study that the tests begin with


def told(*words: str) -> str:
    result = CliRunner().invoke(app, ["paper", *words])
    assert result.exit_code == 0, result.output
    return result.output


@pytest.fixture
def study(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(Classification, "prepare", lambda task: None)
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "paper.study"
    run("prelu_lcn", study=path, scale="lab", runs=2, workers=0, judge=instant)
    return path


def test_list_names_every_experiment_and_how_far_it_is(study: Path) -> None:
    text = told("list", "--scale", "lab")
    for name in ("results", "splash", "progress", "telling", "operators"):
        assert f"\n{name} " in text
    (line,) = (line for line in text.splitlines() if line.startswith("prelu_lcn"))
    assert line.split()[2] == "18/27"


def test_list_counts_the_searches_that_ended(study: Path) -> None:
    def searched(scale: str) -> dict[str, str]:
        lines = [line.split() for line in told("list", "--scale", scale).splitlines()]
        return {words[0]: words[-3] for words in lines if len(words) > 3}

    assert searched("lab")["progress"] == "0/3"
    run("search_strategy", study=study, scale="lab", runs=1, workers=0, judge=instant)
    ended = searched("lab")
    assert [ended[name] for name in ("search_strategy", "progress", "cost")] == [
        "3/3",
        "1/3",
        "0/4",
    ]
    assert searched("smoke")["progress"] == "0/3"


def test_show_in_every_format(study: Path) -> None:
    assert "PReLU per layer" in told("show", "prelu_lcn")
    assert "| PReLU per layer |" in told("show", "prelu_lcn", "--format", "md")
    assert r"\begin{tabular}" in told("show", "prelu-lcn", "--format", "latex")
    assert "50 epochs" in told("show", "prelu_lcn", "--scale", "lab")


def test_show_reads_plain_lines(study: Path) -> None:
    assert "73.68 ± 0.39" in told("show", "results", "--from", RESULTS)


def test_show_of_what_needs_no_training(study: Path) -> None:
    assert "(tanh(x) + |erf(x)|)^2" in told("show", "mutations")
    assert "α·σ(β·|x| − atan(γ·x)) (paper)" in told("show", "parameterization")
    assert len(told("show", "initialization").splitlines()) == 8
    assert "bessel_i1e" in told("show", "operators")
    assert "10,339,202,744,514" in told("show", "space")
    assert "space takes no runs: pangaea paper show space" in told("run", "space")


def test_what_needs_no_training_is_written_where_it_is_asked_for(study: Path) -> None:
    assert told("show", "mutations", "-o", "mutations.txt") == "written to mutations.txt\n"
    assert "(tanh(x) + |erf(x)|)^2" in (study.parent / "mutations.txt").read_text("utf-8")


def test_without_any_run_the_paper_s_own_numbers_are_shown_on_request(study: Path) -> None:
    text = told("show", "prelu_lcn", "--all", "--study", "none.study")
    assert "71.92 ± 0.41" in text
    assert "Missing are 9 of 9 cells of prelu_lcn." in text


def test_add_and_export(study: Path, tmp_path: Path) -> None:
    assert f"{PUBLISHED} runs added, 0 there before" in told("add", RESULTS)
    assert f"0 runs added, {PUBLISHED} there before" in told("add", RESULTS)
    every, file = PUBLISHED + BESIDE, str(tmp_path / "all.jsonl")
    assert f"{every} runs written" in told("export", file)
    assert f"0 runs added, {every} there before" in told("add", file)


def test_fill_makes_a_table_anew(study: Path, tmp_path: Path) -> None:
    shutil.copy(RESULTS, tmp_path / "r.jsonl")
    page = tmp_path / "page.md"
    block = "<!-- pangaea paper show results --from r.jsonl --scale paper -->\n<!-- end -->\n"
    page.write_text(block)
    assert "made anew" in told("fill", str(page))
    assert "| ReLU | wrn-10-4/cifar100 | 71.87 ± 0.42 | 3 |" in page.read_text()
    assert "as it was" in told("fill", str(page))


def test_the_report_has_the_paper_s_tables(study: Path) -> None:
    from pangaea.report import formats

    told("add", RESULTS)
    text = formats.write([study], kind="md")
    assert "| results | ReLU | wrn-10-4/cifar100 | 71.87 ± 0.42 |" in text
    assert f"{PUBLISHED + BESIDE} runs of the paper's experiments" in text
    assert "71.87 ± 0.42" in formats.write([study], kind="html")


def complained(*words: str) -> str:
    """What is said of a mistake, which is one line and no traceback."""
    result = CliRunner().invoke(app, ["paper", *words])
    assert isinstance(result.exception, PangaeaError)
    assert result.output == ""
    (line,) = str(result.exception).splitlines()
    return line


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["run", "result"], "did you mean results"),
        (["run", "results", "--scale", "large"], "no scale is called"),
        (["run", "results", "--minutes", "0"], "minutes are more than 0, got 0"),
        (["run", "results", "--runs", "-1"], "runs of each cell are at least 1, got -1"),
        (["run", "results", "--study", "."], "a folder"),
        (["show", "result"], "did you mean results"),
        (["show", "results", "--format", "pdf"], "no format is called"),
        (["show", "results", "--study", "."], "Is a directory"),
        (["show", "results", "--study", "no.study"], "`pangaea paper run results` begins it"),
        (["show", "curves", "--study", "no.study"], "`pangaea paper run curves --study no.study`"),
        (["show", "results", "--from", "no.jsonl", "--all"], "No such file"),
        (["show", "progress", "--format", "md"], "progress is none"),
        (["show", "operators", "--format", "latex"], "operators is none"),
        (["show", "space", "-o", "space.txt"], "`pangaea paper show space > FILE`"),
        (["run", "results", "--only", "rulu"], "`pangaea paper show results --all` names them"),
        (["show", "curves", "--study", "broken.study"], "broken.study"),
        (["add", "broken.study"], "broken.study"),
        (["add", "."], "Is a directory"),
        (["fill", "no.md"], "no.md cannot be read"),
        (["run", "results", "--log", "no/such/x.jsonl"], "no/such/x.jsonl cannot be written"),
    ],
)
def test_a_mistake_is_answered_with_one_sentence(
    study: Path, words: list[str], sentence: str
) -> None:
    (study.parent / "broken.study").write_bytes(study.read_bytes()[:5000])
    assert sentence in complained(*words)


def test_a_figure_says_which_runs_and_which_searches_it_lacks(study: Path) -> None:
    place = {"study": study, "scale": "lab", "runs": 1, "workers": 0, "judge": instant}
    for text in ("wrn-10-4", "resnet-v1-2"):
        run("adaptation", only=[text], **place)
    text = told("show", "adaptation")
    assert "Compressed: 50 epochs." in text
    assert "Missing are 2 of 6 cells of adaptation." in text
    assert "resnet-v1-56/cifar100: α·x − β·log(σ(γ·x))" in text
    assert (
        "Missing are 2 of 6 cells of adaptation." in (study.parent / "adaptation.html").read_text()
    )
    run("progress", study=study, scale="lab", workers=0, judge=instant)
    study.with_name("paper-lab-resnet-v2-56.study").unlink()
    text = told("show", "progress", "--scale", "lab")
    assert "Missing are 1 of 3 searches of progress: resnet-v2-56." in text
    assert "`pangaea paper run splash --study paper.study` makes" in complained("show", "splash")


def test_a_figure_without_its_searches_says_how_to_make_them(study: Path) -> None:
    result = CliRunner().invoke(app, ["paper", "show", "progress"])
    assert "`pangaea paper run progress` makes them" in str(result.exception)

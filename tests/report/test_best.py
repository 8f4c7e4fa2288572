"""What a study found, as rows, as a table in any width, and as advice."""

import csv
import io
import json
import re
import shlex
import time
from dataclasses import replace
from pathlib import Path

import pytest
from rich.console import Console, RenderableType

from pangaea.report import findings, formats
from pangaea.report.formats import table_csv
from pangaea.report.headline import headline
from pangaea.report.page import document
from pangaea.report.records import opened
from pangaea.report.terminal import best
from pangaea.report.terminal.columns import broken
from pangaea.study.settings import flat
from pangaea.study.study import Study, Wanted
from tests.report.conftest import KINDS
from tests.study_maker import ACCURACY, Maker, make

RELU = "relu(x)"
ABOUT = {
    "name": "mnist1d",
    "goal": ACCURACY.as_dict(),
    "baseline": RELU,
    "budgets": {"search": 20, "full": 40},
    "unit": "epochs",
}


def record(study: Study, stage: str, function: str, score: float | None, **more: int) -> None:
    budget = more.get("budget", 40 if stage in ("rerank", "test") else 20)
    candidate = more.get("candidate")
    part = "test" if stage == "test" else "validation"
    wanted = Wanted(stage, candidate, function, "mnist1d", None, budget, 0, part)
    result = {
        "score": score,
        "failure": None if score is not None else "diverged",
        "seconds": 2.0,
        "finished": time.time(),
    }
    study.record(study.ask(wanted).number, result)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """ReLU at 60, three functions of which the second is reranked best and tested."""
    path = tmp_path / "s.study"
    functions = ["tanh(x)", "swish(alpha*x)", "elu(x)", "exp(exp(x))"]
    with (
        Study.create(path, flat({"candidates": 4, "runs": 3}), ABOUT) as study,
        study.transaction(),
    ):
        for score in (59.0, 60.0, 61.0):
            record(study, "baseline", RELU, score)
        for number, function in enumerate(functions, 1):
            study.add(number, function, None, "initial")
        for number, score in enumerate((70.0, 68.0, 50.0, None), 1):
            record(study, "search", functions[number - 1], score, candidate=number)
        for function, scores in (("tanh(x)", (60, 62)), ("swish(alpha*x)", (75, 77))):
            for score in scores:
                record(study, "rerank", function, score)
        for function, scores in ((RELU, (60, 61, 62)), ("swish(alpha*x)", (75, 76, None))):
            for score in scores:
                record(study, "test", function, score)
    return path


def shown(renderable: RenderableType, width: int = 100) -> str:
    console = Console(file=io.StringIO(), width=width)
    console.print(renderable, highlight=False, markup=False)
    return console.file.getvalue()  # type: ignore[attr-defined, no-any-return]


def test_the_baseline_comes_first_and_the_reranked_best_next(path: Path) -> None:
    with opened(path) as study:
        rows = findings.rows(study)
    assert [row["function"] for row in rows] == [RELU, "swish(alpha*x)", "tanh(x)", "elu(x)"]
    assert rows[0]["readable"] == "ReLU"
    assert rows[1]["reranked"] == 76
    assert rows[1]["gain"] == 8
    assert rows[0]["p"] is None


def test_a_failed_test_run_has_no_score_and_counts_as_the_goal_says(path: Path) -> None:
    with opened(path) as study:
        row = findings.rows(study)[1]
    assert row["test"] == [75, 76, None]
    assert row["test_mean"] == pytest.approx(161 / 3)
    assert row["test_failures"] == 1
    assert row["p"] > 0.05


@pytest.mark.parametrize("width", [40, 60, 80, 120])
@pytest.mark.parametrize("kind", KINDS)
def test_the_table_is_whole_in_every_width(kind: str, width: int, paths: dict[str, Path]) -> None:
    with opened(paths[kind]) as study:
        text = shown(best.table(study, 10), width)
        assert "…" not in text
        assert all(len(line.rstrip()) <= width for line in text.splitlines())
        for row in [] if study.general else findings.rows(study, 10):
            for name in re.findall(r"[a-z]\w+\(", row["readable"]):
                assert name in text
            if row["score"] is not None:
                assert study.goal.bare(row["score"]) in text


def test_a_narrow_table_has_the_formula_first_and_its_numbers_below(path: Path) -> None:
    with opened(path) as study:
        lines = [line.rstrip() for line in shown(best.table(study), 40).splitlines()]
    place = lines.index("swish(α·x)")
    assert lines[place + 1 : place + 3] == [
        "  #2 · search 68.00 · full 54.00",
        "  test 53.67 ± 37.82 · p 0.62",
    ]


def test_a_formula_is_broken_between_names() -> None:
    formula = "max(α·softplus(x)·1, softsign(x^2 − tanh(x)))"
    for width in range(12, 46):
        lines = broken(formula, width)
        assert all(len(line) <= width for line in lines)
        assert "".join("".join(lines).split()) == "".join(formula.split())
        for name in ("softplus(", "softsign(", "tanh("):
            assert any(name in line for line in lines), width
    assert all(len(line) <= 3 for line in broken(formula, 3))


def test_the_footer_explains_what_the_table_has(path: Path, paths: dict[str, Path]) -> None:
    with opened(path) as study:
        text = best.footer(study)
    assert "search: validation accuracy (%) after 20 epochs" in text
    assert "full: validation accuracy (%) after 40 epochs" in text
    assert "p: one-tailed Welch t-test against ReLU" in text
    assert text.endswith(
        "mnist1d: 4 of 4 candidates, rerank: 4 of 6 runs · failed: 1 diverged · "
        "failed when trained again or tested: 1 diverged"
    )
    with opened(paths["minimised"]) as study:
        assert "Welch t-test against GELU" in best.footer(study)
        assert "accuracy" not in best.footer(study)
    with opened(paths["running"]) as study:
        assert "Welch" not in best.footer(study)
    with opened(paths["general"]) as study:
        assert "0 of" not in best.footer(study)


def test_footers_break_at_words(path: Path) -> None:
    with opened(path) as study:
        text = best.footer(study)
    for width in (40, 60, 80):
        assert shown(text, width).split() == text.split()


def test_rows_are_json_and_csv(path: Path) -> None:
    with opened(path) as study:
        rows = findings.rows(study)
    assert json.loads(json.dumps(rows, allow_nan=False)) == rows
    read = list(csv.DictReader(io.StringIO(table_csv(rows))))
    assert [row["function"] for row in read] == [row["function"] for row in rows]
    assert read[3]["test_mean"] == ""


def test_the_advice_can_be_pasted(path: Path, tmp_path: Path) -> None:
    with opened(path) as study:
        assert 'pangaea.Activation("swish(alpha*x)")' in best.advice(study, Path("s.html"))
        exporting = "pangaea export 'swish(alpha*x)' --to torch"
        assert exporting in best.advice(study, Path("s.html"))
        assert exporting in best.export_hint(study)
    spaced = make(tmp_path / "it's mine.study", 10)
    with opened(spaced) as study:
        *_, more, on = best.advice(study, Path("s.html")).splitlines()
    assert shlex.split(more) == ["more", "pangaea", "top", str(spaced)]
    assert shlex.split(on)[2:] == ["pangaea", "resume", str(spaced), "--candidates", "20"]


def test_what_a_machine_has_spoilt_can_be_tried_again(path: Path) -> None:
    with opened(path) as study:
        assert study.failed_later == {"diverged": 1}
        assert "try again" not in best.advice(study, Path("s.html"))
        study.failed_later = {"diverged": 1, "out of memory": 2, "exception": 1}
        advice = best.advice(study, Path("s.html"))
        study.settings = replace(study.settings, minutes=5)
        timed = best.advice(study, Path("s.html"))
    assert f"try again    pangaea resume {path}  # 3 runs failed\n" in advice
    assert "try again" not in timed
    assert timed.endswith(f"search on    pangaea resume {path} --minutes 10  # 3 runs failed")


def test_people_read_the_simplified_formula_and_copy_the_text_that_is_kept(tmp_path: Path) -> None:
    text = "alpha*mul(beta*asinh(x), gamma*one(x))"
    with Maker(tmp_path / "s.study", candidates=1, runs=1) as maker:
        maker.baseline()
        with maker.study.transaction():
            maker.study.add(1, text, None, "initial")
            maker.run("search", 1, text, 1, 75.0)
        maker.judge()
    with opened(tmp_path / "s.study") as study:
        assert "\n#1  α·asinh(x)" in shown(best.table(study))
        assert [row["readable"] for row in findings.tested(study)] == ["ReLU", "α·asinh(x)"]
        assert headline(study)["function"] == "α·asinh(x)"
        advice = best.advice(study, Path("s.html"))
        assert 'use it       pangaea.Activation("alpha*asinh(x)")' in advice
        assert f"pangaea show {tmp_path / 's.study'} 1\n" in advice
        exporting = "pangaea export 'alpha*asinh(x)' --to torch"
        assert exporting in advice
        assert exporting in best.export_hint(study)
        assert findings.rows(study)[1]["function"] == text
        page = document.report(study, [study])
        assert page["rows"][0][1:3] == [text, "α·asinh(x)"]
        assert page["details"][0]["label"].startswith("α·asinh(x) (")
        markdown = formats.markdown([study])
        assert "| 1 | α·asinh(x) |" in markdown
        assert "γ" not in markdown
        assert exporting in markdown


def test_a_study_without_results_has_a_sentence(paths: dict[str, Path]) -> None:
    with opened(paths["empty"]) as study:
        assert findings.rows(study)[0]["score"] is None
        assert "no candidate" in best.advice(study, Path("e.html"))
        assert best.export_hint(study) == ""
        assert "mnist1d: 0 of 40 candidates" in best.footer(study)


def test_general_functions_are_shown_by_task(paths: dict[str, Path]) -> None:
    with opened(paths["general"]) as study:
        head, *lines = shown(best.table(study)).splitlines()
    assert head.split() == ["function", "mnist1d", "other.py:task"]
    assert sorted(line.split()[0] for line in lines) == ["elu(α·x)", "swish(x)", "tanh(x)"]
    first = {"function": "tanh(x)", "scope": "layer", "scores": {"a": 1.0}, "general": True}
    other = {"function": "elu(x)", "scope": None, "scores": {"a": 2.0}, "general": False}
    judged = [first, other | {"discarded": "dominated"}]
    text = shown(best.general_table(judged, {"a": ACCURACY}))
    assert re.search(r"tanh\(x\) per layer +1.00 +general", text)
    assert re.search(r"elu\(x\) +2.00 +dominated", text)


def test_rounds_with_budgets_have_a_column_of_their_own(path: Path, tmp_path: Path) -> None:
    rounds = {"candidates": 2, "runs": 0, "rounds": "2@30,1@35"}
    functions = ("tanh(x)", "swish(alpha*x)")
    with (
        Study.create(tmp_path / "rounds.study", flat(rounds), ABOUT) as study,
        study.transaction(),
    ):
        for number, function in enumerate(functions, 1):
            study.add(number, function, None, "initial")
            record(study, "search", function, 60.0 + number, candidate=number)
        rounds_of = ((functions[0], 30, 70), (functions[1], 30, 69), (functions[0], 35, 72))
        for function, budget, score in rounds_of:
            record(study, "rerank", function, score, budget=budget)
    with opened(tmp_path / "rounds.study") as study:
        text, footer = shown(best.table(study)), best.footer(study)
        page = document.report(study, [study])
        markdown = formats.markdown([study])
    assert re.search(r"tanh\(x\) +61.00 +72.00 @35", text)
    assert re.search(r"swish\(α·x\) +62.00 +69.00 @30", text)
    assert "again: validation accuracy (%) in the rounds with its largest budget, @ so" in footer
    assert page["again"] == {"tanh(x)": [0, "72.00 @35"], "swish(alpha*x)": [-1, "69.00 @30"]}
    assert "| 61.00 | 72.00 @35 |" in markdown
    with opened(path) as study:
        assert "again" not in document.report(study, [study])["columns"]
        assert "again:" not in best.footer(study)

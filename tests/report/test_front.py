"""The best function at every cost."""

import json
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from pangaea.report import formats
from pangaea.report.figures.front import front as figure
from pangaea.report.findings import rows
from pangaea.report.front import front, priced
from pangaea.report.records import opened
from pangaea.report.terminal import best
from tests.study_maker import LOSS, Maker, forge, generalize, make


def filled(
    path: Path, scores: dict[str, float], again: dict[str, float] | None = None, **given: Any
) -> Path:
    """A study with these candidates, some of them trained again; the baseline scores about 68."""
    with Maker(path, candidates=len(scores), **given) as maker:
        maker.baseline()
        with maker.study.transaction():
            for number, (text, score) in enumerate(scores.items(), 1):
                maker.study.add(number, text, None, "initial")
                maker.run("search", number, text, number, score)
            for seed, (text, score) in enumerate((again or {}).items()):
                maker.run("rerank", None, text, seed, score)
    return path


SCORES = {
    "gelu(tanh(x))": 90.0,  # the dearest
    "abs(x)": 75.0,
    "swish(x)": 82.0,
    "erfc(swish(x))": 79.0,  # dearer than swish, and worse
    "tanh(x)": 30.0,  # worse than the baseline
}


@pytest.mark.parametrize("goal", [{}, {"goal": LOSS}])
def test_nothing_as_cheap_is_better(tmp_path: Path, goal: dict[str, Any]) -> None:
    with opened(filled(tmp_path / "a.study", SCORES, **goal)) as study:
        found = front(study)
        assert [row["function"] for row in found] == [
            "relu(x)",
            "abs(x)",
            "swish(x)",
            "gelu(tanh(x))",
        ]
        assert [row["number"] for row in found] == [0, 2, 3, 1]
        costs = [row["cost"] for row in found]
        assert costs[0] == 1
        assert costs == sorted(costs)
        assert len(priced(study)) == 4


@pytest.mark.parametrize("goal", [{}, {"goal": LOSS}])
def test_longer_trainings_decide_between_functions_that_had_them(
    tmp_path: Path, goal: dict[str, Any]
) -> None:
    """Swish is cheap and lucky; what is dearer and better in the end stays beside it."""
    again = {"swish(x)": 70.0, "gelu(tanh(x))": 82.0, "erfc(swish(x))": 95.0}
    with opened(filled(tmp_path / "a.study", SCORES, again, **goal)) as study:
        rows = front(study)
        assert [row["function"] for row in rows] == [
            "relu(x)",
            "abs(x)",
            "swish(x)",
            "gelu(tanh(x))",
            "erfc(swish(x))",
        ]
        assert [row["budget"] for row in rows] == [None, None, 10, 10, 10]
        assert study.goal.gain(rows[4]["longer"], rows[3]["longer"]) > 0
        shown = best.front_table(study)
        assert shown is not None
        assert shown.headings == ["cost", "search", "longer"]
        assert "@10" in formats.markdown([study])


def test_every_candidate_is_as_dear_as_one_on_the_front_that_is_as_good(tmp_path: Path) -> None:
    with opened(make(tmp_path / "a.study", 60)) as study:
        found, longer = front(study), study.validations()
        assert len(found) > 2
        on = {row["number"] for row in found}
        for row in priced(study):
            if row["number"] in on or row["function"] in longer:
                continue
            cheaper = [r for r in priced(study) if r["cost"] <= row["cost"] and r is not row]
            assert max(r["score"] for r in cheaper) >= row["score"]


def test_without_a_better_function_there_is_no_front(tmp_path: Path) -> None:
    with opened(filled(tmp_path / "a.study", {"tanh(x)": 30.0})) as study:
        assert front(study) == []
        assert best.front_table(study) is None
        assert figure(study)["layout"]["meta"]["empty"]
        assert "Best at each cost" not in formats.markdown([study])


def test_functions_that_no_version_wrote_have_no_cost(tmp_path: Path) -> None:
    with opened(forge(tmp_path / "a.study", ["nonsense(x)"] * 30)) as study:
        assert front(study) == []


def test_a_study_of_general_functions_has_no_front(tmp_path: Path) -> None:
    with opened(generalize(tmp_path / "a.study")) as study:
        assert best.front_table(study) is None
        assert front(study) == []


@pytest.mark.parametrize("width", [40, 60, 100])
def test_the_front_is_legible_in_a_narrow_window(tmp_path: Path, width: int) -> None:
    console = Console(width=width, record=True, force_terminal=False)
    with opened(filled(tmp_path / "a.study", SCORES)) as study:
        console.print(best.front_table(study))
        costs = [f"{row['cost']:.1f}×" for row in front(study)]
    printed = console.export_text()
    assert max(map(len, printed.splitlines())) <= width
    assert all(cost in printed for cost in costs)
    assert "#3" in printed


def test_the_best_functions_come_with_what_they_cost(tmp_path: Path) -> None:
    with opened(filled(tmp_path / "a.study", SCORES)) as study:
        costs = {row["function"]: row["cost"] for row in rows(study, 10)}
        assert costs["relu(x)"] == 1
        assert costs["gelu(tanh(x))"] > costs["swish(x)"] > 1
        assert best.table(study).headings[-1] == "cost"
        assert "in times of ReLU's" in best.footer(study)


def test_reports_show_the_front(tmp_path: Path) -> None:
    with opened(filled(tmp_path / "a.study", SCORES)) as study:
        found = front(study)
        assert "Best at each cost:\n\n| cost | candidate" in formats.markdown([study])
        (reported,) = json.loads(formats.as_json([study]))["studies"]
        assert reported["front"] == found
        _, line = figure(study)["data"]
        assert line["y"] == pytest.approx([row["score"] for row in found], rel=1e-3)
        assert line["x"] == pytest.approx([row["cost"] for row in found], rel=1e-3)

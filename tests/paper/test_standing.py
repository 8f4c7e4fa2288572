"""Ours beside the paper's: means, differences, stars, and what is missing."""

from typing import Any

import pytest

from pangaea.errors import PangaeaError
from pangaea.paper import lines
from pangaea.paper.contents import experiment
from pangaea.paper.scales import scale
from pangaea.paper.standing import Standing, found_here, standings
from pangaea.report.paper import every_table, filled, latex, markdown, plain, table, written
from tests.study.driving import REPOSITORY

RESULTS = REPOSITORY / "results" / "paper.jsonl"


def runs(function: str, *scores: float | None, **more: Any) -> list[dict[str, Any]]:
    text, scope = lines.settled(function, more.pop("scope", None))
    asked = {"function": text, "scope": scope, "task": "wrn-10-4/cifar100", "budget": 200}
    return [
        asked | {"score": s, "failure": None if s is not None else "diverged"} | more
        for s in scores
    ]


def of(name: str, cell: str, known: list[dict[str, Any]], **how: Any) -> Standing:
    rows = standings(experiment(name), known, **how)
    return next(r for r in rows if r.cell.name == cell and r.cell.task == "wrn-10-4/cifar100")


def test_a_cell_has_its_difference_with_its_standard_error() -> None:
    one = of("results", "swish", runs("swish", 72.0, 73.0, 72.6))
    assert one.difference == pytest.approx(72.5333 - 72.26, abs=1e-3)
    assert one.error == pytest.approx((0.5033**2 / 3 + 0.28**2 / 10) ** 0.5, abs=1e-3)
    assert not one.apart
    assert of("results", "swish", runs("swish", 74.0, 74.1, 74.2)).apart
    single = of("results", "swish", runs("swish", 74.0))  # scatters as the paper's do
    assert single.error == pytest.approx((0.28**2 + 0.28**2 / 10) ** 0.5)
    assert single.apart
    assert not of("results", "swish", runs("swish", 72.5)).apart


def test_a_compressed_run_is_said_to_be_and_compared_with_nothing() -> None:
    known = runs("swish", 60.0, 61.0, budget=50) + runs("relu", 58.0, 58.5, budget=50)
    one = of("results", "swish", known)
    assert (one.recipe, one.difference, one.apart) == ("50 epochs", None, False)
    assert one.reference == (58.0, 58.5)


def test_the_largest_scale_counts_unless_another_is_asked_for() -> None:
    few = runs("swish", 3.0, task="wrn-10-4/cifar100/few", budget=2)
    assert of("results", "swish", few).recipe == "2 epochs, few samples"
    half = runs("swish", 52.0, task="wrn-10-4/cifar100/coarse", budget=15)
    assert of("results", "swish", few + half).recipe == "15 epochs, a quarter of the pixels"
    known = few + half + runs("swish", 60.0, budget=50) + runs("swish", 72.0)
    assert of("results", "swish", known).scores == (72.0,)
    assert of("results", "swish", known, scale=scale("lab")).scores == (60.0,)
    assert of("results", "swish", known, scale=scale("coarse")).scores == (52.0,)
    assert of("results", "swish", known, scale=scale("smoke")).scores == (3.0,)


def test_scopes_are_told_apart() -> None:
    known = runs("prelu", 71.0, scope="layer") + runs("prelu", 72.0, scope="neuron")
    rows = standings(experiment("prelu_lcn"), known)
    on_wrn = [row.scores for row in rows if row.cell.task == "wrn-10-4/cifar100"]
    assert on_wrn == [(71.0,), (), (72.0,)]
    assert of("results", "prelu", known).scores == (72.0,)


def test_a_failure_counts_as_chance_and_in_pau_s_set_up_for_nothing() -> None:
    one = of("results", "swish", runs("swish", 72.0, None))
    assert one.goal.mean(one.scores) == pytest.approx(36.5)
    known = runs("pau", 62.0, None, task="wrn-10-4/cifar100/pau")
    (row,) = (r for r in standings(experiment("pau_specialized_setup"), known) if r.scores)
    assert (row.scores, row.failures) == ((62.0,), 1)
    note = "A run that failed counts as 1.00 in a mean."
    assert note in plain(table("results", runs("swish", 72.0, None)))
    assert note not in plain(table("pau_specialized_setup", known))


def test_runs_that_the_machine_spoiled_are_none() -> None:
    assert of("results", "swish", runs("swish", None, failure="out of memory")).scores == ()


def test_functions_that_the_paper_does_not_have_stand_below() -> None:
    known = runs("alpha*relu(x)*tanh(beta*x)", 72.6, 72.4) + runs("swish", 72.0)
    (row,) = found_here(experiment("results"), known)
    assert row.cell.group == "found here"
    assert found_here(experiment("results"), runs("softplus(softplus(x))", 50.0, budget=15)) == []
    assert "found here" in plain(table("results", known))


def test_what_a_search_found_stands_under_its_name_where_it_belongs() -> None:
    def by(search: str, function: str) -> list[dict[str, Any]]:
        return [run | {"search": search} for run in runs(function, 72.6, 72.4)]

    random, mine = "paper-lab-random-search", "half-an-hour"
    known = by(random, "tanh(alpha*swish(x))") + by(mine, "erf(alpha*x)") + runs("swish", 72.0)
    shown = table("search_strategy", known, scale("lab")).groups
    assert {f"found by {random}", f"found by {mine}"} <= shown.keys()
    assert shown[f"found by {random}"][0][2].startswith("72.50")
    other = table("disable_parameters", known)
    assert f"found by {mine}" in other.groups
    assert f"found by {random}" not in other.groups
    assert "| **found by half-an-hour** |" in markdown(other)


def test_a_table_in_markdown_has_its_caption_and_groups() -> None:
    whole = table("resnetv1_lcn", [], every=True)
    text = written("md", whole)
    assert text.startswith(whole.caption)
    assert text.count("| **") == len(whole.groups) == 7
    assert f"% {whole.caption}\n" in written("latex", whole)


def test_the_table_names_what_is_missing() -> None:
    known = runs("swish", 72.0, 73.0) + runs("relu", 70.0, 70.1)
    text = plain(table("results", known))
    assert "Missing are 88 of 90 cells of results." in text
    assert "wrn-10-4/cifar100: " in text
    assert "PReLU per neuron" in text
    assert "Missing" not in plain(table("results", known, brief=True))
    assert text.count("Swish  ") == 1
    shown = plain(table("results", known, every=True))
    assert sum("cifar100" in line for line in shown.splitlines()[:-1]) >= 90


def test_what_is_there_in_part_is_named_too() -> None:
    known = runs("swish", 72.0, 73.0) + runs("relu", 70.0, budget=50) + runs("gelu", *[70.0] * 10)
    text = plain(table("results", known))
    assert "Missing are 87 of 90" in text
    lines = text.splitlines()
    shorter = lines.index("Trained shorter, or on fewer data, alone: 1.")
    assert lines[shorter + 2] == "wrn-10-4/cifar100: ReLU (50 epochs)"
    fewer = lines.index("With fewer runs than they shall have: 1.")
    assert lines[fewer + 2 :] == ["wrn-10-4/cifar100: Swish (2 of 10)"]
    lab = plain(table("results", known, scale("lab")))
    assert "With fewer runs than they shall have: 1.\n\nwrn-10-4/cifar100: ReLU (1 of 3)" in lab
    assert "shorter" not in lab


def test_stars_are_of_a_welch_test_against_our_own_relu() -> None:
    known = runs("swish", 73.0, 73.1, 73.2) + runs("relu", 70.0, 70.1, 70.2)
    (line,) = (x for x in plain(table("results", known)).splitlines() if x.startswith("Swish"))
    assert "73.10 ± 0.10 ***" in line
    assert "+0.84 ± 0.11‡" in line


def test_markdown_and_latex_keep_to_their_syntax() -> None:
    known = runs("wrn-1", 73.0, 73.1) + runs("relu", 70.0, 70.1)
    shown = table("results", known)
    rows = [line for line in markdown(shown).splitlines() if line.startswith("|")]
    assert len({line.replace(r"\|", "").count("|") for line in rows}) == 1
    assert r"\*" in markdown(shown)
    tex = latex(shown)
    body = [line for line in tex.splitlines() if line.endswith(r"\\")]
    assert all(line.count("&") in (0, 6) for line in body)
    assert r"log($\sigma$($\alpha$$\cdot$x))" in tex
    assert r"\par{\footnotesize test accuracy (\%), mean $\pm$ sample sd." in tex
    assert r"x$^{2}$" in latex(table("results", [], every=True)._replace(notes=["x^2"]))


def test_a_block_in_markdown_is_made_by_the_command_that_it_names() -> None:
    text = (
        "a\n<!-- pangaea paper show results --from x.jsonl --scale paper -->\nold\n<!-- end -->\n"
    )
    known = runs("swish", 72.0, 73.0)
    files = []

    def read(name: str) -> list[dict[str, Any]]:
        files.append(name)
        return known

    made = filled(text, read)
    assert files == ["x.jsonl"]
    assert "old" not in made
    assert "| Swish | wrn-10-4/cifar100 | 72.50 ± 0.71 |" in made
    assert filled(made, read) == made
    with pytest.raises(PangaeaError, match="a block is made by"):
        filled(text.replace("--from", "--of"), read)


@pytest.mark.parametrize("name", ["README.md", "docs/paper_map.md"])
def test_the_published_tables_are_made_from_the_published_runs(name: str) -> None:
    """If this fails: `make tables`."""
    file = REPOSITORY / name
    text = file.read_text(encoding="utf-8")
    assert "<!-- pangaea paper show" in text
    assert filled(text, lambda path: lines.read(file.parent / path)) == text


def test_how_many_functions_come_out_as_printed_is_said_as_the_table_has_it() -> None:
    text = (REPOSITORY / "docs/paper_map.md").read_text(encoding="utf-8")
    rows = standings(experiment("telling"), lines.read(RESULTS), scale("paper"))
    compared = [one.apart for one in rows if one.error is not None]
    sentence = (
        f"{compared.count(False)} of {len(compared)} functions on WRN-10-4 come out within two "
        "standard errors of the print"
    )
    assert text.count(sentence) == text.count("on WRN-10-4 come out within two") == 10


def test_every_table_that_has_a_run_is_on_the_page() -> None:
    head, rows, notes = every_table(lines.read(RESULTS))
    assert any("mean ± sample sd" in note for note in notes)
    assert "of 90 cells of results have no run yet: pangaea paper show" in notes[-1]
    assert all(len(row) == len(head) for row in rows)
    assert {"results", "search_strategy", "disable_parameters"} <= {row[0] for row in rows}

"""What results/README.md says of the published files is true of them."""

import json
import re
from pathlib import Path
from statistics import fmean, median, stdev

import numpy as np
import pytest

import pangaea as pg
from benchmarks.strategies import difference, interval
from pangaea.report.texts import short
from pangaea.study.runs import mark
from tests.docs.blocks import ROOT

RESULTS = ROOT / "results"
README = (RESULTS / "README.md").read_text()
ROWS = {
    name: row
    for row in re.findall(r"^\| \S+\.(?:json|csv).*$", README, re.MULTILINE)
    for name in re.findall(r"[\w.-]+\.(?:jsonl?|csv\.gz|study)", row.split("|")[1])
}
TRAININGS = [*RESULTS.glob("wrn-10-4-*.json"), *RESULTS.glob("*-short.json")]
TRAININGS += [RESULTS / "mnist1d.json", *RESULTS.glob("common-*.json")]
CURVES = ("loss", "training", "validation", "parameters")
HALVING = 'thrifty:candidates=160;seeds="common";rounds="16,8,4,4,2,2,2,2"'
PARTS = {  # of choosy: what docs/search.md calls an arm that goes without one
    "as it is": "choosy",
    "of one child": HALVING,
    "of five children": "choosy:children=5",
    "nothing taken as it comes": "choosy:candidates=160;unscreened=0",
    "every run with a seed of its own": 'choosy:candidates=160;seeds="own"',
    "the paper's rounds": 'choosy:candidates=200;rounds="10,10"',
    "with a warm start": 'choosy:candidates=160;start="swish,softplus,gelu,elu"',
    "with further runs of the best": "choosy:candidates=160;pooled=5",
    "with restarts from the best": "choosy:candidates=160;patience=30",
    "where the cheapest of equals breeds": "choosy:candidates=160;slack=2",
    "with the half": "choosy:candidates=160;likely=0.5",
    "once more": "choosy:candidates=160",
}
FIGURES = ("test", "optimism")
TASKS = (ROOT / "docs" / "tasks.md").read_text()


def test_every_file_is_in_the_table() -> None:
    files = {path.name for path in RESULTS.iterdir()} - {"README.md"}
    assert files - ROWS.keys() == set()


@pytest.mark.parametrize("path", TRAININGS, ids=lambda path: path.stem)
def test_a_whole_training_has_its_circumstances_and_curves(path: Path) -> None:
    published = json.loads(path.read_text())
    for name in ("command", "device", "versions", "recipe"):
        assert published[name], name
    runs = [run for function in published["functions"] for run in function["runs"]]
    assert runs
    for run in runs:
        assert run.keys() >= {"seed", *CURVES}
        assert run["loss"]


@pytest.mark.parametrize("name", sorted(name for name in ROWS if name.endswith(".json")))
def test_the_command_stands_in_the_file_or_in_its_row(name: str) -> None:
    published = json.loads((RESULTS / name).read_text())
    assert "command" in published or "`benchmarks/" in ROWS[name] or "`pangaea " in ROWS[name]


@pytest.mark.parametrize(("place", "task"), [(2, "charlm"), (3, "pinn"), (4, "tabular")])
def test_the_table_of_common_functions_is_that_of_its_files(place: int, task: str) -> None:
    published = json.loads((RESULTS / f"common-{task}.json").read_text())
    digits = published["goal"]["digits"]
    table = TASKS.split("| function |")[1].split("\n\n")[0]
    cells = [line.split("|")[place].strip(" *") for line in table.splitlines()[2:]]
    scores = [
        f"{row['mean']:.{digits}f} ± {row['sd']:.{digits}f}".replace("-", "−")
        for row in published["functions"]
    ]
    assert [cell for cell in cells if cell] == scores


def test_what_default_searches_find_is_as_their_reports_have_it() -> None:
    studies = json.loads((RESULTS / "search-mnist1d.json").read_text())["studies"]
    table = (ROOT / "README.md").read_text().split("| seed | ReLU |")[1].split("\n\n")[0]
    rows = []
    for study in studies:
        relu, first = study["headline"]["tested"][:2]
        p = f"{first['p']:.0e}".replace("e-0", "e-")
        gain = f"{first['mean'] - relu['mean']:.1f} (p = {p})"
        shown = f"{first['readable']}: {first['shown']}"
        rows.append(f"| {study['settings']['seed']} | {relu['shown']} | {shown} | {gain} |")
    assert table.splitlines()[2:] == rows


@pytest.mark.parametrize("part", PARTS)
def test_what_each_part_of_choosy_does_is_as_its_searches_say(part: str) -> None:
    published = json.loads((RESULTS / "strategies.json").read_text())
    (row,) = re.findall(rf"^\| {part}.*$", (ROOT / "docs/search.md").read_text(), re.MULTILINE)
    arm, cells = PARTS[part], [cell.strip().replace("−", "-") for cell in row.split("|")[2:-1]]
    figures = published["arms"][arm]
    assert (cells[0], cells[2]) == (f"{figures['test']:.1f}", f"{figures['optimism']:.1f}")
    if arm != "choosy":
        compared = published["differences"][f"{arm} - choosy"]
        low, high = compared["interval"]
        assert cells[1] == f"{compared['difference']:+.1f} ({low:.1f} to {high:.1f})"


@pytest.mark.parametrize(
    ("arm", "without"),
    [
        ("choosy:candidates=225;discard=0.5", "choosy:candidates=160"),
        (HALVING.replace("160", "225") + ";discard=0.5", HALVING),
        ("choosy:candidates=160;likely=0.5", "choosy"),
        ("shrewd:candidates=160;children=8;likely=0.5;optimism=1.0", HALVING),
    ],
)
def test_what_did_not_pay_is_as_its_searches_say(arm: str, without: str) -> None:
    published = json.loads((RESULTS / "strategies.json").read_text())
    mine, theirs = (published["arms"][name] for name in (arm, without))
    assert mine["searches"] == theirs["searches"] == 16
    figures = f"{mine['test']:.1f} against {theirs['test']:.1f}"
    compared = published["differences"][f"{arm} - {without}"]
    low, high = (f"{end:.1f}" for end in compared["interval"])
    ends = rf"{compared['difference']:.1f}, (95% )?{low} to {high}".replace("-", "−")
    text = " ".join((ROOT / "docs/did_not_pay.md").read_text().split())
    assert re.search(rf"{figures} \((16 searches each, difference )?{ends}\b", text)


def test_what_restarts_find_is_as_their_searches_say() -> None:
    published = json.loads((RESULTS / "strategies-restarts.json").read_text())
    plain, restarts = "choosy:candidates=160", "choosy:candidates=160;patience=30"
    figures = published["arms"][plain]
    assert figures["searches"] == published["arms"][restarts]["searches"] == 16
    test, believed = (
        f"{figures[name]:.1f} ({figures[ends][0]:.1f} to {figures[ends][1]:.1f})"
        for name, ends in (("test", "test_interval"), ("optimism", "optimism_interval"))
    )
    compared = published["differences"][f"{plain} - {restarts}"]
    low, high = (-end for end in reversed(compared["interval"]))
    difference = f"({-compared['difference']:+.1f}, {low:.1f} to {high:.1f}".replace("-", "−")
    again = f"{published['arms'][restarts]['test']:.1f}"
    search = " ".join((ROOT / "docs/search.md").read_text().split())
    assert f"test at {test}, having believed" in search
    assert f"{believed.replace(' (', ' too much (')}; with restarts" in search
    assert f"sixteen too, at {again} {difference};" in search
    other = " ".join((ROOT / "docs/did_not_pay.md").read_text().split())
    assert f"other seeds {again} against {figures['test']:.1f} {difference};" in other


def test_what_strategies_find_on_another_task_is_as_their_searches_say() -> None:
    published = json.loads((RESULTS / "strategies-tabular-3.json").read_text())
    tanh = next(
        row["mean"]
        for row in json.loads((RESULTS / "common-tabular-3.json").read_text())["functions"]
        if row["function"] == "tanh(x)"
    )
    text = (ROOT / "docs/search.md").read_text()
    table = text.split("| `tabular-3` | first")[1].split("\n\n")[0]
    shown = {
        cells[0].replace("`", ""): cells[1:]
        for line in table.splitlines()[2:]
        for cells in [[cell.strip() for cell in line.split("|")[1:-1]]]
    }
    rounds = " with common seeds and rounds that halve"
    for arm, figures in published["arms"].items():
        tests = [row["test"] for row in published["rows"] if row["arm"] == arm]
        low, high = figures["test_interval"]
        named = arm.partition(":")[0] + rounds * ("rounds" in arm)
        assert shown.pop(named) == [
            f"{figures['test']:.4f}",
            f"{low:.4f} to {high:.4f}",
            f"{median(tests):.4f}",
        ]
    assert not shown
    better = sum(row["test"] > tanh for row in published["rows"])
    assert f"tanh is the best there, with {tanh:.4f}" in text
    assert f"{better} of the {len(published['rows'])} searches" in text


def test_all_searches_of_choosy_together_are_as_said() -> None:
    files = [
        json.loads((RESULTS / f"strategies{end}.json").read_text()) for end in ("", "-restarts")
    ]
    rows = [row for file in files for row in file["rows"]]
    arms = {"choosy": {"choosy", "choosy:candidates=160"}}
    arms |= {name: {name} for name in ("thrifty", "evolution")}

    def searches(arm: str, figure: str) -> np.ndarray:
        return np.array([row[figure] for row in rows if row["arm"] in arms[arm]])

    text = " ".join((ROOT / "docs/search.md").read_text().split())
    for figure, what in (("test", "test at {}"), ("optimism", "believed {} too much")):
        mine = searches("choosy", figure)
        assert len(mine) == 48
        low, high = interval(mine)
        assert f"{what.format(f'{mine.mean():.1f}')} ({low:.1f} to {high:.1f})" in text
        for arm in ("thrifty", "evolution"):
            row = difference(mine, searches(arm, figure))
            low, high = sorted(map(abs, row["interval"]))
            than = f"above `{arm}`" if figure == "test" else f"less than `{arm}`"
            assert f"{abs(row['difference']):.1f} {than} ({low:.1f} to {high:.1f})" in text


def test_what_rungs_find_is_as_their_searches_say() -> None:
    names = ("strategies", "strategies-restarts", "strategies-rungs")
    files = [json.loads((RESULTS / f"{name}.json").read_text()) for name in names]
    plain = {"choosy", "choosy:candidates=160"}
    without = [row["test"] for file in files for row in file["rows"] if row["arm"] in plain]
    mine = np.array([row["test"] for row in files[-1]["rows"]])
    assert (len(mine), len(without)) == (32, 48)
    figures = files[-1]["arms"]["choosy:candidates=133;rungs=4"]
    compared = difference(mine, np.array(without))
    text = " ".join((ROOT / "docs/search.md").read_text().split())
    for value, (low, high), what in (
        (figures["test"], figures["test_interval"], "test at {}"),
        (compared["difference"], compared["interval"], "{} above the 48 without"),
        (figures["optimism"], figures["optimism_interval"], "believed {} too much"),
    ):
        words = f"{what.format(f'{value:.1f}')} ({low:.1f} to {high:.1f}".replace("-", "−")
        assert words in text
    assert f"32 searches of {figures['candidates']:.0f} functions" in text
    assert figures["units"] == 4780


def test_what_was_found_on_cifar_100_is_as_its_runs_say() -> None:
    table = (ROOT / "docs/search.md").read_text().split("| function | a quarter of the pixels")[1]
    rows = table.split("\n\n")[0].replace("\\|", "¦").splitlines()[2:]
    lines = [*map(json.loads, (RESULTS / "paper.jsonl").read_text().splitlines())]
    known = pg.bench()
    half = {"wrn-10-4-coarse": "wrn-10-4/cifar100/coarse", "rank-audit": "wrn-10-4/cifar100-half"}
    whole = half | {"rank-audit": "wrn-10-4/cifar100"}
    assert len(rows) == 4
    for row in rows:
        name, *cells = (cell.strip() for cell in row.split("|")[1:-1])
        text = name.replace("¦", "|").rpartition(", ")[2]
        for budget, tasks, cell in zip((15, 50, 100), (half, whole, whole), cells, strict=False):
            scores = next(
                scores
                for study, task in tasks.items()
                for runs in [known.where(study=study, task=task, budget=budget, mark=mark(text))]
                if len(scores := runs.score)
            )
            assert cell == f"{scores.mean():.2f} ({len(scores)})"
        full = [
            run for run in lines if run["budget"] == 200 and mark(run["function"]) == mark(text)
        ]
        tests = [run["score"] for run in full]
        assert cells[3] == f"{fmean(run['values']['validation'] for run in full):.2f}"
        assert cells[4] == f"{fmean(tests):.2f} ± {stdev(tests):.2f} ({len(tests)})"


def test_what_was_found_on_whole_images_is_as_its_study_says() -> None:
    table = (ROOT / "docs/search.md").read_text().split("| function | 15 epochs |")[1]
    rows = table.split("\n\n")[0].splitlines()[2:]
    lines = [*map(json.loads, (RESULTS / "paper.jsonl").read_text().splitlines())]
    published = {mark(run["function"]): [] for run in lines}
    for run in lines:
        if run["budget"] == 200:
            published[mark(run["function"])].append(run["values"]["validation"])
    known = pg.bench().where(task="wrn-10-4/cifar100", part="validation")
    with pg.open_study(RESULTS / "search-wrn-10-4.study") as study:
        best = [row["function"] for row in study.best(3)]
    assert len(rows) == 5
    for place, row in enumerate(rows):
        name, *cells = (cell.strip() for cell in row.split("|")[1:-1])
        text = name.rpartition(", ")[2]
        if place < len(best):
            text = best[place]
            assert name == short(text)  # the text has a parameter more where two are one
        for budget, cell in zip((15, 50, 200), cells, strict=True):
            same = known.where(budget=budget, mark=mark(text))
            scores = (
                list(same.where(study="wrn-10-4").score)
                or list(same.where(study="rank-audit").score)
                or published[mark(text)]
            )
            assert cell == f"{fmean(scores):.2f} ({len(scores)})"


@pytest.mark.parametrize(
    ("place", "epoch", "text"),
    [(0, "2", "saved {}% of the training after 2 of 15"), (1, "3", "{}% after 3 of 20 epochs")],
)
def test_what_early_looks_save_is_as_the_curves_say(place: int, epoch: str, text: str) -> None:
    search = json.loads((RESULTS / "early-looks.json").read_text())["searches"][place]
    look = search["looks"][epoch]["0.5"]
    assert look["best tenth stopped"] == 0
    flat = " ".join((ROOT / "docs/did_not_pay.md").read_text().split())
    assert text.format(round(100 * look["saved"])) in flat


def test_what_the_rank_audit_says_of_the_best_is_as_its_report_has_it() -> None:
    report = json.loads((RESULTS / "rank-audit.json").read_text())
    text = (ROOT / "docs/search.md").read_text().split("### On CIFAR-100")[1]
    names = ("wrn-10-4/cifar100-half:15", "wrn-10-4/cifar100:15", "wrn-10-2/cifar100:15")
    shares = [
        report["settings"][name]["sd, best third"]["share of one run's variance"] for name in names
    ]
    assert shares == [0.297, 0.946, 0.905]
    flat = " ".join(text.split())
    assert "tells 0.30 of the variance between functions, one of 15 epochs on" in flat
    assert "whole images 0.95, of WRN-10-2 0.91" in flat
    printed = report["the paper's 200 epochs"]["settings"]
    settings = {"50 epochs": "wrn-10-4/cifar100:50", "15 epochs": names[1]}
    for shown, name in (settings | {"15 epochs, a quarter of the pixels": names[0]}).items():
        cells = []
        for of in ("all", "the best twelve", "the best eight"):
            low, high = printed[name][of]["interval"]
            cells.append(f"{printed[name][of]['spearman']:.2f} ({low:.2f} to {high:.2f})")
        assert f"| {shown} | {' | '.join(cells)} |".replace("-", "−") in text
    here = report["200 epochs here"]
    longer, shorter = (here["settings"][name]["all"] for name in settings.values())
    assert len(here["functions"]) == 9
    assert f"50 epochs rank by {longer['spearman']:.2f}, 15 by {shorter['spearman']:.2f}" in flat
    lows = [f"−{-part['interval'][0]:.1f}" for part in (longer, shorter)]
    assert f"open from {' and '.join(lows)} to {shorter['interval'][1]:.1f}" in flat
    assert f"to {longer['interval'][1]:.1f}." in flat


@pytest.mark.parametrize("task", ["tabular", "tabular-2", "tabular-3"])
def test_what_common_seeds_and_rounds_that_halve_do_is_as_their_searches_say(task: str) -> None:
    published = json.loads((RESULTS / f"strategies-{task}.json").read_text())
    plain = "thrifty:candidates=200"
    both = PARTS["of one child"].replace("160", "150")
    compared = published["differences"]
    if f"{both} - {plain}" in compared:
        difference = compared[f"{both} - {plain}"]["difference"]
        low, high = compared[f"{both} - {plain}"]["interval"]
    else:
        difference = -compared[f"{plain} - {both}"]["difference"]
        high, low = (-end for end in compared[f"{plain} - {both}"]["interval"])
    figures = [published["arms"][arm][name] for arm in (plain, both) for name in FIGURES]
    table = (ROOT / "docs/search.md").read_text().split("| `thrifty` | tests at |")[1]
    (row,) = re.findall(rf"^\| `{task}` \| (.*) \|$", table, re.MULTILINE)
    assert row.replace("−", "-").split(" | ") == [
        *(f"{figure:.5f}" for figure in figures),
        f"{difference:+.5f} ({low:.5f} to {high:.5f})",
    ]


@pytest.mark.parametrize("task", ["tabular", "tabular-2"])
def test_how_often_a_search_beats_gelu_is_as_its_searches_say(task: str) -> None:
    functions = json.loads((RESULTS / f"common-{task}.json").read_text())["functions"]
    best = max(functions, key=lambda row: row["mean"])
    rows = json.loads((RESULTS / f"strategies-{task}.json").read_text())["rows"]
    better = sum(row["test"] > best["mean"] for row in rows)
    assert best["function"] == "gelu(x)"
    text = (ROOT / "docs/search.md").read_text()
    assert re.search(rf"\b{better} of {len(rows)}\b[^,.]*\son `{task}`", text)


@pytest.mark.parametrize("path", sorted(RESULTS.glob("*.json")), ids=lambda path: path.stem)
def test_every_published_file_holds_its_command(path: Path) -> None:
    body = json.loads(path.read_text(encoding="utf-8"))
    for part in body.get("studies", [body]):
        assert re.match(r"(python|pangaea|pytest) ", part["command"])


SMALL = ("mnist1d", "tabular", "tabular-2", "tabular-3")
BEST = {"swish(x)": "Swish", "gelu(x)": "GELU", "tanh(x)": "tanh"}


def starts(task: str) -> dict[str, list[float]]:
    """The tests of the searches by their arms: few candidates and many, each cold and warm."""
    tests: dict[str, list[float]] = {}
    for row in json.loads((RESULTS / f"strategies-starts-{task}.json").read_text())["rows"]:
        tests.setdefault(row["arm"], []).append(row["test"])
    few, few_warm, many, many_warm = tests
    assert {len(values) for values in tests.values()} == {16}
    assert "candidates=40" in few
    assert few in few_warm
    assert many in many_warm
    return tests


@pytest.mark.parametrize("task", SMALL)
def test_what_few_candidates_find_is_as_their_searches_say(task: str) -> None:
    functions = json.loads((RESULTS / f"common-{task}.json").read_text())["functions"]
    best = max(functions, key=lambda row: row["mean"])
    relu = next(row["mean"] for row in functions if row["function"] == "relu(x)")
    digits = 1 if task == "mnist1d" else 5
    cells = [f"{relu:.{digits}f}", f"{BEST[best['function']]}: {best['mean']:.{digits}f}"]
    for tests in starts(task).values():
        better = sum(test > best["mean"] for test in tests)
        cells.append(f"{fmean(tests):.{digits}f} ({better})")
    text = (ROOT / "docs/search.md").read_text()
    assert f"| `{task}` | {' | '.join(cells)} |" in text
    few, _, many, _ = starts(task).values()
    middle = median if task == "tabular-3" else fmean
    share = (middle(few) - relu) / (middle(many) - relu)
    assert 0.85 < share < 0.95


def test_what_a_warm_start_does_is_as_its_searches_say() -> None:
    text = " ".join((ROOT / "docs/search.md").read_text().split()).replace("−", "-")
    for task in SMALL:
        published = json.loads((RESULTS / f"strategies-starts-{task}.json").read_text())
        few, few_warm, many, many_warm = starts(task)
        digits = 1 if task == "mnist1d" else 5
        for cold, warm in ((few, few_warm), (many, many_warm)):
            compared = published["differences"][f"{warm} - {cold}"]
            low, high = (f"{end:.{digits}f}" for end in compared["interval"])
            told = rf"{compared['difference']:.{digits}f} \((95%: )?{low} to {high}\)"
            # Of many: one search of tabular-3 stands out, and mnist1d had another start.
            if cold == few or task in ("tabular", "tabular-2"):
                assert re.search(rf"(?<![\d.]){told}", text), (task, told)
            certain = not compared["interval"][0] < 0 < compared["interval"][1]
            assert certain == (task == "tabular" and cold == few)

"""Every figure says what the study holds, and is one that Plotly can draw."""

import itertools
import math
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import plotly.graph_objects as go
import pytest

from pangaea.errors import PangaeaError, UnknownNameError
from pangaea.functions.parser import parse
from pangaea.report import figures as package
from pangaea.report import pictures, plot
from pangaea.report.figures import cost as cost_figure
from pangaea.report.figures import figures, theme
from pangaea.report.figures.cost import cost
from pangaea.report.figures.functions import adaptation, curves, gallery, recorded, shape
from pangaea.report.figures.population import failures, operators, timeline
from pangaea.report.figures.search import average, compute, progress
from pangaea.report.figures.trees import graph, lineage
from pangaea.report.page.document import report
from pangaea.report.records import Snapshot, names, opened, steps
from pangaea.study.study import Study
from tests.report.conftest import KINDS
from tests.study_maker import LOSS, Maker

RELU = "relu(x)"
OF_STUDIES = [f.name for f in figures().values() if f.takes != "function"]
ALLOWED = {*theme.PALETTE, theme.GREY}


def trace(spec: dict[str, Any], **wanted: Any) -> Any:
    (found,) = [t for t in spec["data"] if all(t.get(k) == v for k, v in wanted.items())]
    return found


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", OF_STUDIES)
def test_every_figure_of_every_study_is_one_that_plotly_draws(
    name: str, kind: str, paths: dict[str, Path]
) -> None:
    with Study.open(paths[kind]) as study:
        figure = getattr(plot, name)(study)
    assert isinstance(figure, go.Figure)
    text = str({"data": figure.to_dict()["data"], "notes": figure.layout.annotations})
    assert "<script" not in text
    assert "<img" not in text


@pytest.mark.parametrize("make", [progress, compute, average, cost, curves, operators])
def test_axes_are_labelled(make: Any, study: Snapshot) -> None:
    layout = make(study)["layout"]
    assert layout["title"]["text"]
    assert layout["meta"]["caption"].endswith(".")
    for axis in ("xaxis", "yaxis"):
        assert layout[axis]["title"]["text"], axis


def test_lines_and_marks_have_the_colours_that_the_colour_blind_tell_apart(study: Snapshot) -> None:
    for make in (progress, compute, average, cost, curves, operators, failures, timeline):
        for drawn in make(study)["data"]:
            for part in ("line", "marker"):
                colour = drawn.get(part, {}).get("color", theme.GREY)
                assert colour in ALLOWED, (make, colour)


def test_progress_is_the_best_so_far_with_the_baseline_at_zero(study: Snapshot) -> None:
    spec = progress(study)
    scores = (row["score"] or 0.0 for row in study.finished)
    best = list(itertools.accumulate(scores, max))
    line = trace(spec, mode="lines")
    for x, y in zip(line["x"], line["y"], strict=True):
        assert y == best[int(x) - 1]
    assert (line["x"][-1], line["y"][-1]) == (60, max(best))
    diamond = next(t for t in spec["data"] if t.get("marker", {}).get("symbol") == "diamond")
    assert (diamond["x"], diamond["y"]) == ([0], [study.baseline_score])


def test_stars_name_the_best_function_and_others_that_were_the_best_for_a_while(
    study: Snapshot,
) -> None:
    stars = next(t for t in progress(study)["data"] if t.get("marker", {}).get("symbol") == "star")
    found = {step.row["number"]: step for step in steps(study.finished, study.goal)}
    best = max(study.finished, key=lambda row: row["score"] or 0.0)
    assert stars["customdata"][0] == [best["number"], parse(best["function"]).readable()]
    assert 2 <= len(stars["x"]) <= 5
    for x, y, (number, _) in zip(stars["x"], stars["y"], stars["customdata"], strict=True):
        assert (x, y) == (found[number].after, found[number].row["score"])
    assert all(len(text) <= 48 for text in stars["text"])


def test_compute_ends_at_the_time_that_all_training_took(study: Snapshot) -> None:
    spec = compute(study)
    minutes = sum(row["seconds"] for row in study.finished) / 60
    assert spec["layout"]["xaxis"]["title"]["text"] == "compute spent (minutes)"
    assert trace(spec, mode="lines")["x"][-1] == pytest.approx(minutes)


def test_the_average_is_that_of_the_last_p(study: Snapshot) -> None:
    values = [row["score"] for row in study.finished]
    assert None in values
    drawn = trace(average(study), mode="lines")
    p = study.settings.get("population")
    assert p == study.population
    assert len(drawn["x"]) == len(values)
    for x, y in zip(drawn["x"], drawn["y"], strict=True):
        last = [value for value in values[max(0, x - p) : x] if value is not None]
        assert y == pytest.approx(sum(last) / len(last), abs=1e-3)


def test_studies_are_laid_over_each_other_under_names_that_differ(
    paths: dict[str, Path], tmp_path: Path
) -> None:
    other = tmp_path / "finished.study"
    other.write_bytes(paths["finished"].read_bytes())
    with opened(paths["finished"]) as a, opened(other) as b, opened(paths["random"]) as c:
        labels = names([a, b, c])
        assert len(set(labels)) == 3
        assert all(label.endswith(("finished", "random")) for label in labels)
        for make in (progress, compute, average):
            shown = [t["name"] for t in make(a, b, c)["data"] if t.get("showlegend", True)]
            assert len(set(shown)) == 3
            lines = [t for t in make(a, b, c)["data"] if t.get("name") in shown]
            assert len({t["line"]["color"] for t in lines}) == 3


def test_cost_counts_every_candidate_that_was_trained(study: Snapshot) -> None:
    spec = cost(study)
    trained = [row for row in study.finished if row["score"] is not None]
    points = spec["data"][0]
    assert sorted(points["x"]) == pytest.approx(sorted(row["score"] for row in trained), abs=1e-3)
    fits, times = [t for t in spec["data"] if t["type"] == "bar"]
    assert sum(fits["y"]) == sum(times["x"]) == len(trained)
    written = {row["number"]: parse(row["function"]).simplified() for row in trained}
    assert dict(points["customdata"]) == {n: f.readable() for n, f in written.items()}
    assert any(
        f != parse(row["function"]) for f, row in zip(written.values(), trained, strict=True)
    )


def test_nothing_is_both_fitter_and_cheaper_than_the_front(study: Snapshot) -> None:
    spec = cost(study)
    front = trace(spec, name="Pareto front")
    every = set(zip(spec["data"][0]["x"], spec["data"][0]["y"], strict=True))
    on = set(zip(front["x"], front["y"], strict=True))
    assert on <= every
    for x, y in every:
        dominated = any(a >= x and b <= y and (a, b) != (x, y) for a, b in every)
        assert dominated != ((x, y) in on)


def test_cost_is_coloured_by_what_tells_the_studies_apart(paths: dict[str, Path]) -> None:
    with opened(paths["finished"]) as a, opened(paths["random"]) as b:
        assert [t["name"] for t in cost(a, b)["data"] if t.get("mode") == "markers"][:2] == [
            "per channel",
            "per layer",
        ]
        names = [t["name"] for t in cost(a, b, by="strategy")["data"] if t.get("mode") == "markers"]
        assert names[:2] == ["evolution", "random-search"]
        with pytest.raises(UnknownNameError, match="no colouring is called 'colour'"):
            cost(a, by="colour")


def test_a_crowd_is_thinned_but_its_best_and_its_histograms_are_whole(
    study: Snapshot, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = cost(study)
    monkeypatch.setattr(cost_figure, "_POINTS", 10)
    monkeypatch.setattr(cost_figure, "_LEAST", 10)
    thin = cost(study)
    assert len(thin["data"][0]["x"]) <= 10 < len(whole["data"][0]["x"])
    assert max(thin["data"][0]["x"]) == max(whole["data"][0]["x"])
    assert thin["data"][1]["y"] == whole["data"][1]["y"]
    assert "10 of" in thin["layout"]["meta"]["caption"]


def test_a_title_is_simplified_but_names_the_parameters_whose_values_it_shows() -> None:
    text = "alpha*(beta*asinh(x)*gamma)"
    values = {"alpha": 2.0, "beta": 3.0, "gamma": 4.0}
    assert shape(text)["layout"]["meta"]["title"] == "α·asinh(x)"
    assert shape(text, values)["layout"]["meta"]["title"] == "α·β·γ·asinh(x)"
    assert shape("prelu")["layout"]["meta"]["title"] == "x if x ≥ 0 else α·x"


def test_the_gallery_shows_functions_and_slopes_before_and_after_training(study: Snapshot) -> None:
    panels = gallery(study, 3)
    for panel, row in zip(panels, study.best(3), strict=True):
        f = parse(row["function"])
        assert panel["layout"]["meta"]["title"] == f.simplified().readable()
        ends = {n: v[-1] for n, v in recorded(study, row["function"]).items()}
        trained = {n: sum(layers) / len(layers) for n, layers in ends.items()}
        assert set(trained) == set(f.parameters)
        moments: list[dict[str, float]] = [{}, trained] if trained else [{}]
        expected: list[tuple[Any, dict[str, float]]] = [
            (measure, values) for values in moments for measure in (f, f.slope)
        ]
        for drawn, (measure, values) in zip(panel["data"], expected, strict=True):
            i = drawn["x"].index(1.25)
            assert drawn["y"][i] == pytest.approx(measure(1.25, **values), rel=1e-3)


def test_where_a_function_is_not_finite_there_is_no_point() -> None:
    ys = shape("pow(x, tanh(x))")["data"][0]["y"]
    assert None in ys
    assert all(y is None or math.isfinite(y) for y in ys)


def test_adaptation_goes_from_the_initial_values_to_the_trained_ones(study: Snapshot) -> None:
    row = next(row for row in study.best(10) if "alpha" in row["function"])
    f, values = parse(row["function"]), recorded(study, row["function"])
    training, depth = adaptation(study, row["number"])
    first, last = training["data"][0], training["data"][-1]
    assert first["name"] == "before training"
    assert last["name"] == f"epoch {len(values['alpha']) - 1}"
    i = first["x"].index(1.25)
    assert first["y"][i] == pytest.approx(f(1.25), rel=1e-3)
    means = {n: sum(v[-1]) / len(v[-1]) for n, v in values.items()}
    assert last["y"][i] == pytest.approx(f(1.25, **means), rel=1e-3)
    assert [t["name"] for t in depth["data"]] == [f"layer {i}" for i in (1, 2, 3, 4)]
    second = {n: v[-1][1] for n, v in values.items()}
    assert depth["data"][1]["y"][i] == pytest.approx(f(1.25, **second), rel=1e-3)


def test_curves_are_means_over_runs_and_relu_stands_beside_them(study: Snapshot) -> None:
    spec = curves(study)
    runs = [r for r in study.runs("test") if r["function"] == RELU]
    ends = [study.curves(r["run"])["validation"]["10"] for r in runs]
    relu = trace(spec, name="ReLU", mode="lines+markers")
    assert relu["x"][-1] == 10
    assert relu["y"][-1] == pytest.approx(sum(ends) / len(ends), abs=1e-3)
    best = study.best(3)
    assert len(spec["data"]) == 2 * (len(best) + 1)
    other = study.best(10)[-1]
    assert "through 5 epochs" in curves(study, [other["number"]])["layout"]["meta"]["caption"]


def test_a_candidate_that_does_not_exist_is_named(study: Snapshot) -> None:
    for make in (adaptation, lineage):
        with pytest.raises(PangaeaError, match=r"finished\.study has no candidate 99"):
            make(study, 99)


def test_the_family_tree_goes_from_an_initial_function_to_the_one_asked_for(
    study: Snapshot,
) -> None:
    best = study.best(1)[0]
    assert f"candidate {best['number']}" in lineage(study)["layout"]["annotations"][-1]["text"]
    notes = [note["text"] for note in lineage(study, 60)["layout"]["annotations"]]
    table = {row["number"]: row for row in study.table()}
    line = [table[60]]
    while line[0]["parent"] is not None:
        line.insert(0, table[line[0]["parent"]])
    assert len(line) > 2
    assert len(notes) == len(line)
    for note, row in zip(notes, line, strict=True):
        assert parse(row["function"]).readable() in note
        assert f"{row['mutation']} · candidate {row['number']} · " in note
    assert "initial" in notes[0]


def test_the_graph_has_a_box_for_each_node_and_each_parameter_on_its_edge() -> None:
    notes = graph("alpha*max(beta*x, sigmoid(gamma*x))")["layout"]["annotations"]
    texts = Counter(note["text"] for note in notes)
    assert texts == Counter(
        ["f(x)", "max(x₁, x₂)", "x", "σ(x)", "x", "<b>α</b>", "<b>β</b>", "<b>γ</b>"]
    )
    at = {note["text"]: note["y"] for note in notes}
    assert at["f(x)"] > at["max(x₁, x₂)"] > at["σ(x)"]
    assert (at["<b>α</b>"], at["<b>γ</b>"]) == (0.5, -1.5)


def test_shares_of_operators_add_up_to_a_hundred(study: Snapshot) -> None:
    spec = operators(study)
    for shares in zip(*(t["y"] for t in spec["data"]), strict=True):
        assert sum(shares) == pytest.approx(100, abs=0.1)
    rows = [r for r in study.finished if (r["score"] or 0.0) >= study.goal.threshold]
    last = rows[-study.population :]
    count = Counter(
        node.operator for r in last for _, node in parse(r["function"]).expression.walk()
    )
    del count["x"]
    drawn = spec["data"][0]
    assert drawn["x"][-1] == len(rows)
    assert drawn["y"][-1] == pytest.approx(100 * count[drawn["name"]] / count.total(), abs=0.01)


def test_failures_are_counted_by_reason(study: Snapshot) -> None:
    (bars,) = failures(study)["data"]
    assert dict(zip(bars["y"], bars["x"], strict=True)) == study.failures


def test_the_timeline_has_every_worker_and_all_of_its_time(study: Snapshot) -> None:
    spec = timeline(study)
    workers = {run["worker"] for run in study.runs("search")}
    assert {y for t in spec["data"] for y in t["y"]} - {None} == workers
    drawn = sum(
        b - a for t in spec["data"] for a, b in zip(t["x"][0::3], t["x"][1::3], strict=True)
    )
    spent = sum(
        run["finished"] - run["started"]
        for stage in ("baseline", "search", "rerank", "test")
        for run in study.runs(stage)
    )
    assert drawn * 60 == pytest.approx(spent, rel=0.02)


def test_a_label_is_escaped_and_short() -> None:
    assert theme.shown("<b>&") == "&lt;b&gt;&amp;"
    assert theme.shown("a" * 300, 20) == "a" * 19 + "…"


def test_of_a_minimised_goal_the_best_so_far_goes_down(paths: dict[str, Path]) -> None:
    with opened(paths["minimised"]) as study:
        scores = [math.inf if r["score"] is None else r["score"] for r in study.finished]
        for make in (progress, compute):
            spec = make(study)
            line = trace(spec, mode="lines")
            assert line["y"] == sorted(line["y"], reverse=True)
            assert line["y"][-1] == min(scores)
            low, high = spec["layout"]["yaxis"]["range"]
            assert low < min(scores) < study.baseline_score < high
            assert spec["layout"]["yaxis"]["title"]["text"] == "validation loss (nats)"
        assert "GELU" in progress(study)["layout"]["meta"]["caption"]
        best = list(itertools.accumulate(scores, min))
        line = trace(progress(study), mode="lines")
        assert [best[int(x) - 1] for x in line["x"]] == line["y"]


def test_of_a_minimised_goal_the_front_is_low_in_both(paths: dict[str, Path]) -> None:
    with opened(paths["minimised"]) as study:
        spec = cost(study)
    front = trace(spec, name="Pareto front")
    every = set(zip(spec["data"][0]["x"], spec["data"][0]["y"], strict=True))
    on = set(zip(front["x"], front["y"], strict=True))
    for x, y in every:
        dominated = any(a <= x and b <= y and (a, b) != (x, y) for a, b in every)
        assert dominated != ((x, y) in on)
    assert trace(spec, name="GELU")["marker"]["symbol"] == "diamond"


@pytest.mark.parametrize("name", OF_STUDIES)
def test_no_figure_of_a_loss_speaks_of_accuracy(name: str, paths: dict[str, Path]) -> None:
    with opened(paths["minimised"]) as study:
        text = str(figures()[name].make(study))
    for word in ("accuracy", "ReLU", "epoch", "fitness"):
        assert word not in text


def test_one_candidate_far_worse_than_the_rest_does_not_flatten_it(tmp_path: Path) -> None:
    path = tmp_path / "a.study"
    with Maker(path, candidates=30, goal=LOSS) as maker:
        maker.baseline()
        maker.search(29)
        with maker.study.transaction():
            maker.study.add(30, "exp(x)", None, "initial")
            maker.run("search", 30, "exp(x)", 30, -1e9)  # the maker's worst is a loss of 3.8
    with opened(path) as study:
        study.finished[-1]["score"] = 1e6
        spec = cost(study)
        low, high = spec["layout"]["xaxis"]["range"]
        others = [r["score"] for r in study.finished[:-1] if r["score"] is not None]
        assert low < min(others) < max(others) < high < 1000
        assert "1 far worse than the rest lie" in spec["layout"]["meta"]["caption"]
        fits, _ = [t for t in spec["data"] if t["type"] == "bar"]
        assert sum(fits["y"]) == len(others) + 1


def test_a_candidate_with_several_runs_is_one_point_at_its_last_score(
    paths: dict[str, Path],
) -> None:
    with opened(paths["several"]) as study:
        assert any(row["runs"] > 1 for row in study.finished)
        points = cost(study)["data"][0]
        assert [number for number, _ in points["customdata"]] == [
            row["number"] for row in study.finished if row["score"] is not None
        ]
        assert {t["name"] for t in timeline(study)["data"]} >= {"search", "promotion"}


def test_wherever_a_study_is_expected_its_path_does(paths: dict[str, Path]) -> None:
    path = paths["finished"]
    with Study.open(path) as opened_study, opened(path) as snapshot:
        ways: list[Any] = [path, str(path), opened_study, snapshot]
        drawn = [plot.progress(way).to_json() for way in ways]
    assert len(set(drawn)) == 1
    assert plot.lineage(str(path), 3)
    with pytest.raises(PangaeaError, match="there is no study at"):
        plot.progress("none.study")
    with pytest.raises(PangaeaError, match="needs a study, or the path of its file"):
        plot.progress()
    with pytest.raises(PangaeaError, match="got a int"):
        plot.curves(3)


def test_studies_with_different_goals_share_no_axis(paths: dict[str, Path]) -> None:
    with pytest.raises(PangaeaError, match=r"share no axis \(finished: accuracy \(%\), minimised"):
        plot.progress(paths["finished"], paths["minimised"])


def test_functions_are_drawn_by_their_text_or_name() -> None:
    for drawn in (plot.shape("gelu"), plot.graph("max(x, 0)"), plot.shape(parse("tanh(x)"))):
        assert isinstance(drawn, go.Figure)


def test_every_figure_is_a_function_of_plot() -> None:
    assert set(dir(plot)) == set(figures())
    assert plot.cost.__doc__ == cost.__doc__
    with pytest.raises(AttributeError, match="has no figure 'histogram'"):
        _ = plot.histogram


def test_a_figure_is_one_decorated_function_and_no_other_edit(
    tmp_path: Path, paths: dict[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "luck.py").write_text(
        "from pangaea.report.figures import On, figure, theme\n"
        "@figure(On('search', 9, 'half'))\n"
        "def luck(study):\n"
        "    return theme.figure('Luck', 'How lucky it was.', [], x=study.goal.label())\n"
    )
    monkeypatch.setattr(package, "__path__", [*package.__path__, str(tmp_path)])
    monkeypatch.delitem(sys.modules, "pangaea.report.figures.luck", raising=False)
    with opened(paths["finished"]) as study:
        assert report(study, [study])["figures"]["search"][-1]["layout"]["title"]["text"] == "Luck"
        assert "luck" in pictures.figures([study])
    assert isinstance(plot.luck(paths["finished"]), go.Figure)
    del sys.modules["pangaea.report.figures.luck"]


def test_a_function_is_drawn_from_itself_its_text_or_its_name() -> None:
    f = parse("mul(logsigmoid(alpha*x), beta*asinh(x))")
    for same in ("wrn-1", str(f), f.readable()):
        assert shape(same) == shape(f)
        assert graph(same) == graph(f)


def test_a_learnable_baseline_is_drawn_by_its_name() -> None:
    (value, slope) = shape("prelu")["data"]
    i = value["x"].index(-1.25)
    assert (value["y"][i], slope["y"][i]) == (-0.3125, 0.25)
    drawn = shape("prelu", {"alpha": 0.5})["data"]
    assert [line["y"][i] for line in drawn] == [-0.3125, 0.25, -0.625, 0.5]
    with pytest.raises(PangaeaError, match="'prelu', a learnable baseline, which is no expression"):
        graph("prelu")


def test_what_is_no_function_is_not_drawn() -> None:
    for draw in (shape, graph):
        with pytest.raises(PangaeaError):
            draw(3)  # type: ignore[arg-type]

"""The experiments are the paper's, number by number."""

import pytest

import pangaea as pg
from pangaea.errors import UnknownNameError
from pangaea.functions.paper import FIGURES
from pangaea.paper.contents import Experiment, experiment, experiments
from pangaea.paper.scales import SCALES, scale, wanted
from pangaea.paper.telling import trained
from pangaea.study.settings import known, settings

ALL = [*experiments().values()]
NAMES = {
    *("operators", "results", "search_strategy", "disable_parameters", "parametric_baseline"),
    *("scale_up", "allcnnc", "resnetv1_lcn", "random_samples", "prelu_lcn"),
    *("pau_specialized_setup", "space", "initialization", "mutations", "parameterization"),
    *(
        "progress",
        "adaptation",
        "curves",
        "population",
        "cost",
        "compute",
        "splash",
        "telling",
        "choices",
    ),
}


def test_every_table_and_figure_is_there() -> None:
    assert {*experiments()} == NAMES


def test_every_accuracy_that_the_paper_prints_is_a_cell() -> None:
    cells = [cell for row in ALL for cell in row.cells if row.kind == "table"]
    assert {cell.printed for cell in cells} == {row for row in FIGURES if row.mean is not None}


@pytest.mark.parametrize("row", ALL, ids=lambda row: row.name)
def test_every_cell_can_be_trained_and_every_search_searched(row: Experiment) -> None:
    for cell in row.cells:
        assert pg.task(cell.task).name == cell.task
        assert cell.runs >= 1
        assert scale("smoke").kind(cell)[2].endswith("/few")
        _, _, task, budget = scale("coarse").kind(cell)
        assert pg.task(task).effort(budget) < budget  # on a quarter of the pixels
    for search in row.searches:
        for size in SCALES.values():
            settings = size.settings(search)
            assert pg.task(settings["task"]).name == settings["task"]
            if size.name == "paper":
                assert settings.keys() <= known(settings["strategy"]).keys()


def test_a_name_is_found_however_it_is_spelled() -> None:
    assert experiment("scale-up") is experiment("scale_up")
    with pytest.raises(UnknownNameError, match="did you mean results"):
        experiment("result")


def test_pau_has_its_set_up_and_its_failed_runs() -> None:
    wrn, resnet = experiment("pau_specialized_setup").cells
    assert (wrn.task, wrn.runs) == ("wrn-10-4/cifar100/pau", 10)
    assert (resnet.task, resnet.runs) == ("resnet-v2-56/cifar100/pau", 10)


def test_the_most_telling_runs_come_first() -> None:
    runs = wanted(experiment("telling").ordered(), scale("paper"), None, {})
    tasks = [*dict.fromkeys(run.task for run in runs)]
    assert tasks[0] == "wrn-10-4/cifar100"
    assert {*tasks[1:3]} == {"resnet-v1-56/cifar100", "resnet-v2-56/cifar100"}
    assert tasks[3:] == ["wrn-16-8/cifar100", "all-cnn-c/cifar10"]
    on_wrn = [run for run in runs if run.task == tasks[0]]
    assert len(on_wrn) == 3 * 14
    first_turn = {(run.function, run.scope) for run in on_wrn[:14]}
    assert len(first_turn) == 14  # every function once before any of them twice
    scopes = {run.scope for run in on_wrn if run.function == "prelu"}
    assert scopes == {"layer", "channel", None}  # per neuron is its default


def test_of_a_table_the_telling_cells_come_first_and_no_run_is_asked_for_twice() -> None:
    runs = wanted(experiment("results").ordered(), scale("paper"), None, {})
    assert len(runs) == len({*runs}) == 90 * 10
    early = {trained(cell) for cell in experiment("telling").cells}
    cells = {trained(cell) for cell in experiment("results").cells}
    assert {(run.function, run.task) for run in runs[:12]} <= {
        (scale("paper").kind(cell)[0], cell.task)
        for cell in experiment("results").cells
        if trained(cell) in early & cells
    }


def test_no_two_searches_begin_alike() -> None:
    named = {search.name: search for row in experiments().values() for search in row.searches}
    seeds = [search.settings["seed"] for search in named.values()]
    assert len(named) == len({*seeds}) == 13


def test_the_searches_have_the_papers_settings() -> None:
    named = {search.name: search for row in experiments().values() for search in row.searches}
    evolution = {"candidates": 1000, "population": 64, "sample": 16}
    for name in ("wrn-10-4", "resnet-v1-56", "resnet-v2-56", "nonparametric", "all-cnn-c"):
        assert named[name].settings.items() >= evolution.items()
    assert named["random-search"].settings["candidates"] == 1000
    for name, scope in (
        ("per-layer", "layer"),
        ("per-channel-1", "channel"),
        ("per-channel-2", "channel"),
        ("per-neuron", "neuron"),
    ):
        expected = evolution | {"candidates": 2000, "scope": scope, "runs": 3}
        assert named[name].settings.items() >= expected.items()
    for scope in ("layer", "channel", "neuron"):
        sample = named[f"sample-{scope}"].settings
        assert (sample["candidates"], sample["scope"]) == (500, scope)
    # What none of them says is the paper's by default.
    task = pg.task("wrn-10-4/cifar100")
    defaults = settings({"task": task.name}, task)
    assert (defaults.rerank, defaults.rounds, defaults.tested, defaults.runs) == (
        True,
        "10,10",
        3,
        10,
    )
    assert task.goal.threshold == 20


def test_splash_is_tried_in_four_depths_ten_times_each() -> None:
    cells = experiment("splash").cells
    assert [cell.task for cell in cells] == [
        f"resnet-v1-{depth}/cifar100/test-curve" for depth in (20, 32, 44, 56)
    ]
    assert {cell.runs for cell in cells} == {10}


def test_random_samples_are_trained_once_with_the_full_schedule() -> None:
    for search in experiment("random_samples").searches:
        assert search.settings["budget"] == pg.task(search.task).budgets["full"]
        assert (search.settings["rerank"], search.settings["runs"]) == (False, 1)


def test_seeds_are_the_runs_own() -> None:
    runs = wanted(experiment("prelu_lcn").ordered(), scale("paper"), None, {})
    assert len({run.seed for run in runs}) == len(runs) == 9 * 10

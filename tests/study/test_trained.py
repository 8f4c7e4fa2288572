"""What training made of a function's parameters: as a module that starts there."""

from pathlib import Path
from statistics import fmean
from typing import Any

import pytest
import torch

import pangaea as pg
from pangaea.activation.values import layers
from pangaea.errors import PangaeaError
from pangaea.study.trained import by_layer, recorded
from tests.study.making import candidate, created, ran, wanted
from tests.study_maker import Maker

TEXT = "alpha*swish(beta*x)"


@pytest.fixture
def study(path: Path) -> pg.Study:
    """Its first candidate was searched and trained again, its second has no parameters."""
    with Maker(path, candidates=2, runs=0) as maker, maker.study.transaction():
        for number, text in enumerate((TEXT, "tanh(x)"), 1):
            maker.study.add(number, text, None, "initial")
            maker.run("search", number, text, number, 74.0 - number)
        maker.run("rerank", 1, TEXT, 5, 75.0)
    return pg.open_study(path)


def test_a_candidate_starts_where_its_longest_training_ended(study: pg.Study) -> None:
    (run,) = study.runs("rerank")
    ends = {n: epochs[-1] for n, epochs in study.curves(run["run"])["parameters"].items()}
    assert by_layer(recorded(study, TEXT)) == ends
    act = study.activation(1, shape=3)
    assert isinstance(act, pg.Activation)
    assert str(act.function) == TEXT
    for name in ("alpha", "beta"):
        assert torch.equal(getattr(act, name), torch.full((3,), fmean(ends[name])))
    third = study.activation(1, layer=3, scope="layer")
    assert third.alpha.item() == pytest.approx(ends["alpha"][2])
    last = study.activation(1, layer=4, scope="layer")
    assert last.alpha.item() == pytest.approx(ends["alpha"][3])


@pytest.mark.parametrize(
    ("counts", "mean"),
    [([1, 3], 3.5), ([0, 3], 3.0), ([3], 3.0), (["many", 3], 3.0), (None, 3.0)],
)
def test_a_mean_is_over_the_whole_network_where_it_is_known_how_large_its_layers_are(
    path: Path, counts: list[Any] | None, mean: float
) -> None:
    curves = {"parameters": {"alpha": [[1.0, 1.0], [2.0, 4.0]]}, "counts": counts}
    with created(path) as study:
        candidate(study, 1, "alpha*tanh(x)", score=70.0, curves=curves)
        assert study.activation(1, scope="layer").alpha.item() == mean


def test_a_layer_has_each_of_its_values_where_they_were_kept(path: Path) -> None:
    text, values = "alpha*tanh(x)", torch.tensor([0.5, -2.0, 3.0])
    model = torch.nn.Sequential(pg.Activation(text, shape=2), pg.Activation(text, shape=3))
    with torch.no_grad():
        model[1].alpha.copy_(values)  # type: ignore[union-attr,operator]
    with created(path) as study:
        candidate(study, 1, text, score=70.0)
        with study.transaction():
            ran(
                study, wanted("rerank", text, seed=9), score=75.0, curves={"trained": layers(model)}
            )
        assert torch.equal(study.activation(1, layer=2).alpha, values)


def test_without_a_number_it_is_the_best(study: pg.Study) -> None:
    assert str(study.activation().function) == TEXT
    assert str(study.activation(2).function) == "tanh(x)"


def test_modules_are_made_as_the_study_trained_them(path: Path) -> None:
    with Maker(path, candidates=1, runs=0, scope="layer") as maker:
        with maker.study.transaction():
            maker.study.add(1, TEXT, None, "initial")
            maker.run("search", 1, TEXT, 1, 70.0)
        assert maker.study.activation(1).scope == "layer"


@pytest.mark.parametrize(
    ("number", "layer", "sentence"),
    [(7, None, "no candidate 7"), (1, 9, "layers 1 to 4, got layer 9"), (1, 0, "got layer 0")],
)
def test_what_is_not_there_is_said(
    study: pg.Study, number: int, layer: int | None, sentence: str
) -> None:
    with pytest.raises(PangaeaError, match=sentence):
        study.activation(number, layer=layer)


def test_what_was_not_recorded_is_said(path: Path) -> None:
    with Maker(path, candidates=1) as maker:
        with maker.study.transaction():
            maker.study.add(1, TEXT, None, "initial")
            maker.run("search", 1, TEXT, 1, None)
        with pytest.raises(PangaeaError, match="no record of what training made of alpha, beta"):
            maker.study.activation(1)


def test_a_study_says_what_it_is_in_a_line(study: pg.Study) -> None:
    line = f"Study('{study.path}': mnist1d, 2 candidates)"
    assert repr(study) == line
    study.close()
    assert repr(study) == line

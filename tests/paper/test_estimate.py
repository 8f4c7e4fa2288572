"""What an experiment takes: its hours follow from what is trained, on what."""

import pytest

from pangaea.paper import estimate
from pangaea.paper.contents import experiment
from pangaea.paper.estimate import Needs, device, needs
from pangaea.paper.scales import scale


def of(name: str, size: str, kind: str = "cpu") -> Needs:
    return needs(experiment(name), scale(size), (), device(kind))


def test_twice_the_cores_take_half_the_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(estimate, "cores", lambda: 2)
    two = of("prelu_lcn", "lab").seconds
    monkeypatch.setattr(estimate, "cores", lambda: 4)
    assert of("prelu_lcn", "lab").seconds == pytest.approx(two / 2)


def test_half_the_pixels_take_half_the_time_of_as_many_epochs() -> None:
    lab, coarse = of("prelu_lcn", "lab"), of("prelu_lcn", "coarse")
    assert (lab.runs, coarse.runs) == (27, 18)
    assert (lab.epochs, coarse.epochs) == (27 * 50, 18 * 15)
    each = lab.seconds / lab.epochs
    assert coarse.seconds / coarse.epochs == pytest.approx(each / 2)


def test_a_search_counts_its_baseline_candidates_rounds_and_test() -> None:
    searches = len(experiment("progress").searches)
    # Its baseline's three and the candidates, twice ten again, ten tests of three and the baseline.
    whole = (3 + 1000) * 100 + 20 * 200 + (3 + 1) * 10 * 200
    assert of("progress", "paper").epochs == searches * whole
    assert of("progress", "coarse").epochs == searches * (3 + 100 + 20) * 15
